//! Every open of something may be the first for which there is no descriptor. For tests that run
//! alone in their process, with `limits` beside it.

use std::fs;

use crate::limits::Full;

/// More than anything here opens at one time.
const ENOUGH: usize = 24;

pub(crate) fn open_now() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Tries with nothing left, one descriptor, and so on, until it works; gives how many were needed.
/// What does not work leaves nothing open, and says why.
pub(crate) fn until_it_works<T>(
    what: &str,
    mut attempt: impl FnMut() -> Result<T, String>,
) -> (usize, T) {
    for free in 0..ENOUGH {
        let before = open_now();
        let full = Full::but(free);
        let answer = attempt();
        drop(full);
        match answer {
            Ok(made) => return (free, made),
            Err(words) => {
                let known = ["open files", "ulimit", "os error 24"];
                assert!(known.iter().any(|known| words.contains(known)), "{what}, {free}: {words}");
            }
        }
        assert_eq!(open_now(), before, "{what}, {free}: something stays open");
    }
    panic!("{what} does not work with {ENOUGH} descriptors");
}
