//! A bar on one line that is written over and over; only for people who look on.

use std::io::{IsTerminal, Write, stderr};
use std::sync::Mutex;

use crate::output;

/// Columns of the numbers before the bar.
const NUMBERS: usize = 20;
/// The longest bar.
const LONGEST: usize = 60;

/// The line, and how far it is.
#[derive(Debug)]
pub(super) struct Progress {
    watched: bool,
    all: usize,
    done: Mutex<usize>,
}

impl Progress {
    /// A line on the error output, if that is a terminal.
    pub(super) fn new(all: usize) -> Progress {
        let dumb = std::env::var_os("TERM").is_some_and(|kind| kind == "dumb");
        let progress =
            Progress { watched: !dumb && stderr().is_terminal(), all, done: Mutex::new(0) };
        progress.show(0);
        progress
    }

    /// One more is done.
    pub(super) fn step(&self) {
        if let Ok(mut done) = self.done.lock() {
            *done += 1;
            self.show(*done);
        }
    }

    fn show(&self, done: usize) {
        if self.watched {
            // If it cannot be shown, nobody misses it.
            let _ = write!(stderr(), "\r{}\x1b[K", bar(done, self.all, output::error_width()));
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

/// The line, shorter than so many columns.
fn bar(done: usize, all: usize, columns: usize) -> String {
    let width = columns.saturating_sub(NUMBERS + 1).min(LONGEST);
    let filled = (done * width).checked_div(all).unwrap_or(width).min(width);
    let numbers = format!("{done} of {all}");
    format!("{numbers:<NUMBERS$}{}{}", "█".repeat(filled), "·".repeat(width - filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_fit() {
        for columns in [10, 40, 80, 200] {
            for done in 0..=7 {
                let line = bar(done, 7, columns);
                assert!(line.chars().count() < columns.max(NUMBERS + 1), "{line}");
            }
        }
        assert_eq!(bar(1, 2, 25), "1 of 2              ██··");
    }
}
