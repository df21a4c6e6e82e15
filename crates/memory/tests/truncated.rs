//! Memory that somebody takes away while it is mapped: no crash, zeros, and the buffer says so.
#![cfg(all(linux_like, not(miri)))]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::thread;

use tenure_memory::kind::shm::{Shm, open_named, remove_named};
use tenure_memory::{Allocator, Buffer, Error, Pool, Request, open_file};

#[path = "common/child.rs"]
mod child;

const PAGE: usize = 4096;

fn file(pages: usize, value: u8) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&vec![value; pages * PAGE]).unwrap();
    file
}

fn is_truncated<T: std::fmt::Debug>(answer: Result<T, Error>) -> bool {
    matches!(answer, Err(Error::Truncated))
}

#[test]
fn a_file_cut_under_a_guard_reads_as_zero() {
    let file = file(4, 7);
    let buffer = open_file(file.path()).unwrap();
    let guard = buffer.read().unwrap();
    assert_eq!(guard.as_bytes()[4 * PAGE - 1], 7);
    file.as_file().set_len(PAGE as u64).unwrap();
    // What is left, and zeros in the place of what is gone.
    assert_eq!(guard.as_bytes()[..PAGE], [7; PAGE]);
    assert!(guard.as_bytes()[PAGE..].iter().all(|byte| *byte == 0));
    assert!(is_truncated(guard.hold().raw().intact()));
    drop(guard);
    assert!(is_truncated(buffer.read()) && is_truncated(buffer.read_range(0..1)));
    let words = buffer.read().unwrap_err().to_string();
    assert!(words.contains("cut off by someone else"), "{words}");
    // A refused read is no entry in the ledger.
    assert_eq!(buffer.raw().unwrap().held(), 0);
    assert_eq!(open_file(file.path()).unwrap().read().unwrap().as_bytes(), [7; PAGE]);
}

#[test]
fn a_cut_is_noticed_without_touching_what_is_gone() {
    let cuts = [0, 1, PAGE as u64, 3 * PAGE as u64, 4 * PAGE as u64 - 1];
    for cut in cuts {
        let file = file(4, 7);
        let buffer = open_file(file.path()).unwrap();
        buffer.raw().unwrap().intact().unwrap();
        file.as_file().set_len(cut).unwrap();
        assert!(is_truncated(buffer.raw().unwrap().intact()), "{cut}");
    }
}

#[test]
fn a_cut_to_nothing_is_survived() {
    let file = file(4, 7);
    let buffer = open_file(file.path()).unwrap();
    let guard = buffer.read().unwrap();
    file.as_file().set_len(0).unwrap();
    // From the end and from the middle first: the handler replaces what is behind.
    for at in [4 * PAGE - 1, 2 * PAGE, 0, PAGE] {
        assert_eq!(guard.as_bytes()[at], 0);
    }
    assert!(is_truncated(guard.hold().raw().intact()));
}

#[test]
fn more_pages_are_missing_than_there_can_be_mappings() {
    child::alone("more_pages_are_missing_than_there_can_be_mappings", || {
        let text = fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
        // Every second page, so that the kernel cannot join what was put in their places.
        let pages = 2 * text.trim().parse::<usize>().unwrap().min(100_000) + 1000;
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len((pages * PAGE) as u64).unwrap();
        let buffer = open_file(file.path()).unwrap();
        let guard = buffer.read().unwrap();
        file.as_file().set_len(0).unwrap();
        assert!((0..pages).step_by(2).all(|page| guard.as_bytes()[page * PAGE] == 0));
        assert!(is_truncated(guard.hold().raw().intact()));
    });
}

#[test]
fn other_mappings_are_unaffected() {
    let (cut, whole) = (file(4, 7), file(4, 8));
    let (cut_buffer, whole_buffer) =
        (open_file(cut.path()).unwrap(), open_file(whole.path()).unwrap());
    let (lost, kept) = (cut_buffer.read().unwrap(), whole_buffer.read().unwrap());
    cut.as_file().set_len(0).unwrap();
    assert_eq!(lost.as_bytes()[0], 0);
    assert!(kept.as_bytes().iter().all(|byte| *byte == 8));
    kept.hold().raw().intact().unwrap();
    drop((lost, kept));
    assert!(cut_buffer.read().is_err() && whole_buffer.read().is_ok());
}

