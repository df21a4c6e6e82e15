//! Where reports go: the output, with colours where it can show them.

use std::env;
use std::io::Write;

use serde::Serialize;

use crate::failure::Failure;

/// Columns of an output that does not say how wide it is.
const USUAL: usize = 80;
/// Columns below which text would be one word per line.
const NARROWEST: usize = 40;

/// Writes text with styles, which are taken out where the output cannot show them.
pub(crate) fn text(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::Output)
}

/// Writes a report as one JSON object.
pub(crate) fn json(report: &impl Serialize) -> Result<(), Failure> {
    let mut object = serde_json::to_string_pretty(report)?;
    object.push('\n');
    // Not through the styled output: JSON has no styles to take out.
    let mut out = std::io::stdout().lock();
    out.write_all(object.as_bytes()).and_then(|()| out.flush()).map_err(Failure::Output)
}

/// Columns of the output: what the terminal says, else the variable `COLUMNS`, else 80.
pub(crate) fn width() -> usize {
    let said = terminal_width(std::io::stdout()).or_else(|| env::var("COLUMNS").ok()?.parse().ok());
    said.unwrap_or(USUAL).max(NARROWEST)
}

/// Columns of the terminal that errors go to, or 80.
pub(crate) fn error_width() -> usize {
    terminal_width(std::io::stderr()).unwrap_or(USUAL)
}

#[cfg(unix)]
fn terminal_width(of: impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(of).ok()?;
    // Terminals that were never told answer zero.
    (size.ws_col > 0).then_some(size.ws_col.into())
}

#[cfg(not(unix))]
fn terminal_width<T>(_of: T) -> Option<usize> {
    None
}
