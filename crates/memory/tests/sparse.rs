//! Memory files that cost their sender nothing and their reader everything are refused.
// With addresses of 32 bits nothing can be mapped that is too large to read.
#![cfg(all(linux_like, not(miri), target_pointer_width = "64"))]

use std::fs::{self, OpenOptions};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{MemfdFlags, SealFlags, fallocate, fcntl_add_seals, ftruncate, memfd_create};
use tenure_memory::kind::shm::{open_named, remove_named};
use tenure_memory::{Buffer, Error, Protection, import, open_file};

#[path = "common/child.rs"]
mod child;

fn memory_file(bytes: u64) -> OwnedFd {
    let fd = memfd_create("peer", MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&fd, bytes).unwrap();
    fd
}

/// A share of the main memory of this machine.
fn share(of: u64) -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap();
    let line = text.lines().find(|line| line.starts_with("MemTotal:")).unwrap();
    let total = line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024;
    (total / of).next_multiple_of(4096)
}

fn is_sparse(answer: &Result<Buffer, Error>) -> bool {
    matches!(answer, Err(Error::Sparse { .. }))
}

fn read(fd: impl AsFd) -> Result<Buffer, Error> {
    import(fd, 4096, Protection::ReadOnly, None)
}

#[test]
fn a_huge_file_of_nothing_is_refused() {
    for sealed in [false, true] {
        let fd = memory_file(1 << 42);
        if sealed {
            fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW).unwrap();
        }
        for protection in [Protection::ReadOnly, Protection::AsAllowed, Protection::Writable] {
            let answer = import(&fd, 4096, protection, None);
            assert!(is_sparse(&answer), "{answer:?}");
            let words = answer.unwrap_err().to_string();
            assert!(
                words.contains("4398046511104 bytes") && words.contains("fallocate"),
                "{words}"
            );
        }
    }
}

#[test]
fn many_files_of_nothing_are_refused_in_sum() {
    child::alone("many_files_of_nothing_are_refused_in_sum", || {
        let files: Vec<_> = (0..12).map(|_| memory_file(share(40))).collect();
        let buffers: Vec<_> = files.iter().map(read).collect();
        let taken = buffers.iter().filter(|buffer| buffer.is_ok()).count();
        assert!(taken <= 10 && buffers.iter().any(is_sparse), "{taken}");
        // The same file again is the same mapping, and what is gone makes room.
        assert!(taken == 0 || read(&files[0]).is_ok());
        drop(buffers);
        let again = files.iter().map(read).filter(Result::is_ok).count();
        assert!(again >= taken);
    });
}

#[test]
fn what_is_there_is_no_hole() {
    child::alone("what_is_there_is_no_hole", || {
        let fd = memory_file(4 << 20);
        fallocate(&fd, rustix::fs::FallocateFlags::empty(), 0, 4 << 20).unwrap();
        let buffer = read(&fd).unwrap();
        assert_eq!(buffer.len(), 4 << 20);
        // A peer that writes a part of a small file is served too.
        let fd = memory_file(1 << 20);
        rustix::io::pwrite(&fd, &[7; 100], 5000).unwrap();
        assert_eq!(read(&fd).unwrap().read().unwrap().as_bytes()[5000], 7);
    });
}

#[test]
fn sealed_memory_gets_no_holes_later() {
    let fd = memory_file(1 << 20);
    fallocate(&fd, rustix::fs::FallocateFlags::empty(), 0, 1 << 20).unwrap();
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::FUTURE_WRITE;
    fcntl_add_seals(&fd, seals).unwrap();
    let _buffer = read(&fd).unwrap();
    use rustix::fs::FallocateFlags as How;
    let answer = fallocate(&fd, How::PUNCH_HOLE | How::KEEP_SIZE, 0, 1 << 20);
    assert_eq!(answer, Err(rustix::io::Errno::PERM));
}

#[test]
fn files_in_memory_and_names_are_no_way_around_it() {
    child::alone("files_in_memory_and_names_are_no_way_around_it", || {
        let name = format!("/tenure-test-sparse-{}", std::process::id());
        let path = format!("/dev/shm{name}");
        let file = OpenOptions::new().create_new(true).write(true).open(&path).unwrap();
        file.set_len(1 << 42).unwrap();
        let (by_path, by_name) = (open_file(&path), open_named(&name, false));
        remove_named(&name).unwrap();
        assert!(is_sparse(&by_path), "{by_path:?}");
        assert!(matches!(by_name, Err(Error::Sparse { .. })), "{by_name:?}");
        // Pages of files on disks are given up again: they may be as sparse as they like.
        let file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
        file.as_file().set_len(1 << 42).unwrap();
        if rustix::fs::fstatfs(file.as_file()).unwrap().f_type as u64 != 0x0102_1994 {
            assert_eq!(open_file(file.path()).unwrap().len(), 1 << 42);
        }
    });
}
