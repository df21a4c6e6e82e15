//! Limits of this process, and a table of descriptors without room. For tests that run alone in
//! their process.
#![allow(dead_code, reason = "every test program uses what it needs")]

use std::fs::{self, File};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Sets the limit that is enforced, and gives the one before.
pub(crate) fn limit(resource: Resource, most: Option<u64>) -> Rlimit {
    let before = getrlimit(resource);
    setrlimit(resource, Rlimit { current: most, maximum: before.maximum }).unwrap();
    before
}

/// Runs `work` with a limit.
pub(crate) fn limited<T>(resource: Resource, most: u64, work: impl FnOnce() -> T) -> T {
    let before = limit(resource, Some(most));
    let result = work();
    setrlimit(resource, before).unwrap();
    result
}

/// Bytes of address space that this process uses.
pub(crate) fn address_space() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = text.split_whitespace().next().unwrap().parse().unwrap();
    pages * 4096
}

/// Descriptors that fill the table of this process.
pub(crate) struct Full(Vec<File>);

impl Full {
    /// Takes all but `free` of the descriptors that this process may have.
    pub(crate) fn but(free: usize) -> Full {
        limit(Resource::Nofile, Some(100));
        let mut all: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
        assert!(all.len() > free);
        all.truncate(all.len() - free);
        Full(all)
    }

    /// Lets go of some.
    pub(crate) fn free(&mut self, more: usize) {
        self.0.truncate(self.0.len() - more);
    }
}
