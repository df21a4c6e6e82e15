//! How far it is, on one line that is written over and over; only for people who look on.

use std::io::{IsTerminal, Write, stderr};

/// The line.
#[derive(Debug)]
pub(super) struct Progress {
    watched: bool,
}

impl Progress {
    /// A line on the error output, if that is a terminal.
    pub(super) fn new() -> Progress {
        Progress { watched: stderr().is_terminal() }
    }

    /// Shows how far it is.
    pub(super) fn show(&self, done: u32, all: u32) {
        if self.watched {
            // If it cannot be shown, nobody misses it.
            let _ = write!(stderr(), "\rframe {done} of {all}\x1b[K");
        }
    }
}

/// Takes the line away.
impl Drop for Progress {
    fn drop(&mut self) {
        if self.watched {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}
