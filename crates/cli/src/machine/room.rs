//! How much memory the machine has, and how much of it is free.

use serde::Serialize;

use super::Tree;

/// Main memory in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Room {
    /// All of it.
    pub(crate) total: u64,
    /// What can be had without swapping, as the kernel thinks.
    pub(crate) available: u64,
}

/// What `/proc/meminfo` says; `None` where there is no such file.
pub(crate) fn room(tree: &Tree) -> Option<Room> {
    let text = tree.text("/proc/meminfo")?;
    Some(Room { total: field(&text, "MemTotal")?, available: field(&text, "MemAvailable")? })
}

fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "MemTotal:  1000 kB\nMemFree: 10 kB\nMemAvailable:   600 kB";
        assert_eq!(field(text, "MemTotal"), Some(1_024_000));
        assert_eq!(field(text, "MemAvailable"), Some(614_400));
        assert_eq!(field(text, "Mem"), None);
    }
}
