//! Rivals that are programs of their own, because the workspace cannot have them: they bring what
//! it does not allow, take minutes to build, or change what other rivals are built of.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::io::{Write, stderr};
use std::process::Command;

use crate::asked::Asked;

/// A program that answers lines with numbers; started with the first question.
#[derive(Debug)]
pub struct Program {
    path: OsString,
    surroundings: Vec<(&'static str, &'static str)>,
    /// Nothing if it could not be started.
    running: OnceCell<Option<Asked>>,
}

impl Program {
    /// The program that this variable of the environment names; what is missing without one is
    /// said once, on standard error.
    #[must_use]
    pub fn named_by(variable: &str, rival: &str) -> Option<Program> {
        let path = std::env::var_os(variable);
        if path.is_none() {
            note(&format!("{variable} names no program: no row has {rival}"));
        }
        path.map(|path| Program { path, surroundings: Vec::new(), running: OnceCell::new() })
    }

    /// Will have this in its environment.
    #[must_use]
    pub fn with(mut self, variable: &'static str, value: &'static str) -> Program {
        self.surroundings.push((variable, value));
        self
    }

    /// The number that the program answers this line with; no number if it does not.
    pub fn ask(&self, question: &str) -> f64 {
        let complain = |error: &_| note(&format!("{}: {error}", self.path.display()));
        let start = || {
            let mut command = Command::new(&self.path);
            Asked::start(command.envs(self.surroundings.iter().copied()))
        };
        let running = self.running.get_or_init(|| start().inspect_err(complain).ok());
        let Some(running) = running else { return f64::NAN };
        running.ask(question).inspect_err(complain).unwrap_or(f64::NAN)
    }
}

/// Says why something is not measured.
pub fn note(what: &str) {
    // If nobody listens, the number that is missing has to do.
    let _ = writeln!(stderr(), "note: {what}");
}
