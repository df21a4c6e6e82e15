//! A program that is started once, and answers lines with numbers.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::error::Error;

#[derive(Debug)]
pub(crate) struct Asked {
    child: Child,
    talk: RefCell<Talk>,
}

#[derive(Debug)]
struct Talk {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Asked {
    pub(crate) fn start(command: &mut Command) -> Result<Asked, Error> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().ok_or("no input")?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        Ok(Asked { child, talk: RefCell::new(Talk { input, output }) })
    }

    pub(crate) fn ask(&self, question: &str) -> Result<f64, Error> {
        let mut talk = self.talk.borrow_mut();
        writeln!(talk.input, "{question}")?;
        let mut answer = String::new();
        talk.output.read_line(&mut answer)?;
        Ok(answer.trim().parse().map_err(|_| format!("{question}: {answer:?}"))?)
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        // It ends when its input does; nobody waits for one that does not.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
