//! Processes that play a part beside the test.
#![allow(dead_code, reason = "every test program uses what it needs")]

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::child;

/// Another process; it goes on until it is ended.
pub(crate) struct Actor(Child);

impl Actor {
    pub(crate) fn start(test: &str, part: &str, directory: &Path) -> Actor {
        let mut command = child::command(test, &format!("{part} {}", directory.display()));
        Actor(command.stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().unwrap())
    }

    pub(crate) fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// Ends it without a chance to say anything.
    pub(crate) fn kill(mut self) {
        self.send(Signal::KILL);
        assert_eq!(self.0.wait().unwrap().signal(), Some(9));
    }

    pub(crate) fn ends_well(mut self) {
        let status = self.0.wait().unwrap();
        assert!(status.success(), "{status}");
    }
}
