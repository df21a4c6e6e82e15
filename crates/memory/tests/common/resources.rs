//! What this process holds of the kernel's: descriptors and mappings.
#![allow(dead_code, reason = "every test program uses what it needs")]

use std::fs;

/// The open descriptors, by number and what they are.
pub(crate) fn descriptors() -> Vec<String> {
    let mut all: Vec<String> = fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| {
            let path = entry.unwrap().path();
            // The descriptor of this listing is gone when it is looked up.
            let target = fs::read_link(&path).ok()?;
            Some(format!("{} {}", path.display(), target.display()))
        })
        .filter(|line| !(line.contains("/proc/") && line.ends_with("/fd")))
        .collect();
    all.sort();
    all
}

/// The mappings of files and memory files: heap and stacks come and go by themselves.
pub(crate) fn mappings() -> Vec<String> {
    let text = fs::read_to_string("/proc/self/maps").unwrap();
    text.lines().filter(|line| line.contains('/')).map(str::to_owned).collect()
}

/// Checks that `work` leaves no descriptor and no mapping behind. For tests that run alone in
/// their process.
pub(crate) fn nothing_left<T>(what: &str, work: impl FnOnce() -> T) {
    let before = (descriptors(), mappings());
    drop(work());
    assert_eq!(descriptors(), before.0, "descriptors after {what}");
    assert_eq!(mappings(), before.1, "mappings after {what}");
}