#[test]
fn many_watched_mappings() {
    let files: Vec<_> = (0..300).map(|n| file(2, n as u8)).collect();
    // Places in the list of watched mappings are used again.
    for _ in 0..3 {
        let buffers: Vec<_> = files.iter().map(|file| open_file(file.path()).unwrap()).collect();
        let guards: Vec<_> = buffers.iter().map(|buffer| buffer.read().unwrap()).collect();
        for file in files.iter().step_by(7) {
            file.as_file().set_len(PAGE as u64).unwrap();
        }
        for (n, guard) in guards.iter().enumerate() {
            let (first, last) = (guard.as_bytes()[0], guard.as_bytes()[2 * PAGE - 1]);
            let expected = if n % 7 == 0 { 0 } else { n as u8 };
            assert_eq!((first, last), (n as u8, expected), "{n}");
            assert_eq!(guard.hold().raw().intact().is_err(), n % 7 == 0, "{n}");
        }
        for (n, file) in files.iter().enumerate().step_by(7) {
            let whole = OpenOptions::new().write(true).open(file.path());
            whole.unwrap().write_all(&[n as u8; 2 * PAGE]).unwrap();
        }
    }
}

#[test]
fn threads_fault_at_the_same_time() {
    let file = file(64, 7);
    let buffer = open_file(file.path()).unwrap();
    let guard = buffer.read().unwrap();
    file.as_file().set_len(0).unwrap();
    thread::scope(|scope| {
        for n in 0..8 {
            let guard = &guard;
            scope.spawn(move || {
                let mut pages = guard.as_bytes().chunks(PAGE).skip(n).step_by(8);
                assert!(pages.all(|page| page[0] == 0));
            });
        }
    });
    assert!(is_truncated(buffer.read()));
}

/// A name of its own, removed at the end.
struct Name(String);

impl Name {
    fn new(word: &str) -> Name {
        Name(format!("/tenure-test-{word}-{}", std::process::id()))
    }

    fn path(&self) -> String {
        format!("/dev/shm{}", self.0)
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let _ = remove_named(&self.0);
    }
}

#[test]
fn named_memory_cut_by_another_process() {
    if let Some(path) = child::part() {
        // The other process, which knows nothing of us.
        OpenOptions::new().write(true).open(path).unwrap().set_len(PAGE as u64).unwrap();
        return;
    }
    let name = Name::new("cut");
    let raw = Shm::named(&name.0).allocate(&Request::new(4 * PAGE).unwrap()).unwrap();
    let buffer = Buffer::from_raw(raw);
    let reader = Buffer::from_raw(open_named(&name.0, false).unwrap());
    let mut guard = buffer.write().unwrap();
    guard.as_bytes_mut().fill(7);
    let other = child::command("named_memory_cut_by_another_process", &name.path());
    child::succeeded(&{ other }.output().unwrap());
    assert_eq!(guard.as_bytes()[PAGE - 1], 7);
    assert_eq!(guard.as_bytes()[PAGE], 0);
    // Writing goes nowhere, but it goes.
    guard.as_bytes_mut()[2 * PAGE..].fill(9);
    assert_eq!(guard.as_bytes()[4 * PAGE - 1], 9);
    drop(guard);
    assert!(is_truncated(buffer.write()) && is_truncated(buffer.read()));
    // The other mapping of the same object finds out by itself.
    let guard = reader.read().unwrap();
    assert_eq!((guard.as_bytes()[PAGE - 1], guard.as_bytes()[4 * PAGE - 1]), (7, 0));
    assert!(is_truncated(guard.hold().raw().intact()));
}

#[test]
fn named_memory_that_is_whole_stays_usable() {
    let name = Name::new("whole");
    let raw = Shm::named(&name.0).allocate(&Request::new(5000).unwrap()).unwrap();
    let buffer = Buffer::from_raw(raw);
    buffer.write().unwrap().as_bytes_mut().fill(3);
    buffer.raw().unwrap().intact().unwrap();
    assert_eq!(fs::read(name.path()).unwrap()[4999], 3);
    let error = Shm::named(&name.0).allocate(&Request::new(1).unwrap()).unwrap_err();
    assert!(error.to_string().contains("File exists"), "{error}");
    assert!(fs::exists(name.path()).unwrap(), "what another made is left alone");
    remove_named(&name.0).unwrap();
    assert!(remove_named(&name.0).unwrap_err().to_string().contains("No such file"));
    assert!(open_named(&name.0, false).is_err());
    assert_eq!(buffer.read().unwrap().as_bytes(), [3; 5000]);
}

#[test]
fn pools_do_not_hand_out_what_was_cut() {
    let name = Name::new("pooled");
    let pool = Pool::over(std::sync::Arc::new(Shm::named(&name.0)), Default::default());
    let request = Request::new(4 * PAGE).unwrap();
    let buffer = Buffer::from_raw(pool.allocate(&request).unwrap());
    let guard = buffer.read().unwrap();
    OpenOptions::new().write(true).open(name.path()).unwrap().set_len(0).unwrap();
    assert_eq!(guard.as_bytes()[0], 0);
    drop((guard, buffer));
    assert_eq!((pool.report().kept, pool.report().given_up), (0, 1));
    remove_named(&name.0).unwrap();
    let again = Buffer::from_raw(pool.allocate(&request).unwrap());
    again.write().unwrap().as_bytes_mut().fill(1);
}
