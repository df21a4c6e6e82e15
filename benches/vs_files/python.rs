//! Python, which is started once and asked again and again.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use tenure_benches::Error;

use crate::model::Model;

/// `rival.py`, running; started with the first question.
pub(crate) struct Python(RefCell<Option<Running>>);

struct Running {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Python {
    pub(crate) fn new() -> Python {
        Python(RefCell::new(None))
    }

    /// Nanoseconds that it takes; no number if Python does not answer.
    pub(crate) fn ask(&self, what: &str, model: &Model) -> f64 {
        let mut running = self.0.borrow_mut();
        if running.is_none() {
            *running = start().inspect_err(|error| complain(&error.to_string())).ok();
        }
        let Some(running) = running.as_mut() else { return f64::NAN };
        running.ask(what, model).unwrap_or_else(|error| {
            complain(&error.to_string());
            f64::NAN
        })
    }
}

fn complain(what: &str) {
    // If nobody listens, the row that has no number has to do.
    let _ = writeln!(std::io::stderr(), "Python: {what}");
}

fn start() -> Result<Running, Error> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut child = Command::new(here.join("../scripts/python"))
        .arg(here.join("vs_files/rival.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let input = child.stdin.take().ok_or("no input")?;
    let output = BufReader::new(child.stdout.take().ok_or("no output")?);
    Ok(Running { child, input, output })
}

impl Running {
    fn ask(&mut self, what: &str, model: &Model) -> Result<f64, Error> {
        writeln!(self.input, "{what} {} {}", model.middle(), model.path().display())?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        Ok(answer.trim().parse().map_err(|_| format!("{what}: {answer:?}"))?)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It ends when its input does; nobody waits for one that does not.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
