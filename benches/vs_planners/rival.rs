//! minimalloc, as a program of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tenure_benches::Error;

/// The program that `TENURE_MINIMALLOC` names.
pub(crate) struct Minimalloc(PathBuf);

pub(crate) fn minimalloc() -> Option<Minimalloc> {
    std::env::var_os("TENURE_MINIMALLOC").map(|path| Minimalloc(path.into()))
}

impl Minimalloc {
    /// Processor time for one instance, in nanoseconds; NaN if it was not solved.
    pub(crate) fn solve(&self, input: &Path, capacity: u64) -> Result<f64, Error> {
        let before = children()?;
        let output = std::env::temp_dir().join(format!("minimalloc-{}.csv", std::process::id()));
        let status = Command::new(&self.0)
            .arg(format!("--capacity={capacity}"))
            .arg(format!("--input={}", input.display()))
            .arg(format!("--output={}", output.display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        let solved = status.map_err(|e| format!("{}: {e}", self.0.display()))?.success();
        let _ = std::fs::remove_file(output);
        Ok(if solved { children()? - before } else { f64::NAN })
    }
}

/// Processor time of the children that have ended, in nanoseconds.
fn children() -> Result<f64, Error> {
    let text = std::fs::read_to_string("/proc/self/stat").map_err(|e| format!("/proc: {e}"))?;
    // The name in parentheses may have spaces; after it come the state and numbers.
    let numbers = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let field = |index: usize| numbers.split_whitespace().nth(index)?.parse::<f64>().ok();
    let ticks = field(13).zip(field(14)).map(|(user, system)| user + system);
    let ticks = ticks.ok_or_else(|| "/proc/self/stat has no times of children".to_owned())?;
    Ok(ticks * 1e9 / rustix::param::clock_ticks_per_second() as f64)
}
