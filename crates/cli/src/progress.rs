//! A bar on one line that is written over and over; only for people who look on.

use std::io::{IsTerminal, Write, stderr};
use std::sync::Mutex;

use crate::{output, units};

/// Columns of the numbers before the bar.
const NUMBERS: usize = 20;
/// The longest bar.
const LONGEST: usize = 60;

/// The line, and how far it is.
#[derive(Debug)]
pub(crate) struct Progress {
    watched: bool,
    all: u64,
    done: Mutex<u64>,
    /// How a number is written.
    words: fn(u64) -> String,
}

impl Progress {
    /// A line on the error output, if that is a terminal.
    pub(crate) fn new(all: usize) -> Progress {
        Progress::with(all as u64, |number| number.to_string())
    }

    /// The same, for bytes.
    pub(crate) fn bytes(all: u64) -> Progress {
        Progress::with(all, units::bytes)
    }

    fn with(all: u64, words: fn(u64) -> String) -> Progress {
        let dumb = std::env::var_os("TERM").is_some_and(|kind| kind == "dumb");
        let watched = !dumb && stderr().is_terminal();
        let progress = Progress { watched, all, done: Mutex::new(0), words };
        progress.show(0);
        progress
    }

    /// One more is done.
    pub(crate) fn step(&self) {
        if let Ok(mut done) = self.done.lock() {
            *done += 1;
            self.show(*done);
        }
    }

    /// So many are done.
    pub(crate) fn set(&self, now: u64) {
        if let Ok(mut done) = self.done.lock() {
            *done = now;
            self.show(now);
        }
    }

    fn show(&self, done: u64) {
        if self.watched {
            // If it cannot be shown, nobody misses it.
            let numbers = format!("{} of {}", (self.words)(done), (self.words)(self.all));
            let line = bar(&numbers, done, self.all, output::error_width());
            let _ = write!(stderr(), "\r{line}\x1b[K");
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
fn bar(numbers: &str, done: u64, all: u64, columns: usize) -> String {
    let width = columns.saturating_sub(NUMBERS + 1).min(LONGEST);
    let filled = (u128::from(done) * width as u128).checked_div(all.into());
    let filled = filled.and_then(|filled| usize::try_from(filled).ok()).unwrap_or(width).min(width);
    format!("{numbers:<NUMBERS$}{}{}", "█".repeat(filled), "·".repeat(width - filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_fit() {
        for columns in [10, 40, 80, 200] {
            for done in 0..=7 {
                let line = bar(&format!("{done} of 7"), done, 7, columns);
                assert!(line.chars().count() < columns.max(NUMBERS + 1), "{line}");
            }
        }
        assert_eq!(bar("1 of 2", 1, 2, 25), "1 of 2              ██··");
    }
}
