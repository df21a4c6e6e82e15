//! A file larger than the machine, cut to nothing under a guard: what replaces it must take no
//! memory, and no more than one mapping.
#![forbid(unsafe_code)]

use std::fs;

use tenure::memory::open_file;

const SIZE: usize = 300 << 30;

fn main() {
    let file = tempfile::NamedTempFile::new_in("/var/tmp").expect("a file");
    file.as_file().set_len(SIZE as u64).expect("a sparse file");
    let buffer = open_file(file.path()).expect("mapping reads nothing");
    let guard = buffer.read().expect("free");
    let mappings = || fs::read_to_string("/proc/self/maps").expect("readable").lines().count();
    let before = mappings();
    file.as_file().set_len(0).expect("cut");
    for at in (0..SIZE).rev().step_by(1 << 30) {
        assert_eq!(guard.as_bytes()[at], 0);
    }
    assert!(mappings() <= before + 2, "one mapping for all that is gone");
    drop(guard);
    assert!(buffer.read().is_err(), "the buffer says that it was cut");
}
