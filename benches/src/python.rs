//! Python, which is started once and asked again and again: contestants that live there.

use std::cell::OnceCell;
use std::io::{Write, stderr};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::asked::Asked;
use crate::error::Error;

/// A program in Python that answers lines with numbers; started with the first question.
///
/// It has what the tests of our Python package need, and the package itself, built for the occasion.
#[derive(Debug)]
pub struct Python {
    /// From the top of the project.
    program: &'static str,
    package: Package,
    /// Nothing if it could not be started.
    running: OnceCell<Option<Asked>>,
}

/// How the Python package of this project is built for a program, if it is.
#[derive(Debug, Clone, Copy)]
enum Package {
    AsUsersHaveIt,
    AsTestsHaveIt,
    Absent,
}

impl Python {
    /// Will run the program at this path, from the top of the project. For a quick run the package
    /// is built as tests have it: that it works is enough.
    #[must_use]
    pub fn new(program: &'static str, quick: bool) -> Python {
        let package = if quick { Package::AsTestsHaveIt } else { Package::AsUsersHaveIt };
        Python { program, package, running: OnceCell::new() }
    }

    /// Will run a program that needs nothing of ours.
    #[must_use]
    pub fn of_others(program: &'static str) -> Python {
        Python { program, package: Package::Absent, running: OnceCell::new() }
    }

    /// How the program is run, for one that is not asked but talked to in another way. What it
    /// needs is there afterwards.
    ///
    /// # Errors
    /// If the package cannot be built.
    pub fn command(&self) -> Result<Command, Error> {
        install(self.package)?;
        let mut command = python();
        command.arg(self.program);
        Ok(command)
    }

    /// The number that Python answers this line with; no number if it does not.
    pub fn ask(&self, question: &str) -> f64 {
        let start = || self.command().and_then(|mut command| Asked::start(&mut command));
        let running = self.running.get_or_init(|| start().inspect_err(complain).ok());
        let Some(running) = running else { return f64::NAN };
        running.ask(question).inspect_err(complain).unwrap_or(f64::NAN)
    }
}

fn complain(what: &Error) {
    // If nobody listens, the row that has no number has to do.
    let _ = writeln!(stderr(), "Python: {what}");
}

/// Python with what the package's tests need.
fn python() -> Command {
    // It goes to the top of the project itself.
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/python");
    let mut command = Command::new(script);
    command.arg("--package");
    command
}

fn install(package: Package) -> Result<(), Error> {
    if matches!(package, Package::Absent) {
        return Ok(());
    }
    let mut pip = python();
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    pip.args(["--no-deps", "--no-build-isolation", "--force-reinstall"]);
    if matches!(package, Package::AsTestsHaveIt) {
        pip.arg("--config-settings=build-args=--profile dev");
    }
    match pip.arg(".").stdin(Stdio::null()).stdout(Stdio::null()).status()? {
        status if status.success() => Ok(()),
        status => Err(format!("pip could not install the package: {status}").into()),
    }
}
