//! Who has a device open: what an error about a busy camera tells.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A process that has the device open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// Its name.
    pub name: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pid == std::process::id() {
            f.write_str("this process")
        } else {
            write!(f, "{} (process {})", self.name, self.pid)
        }
    }
}

/// Processes that have the device open, as far as this user may see.
pub(crate) fn of(path: &Path) -> Vec<Holder> {
    let Ok(device) = fs::metadata(path).map(|data| data.rdev()) else { return vec![] };
    let mut found = vec![];
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let open = fs::read_dir(entry.path().join("fd")).into_iter().flatten().flatten();
        // By number: the device may have several names.
        if open.into_iter().any(|fd| {
            fs::metadata(fd.path()).is_ok_and(|data| data.rdev() == device && device != 0)
        }) {
            let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            found.push(Holder { pid, name: name.trim_end().to_owned() });
        }
    }
    // Others first: they are the likely reason.
    found.sort_by_key(|holder| (holder.pid == std::process::id(), holder.pid));
    found
}

/// The holders as the end of a message.
pub(crate) fn words(holders: &[Holder]) -> String {
    if holders.is_empty() {
        return "another program may have it (this user cannot see which)".to_owned();
    }
    let names: Vec<String> = holders.iter().map(Holder::to_string).collect();
    format!("open in {}", names.join(", "))
}
