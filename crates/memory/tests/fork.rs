//! Memory across a fork: heap memory is copied, shared memory is shared, and what the child drops
//! is gone for the child only.
#![cfg(all(linux_like, not(miri)))]

use std::fs;
use std::io::Write;

use tenure_memory::kind::{self, shm};
use tenure_memory::{
    Allocator, Buffer, Pool, Protection, Request, TensorMemory, import, open_file, statistics,
};

#[path = "common/child.rs"]
mod child;
#[path = "common/fork.rs"]
mod fork;
#[path = "common/resources.rs"]
mod resources;

fn get(memory: TensorMemory, bytes: usize) -> Buffer {
    let request = Request::new(bytes).unwrap().with_name(Some("across"));
    let buffer = Buffer::from_raw(kind::allocator(memory).unwrap().allocate(&request).unwrap());
    buffer.write().unwrap().as_bytes_mut().fill(1);
    buffer
}

fn all_are(buffer: &Buffer, value: u8) -> bool {
    buffer.read().unwrap().as_bytes().iter().all(|byte| *byte == value)
}

/// Runs `work` in a child, which must end well.
fn in_child(work: impl FnOnce()) {
    let status = fork::fork(|| {
        work();
        0
    });
    assert!(status.success(), "{status}");
}

#[test]
fn heap_memory_is_copied() {
    child::alone("heap_memory_is_copied", || {
        for bytes in [5000, 3 << 20] {
            let buffer = get(TensorMemory::Mem, bytes);
            in_child(|| {
                assert!(all_are(&buffer, 1));
                buffer.write().unwrap().as_bytes_mut().fill(2);
                assert!(all_are(&buffer, 2));
            });
            assert!(all_are(&buffer, 1));
        }
    });
}

#[test]
fn shared_memory_is_shared() {
    child::alone("shared_memory_is_shared", || {
        for bytes in [5000, 3 << 20] {
            let buffer = get(TensorMemory::Shm, bytes);
            in_child(|| {
                assert!(all_are(&buffer, 1));
                buffer.write().unwrap().as_bytes_mut().fill(2);
            });
            assert!(all_are(&buffer, 2));
        }
    });
}

#[test]
fn what_the_child_drops_the_parent_keeps() {
    child::alone("what_the_child_drops_the_parent_keeps", || {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&[1; 5000]).unwrap();
        let name = format!("/tenure-fork-{}", std::process::id());
        let named = shm::Shm::named(&name).allocate(&Request::new(5000).unwrap()).unwrap();
        let named = Buffer::from_raw(named);
        named.write().unwrap().as_bytes_mut().fill(1);
        let mut all = vec![named, open_file(file.path()).unwrap()];
        all.extend([TensorMemory::Mem, TensorMemory::Shm].map(|memory| get(memory, 5000)));
        let pool = Pool::new(kind::allocator(TensorMemory::Shm).unwrap());
        let pooled = Buffer::from_raw(pool.allocate(&Request::new(5000).unwrap()).unwrap());
        pooled.write().unwrap().as_bytes_mut().fill(1);
        all.push(pooled);
        let guards: Vec<_> = all.iter().map(|buffer| buffer.read().unwrap()).collect();
        let weak: Vec<_> = all.iter().map(|buffer| buffer.identity().weak()).collect();
        let before = (resources::descriptors(), resources::mappings(), statistics::report());
        // Lent, so that the child drops its copies and the parent keeps its own.
        let mut everything = Some((all, guards, pool));
        in_child(|| {
            drop(everything.take());
            assert!(statistics::report().is_empty());
            assert!(weak.iter().all(|weak| weak.upgrade().is_none()));
        });
        let after = (resources::descriptors(), resources::mappings(), statistics::report());
        assert_eq!(after, before);
        assert!(weak.iter().all(|weak| weak.upgrade().is_some()));
        assert!(fs::exists(format!("/dev/shm{name}")).unwrap());
        let (all, guards, _pool) = everything.unwrap();
        assert!(all.iter().all(|buffer| all_are(buffer, 1)));
        drop(guards);
        for buffer in all.iter().filter(|buffer| buffer.memory() != TensorMemory::File) {
            buffer.write().unwrap().as_bytes_mut().fill(2);
        }
        shm::remove_named(&name).unwrap();
    });
}

#[test]
fn guards_of_the_parent_hold_in_the_child() {
    child::alone("guards_of_the_parent_hold_in_the_child", || {
        let buffer = get(TensorMemory::Shm, 5000);
        let mut guard = Some(buffer.write_range(0..100).unwrap());
        in_child(|| {
            assert!(buffer.read().unwrap_err().is_busy());
            drop(guard.take());
            assert!(all_are(&buffer, 1));
        });
        assert!(buffer.read().unwrap_err().is_busy(), "the child's ledger is the child's");
        drop(guard);
        assert!(all_are(&buffer, 1));
    });
}

#[test]
fn the_child_makes_and_shares_memory_of_its_own() {
    child::alone("the_child_makes_and_shares_memory_of_its_own", || {
        let buffer = get(TensorMemory::Shm, 5000);
        in_child(|| {
            let own = get(TensorMemory::Shm, 5000);
            assert_ne!(own.identity(), buffer.identity());
            own.write().unwrap().as_bytes_mut().fill(3);
            assert!(all_are(&buffer, 1));
            // What it inherited it knows again.
            let fd = buffer.clone_descriptor().unwrap();
            let back = import(fd, 5000, Protection::AsAllowed, None).unwrap();
            assert_eq!(back.identity(), buffer.identity());
            back.write_range(0..1).unwrap().as_bytes_mut()[0] = 9;
        });
        assert_eq!(buffer.read().unwrap().as_bytes()[0], 9);
    });
}

#[test]
fn a_child_of_a_child_sees_the_same() {
    child::alone("a_child_of_a_child_sees_the_same", || {
        let buffer = get(TensorMemory::Shm, 5000);
        in_child(|| in_child(|| buffer.write().unwrap().as_bytes_mut().fill(4)));
        assert!(all_are(&buffer, 4));
    });
}
