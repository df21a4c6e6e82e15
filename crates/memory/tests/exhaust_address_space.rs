//! A process that may not map any more: errors that say so, and never an abort.
#![cfg(all(linux_like, not(miri)))]

use std::fs;

use rustix::process::Resource;
use tenure_memory::kind::{self, shm};
use tenure_memory::{
    Allocator, Buffer, Error, Pool, Protection, Request, TensorMemory, allocate, import,
};

#[path = "common/child.rs"]
mod child;
#[path = "common/limits.rs"]
mod limits;

/// More than there will be room for.
const MUCH: usize = 1 << 30;
const ROOM: u64 = 64 << 20;

fn cramped<T>(work: impl FnOnce() -> T) -> T {
    limits::limited(Resource::As, limits::address_space() + ROOM, work)
}

fn is_out_of_memory(error: &Error, memory: TensorMemory, bytes: usize) -> bool {
    let words = error.to_string();
    matches!(&error, Error::OutOfMemory(it) if matches!(**it, tenure_memory::detail::OutOfMemory { memory: named, .. } if named == memory))
        && words.contains("no room for")
        && words.contains(&bytes.to_string())
}

#[test]
fn large_blocks_are_refused() {
    child::alone("large_blocks_are_refused", || {
        let request = Request::new(MUCH).unwrap();
        for memory in [TensorMemory::Mem, TensorMemory::Shm] {
            let allocator = kind::allocator(memory).unwrap();
            for allocator in [allocator, &Pool::new(allocator)] {
                let error = cramped(|| allocator.allocate(&request).unwrap_err());
                assert!(is_out_of_memory(&error, memory, MUCH), "{error:?}");
                // Nothing is remembered: with room it works.
                allocator.allocate(&Request::new(32 << 20).unwrap()).unwrap();
            }
        }
    });
}

#[test]
fn small_blocks_are_refused() {
    child::alone("small_blocks_are_refused", || {
        let mem = kind::allocator(TensorMemory::Mem).unwrap();
        let request = Request::new(100 << 10).unwrap();
        let mut all = Vec::with_capacity(10_000);
        let error = cramped(|| {
            loop {
                match mem.allocate(&request) {
                    Ok(raw) => all.push(raw),
                    Err(error) => break error,
                }
            }
        });
        assert!(is_out_of_memory(&error, TensorMemory::Mem, 100 << 10), "{error:?}");
        assert!(all.len() > 100, "{}", all.len());
        drop(all);
        mem.allocate(&request).unwrap();
    });
}

#[test]
fn named_memory_leaves_no_name_behind() {
    child::alone("named_memory_leaves_no_name_behind", || {
        let name = format!("/tenure-cramped-{}", std::process::id());
        let named = shm::Shm::named(&name);
        let error = cramped(|| named.allocate(&Request::new(256 << 20).unwrap()).unwrap_err());
        assert!(is_out_of_memory(&error, TensorMemory::Shm, 256 << 20), "{error:?}");
        assert!(!fs::exists(format!("/dev/shm{name}")).unwrap());
    });
}

#[test]
fn nothing_serves_and_each_says_why() {
    child::alone("nothing_serves_and_each_says_why", || {
        let request = Request::new(MUCH).unwrap();
        let error = cramped(|| allocate(None, &request).unwrap_err());
        let Error::NoneServed(none) = &error else { panic!("{error:?}") };
        assert_eq!(none.bytes, MUCH);
        let tried: Vec<_> = none.refusals.iter().map(|refusal| refusal.memory).collect();
        assert_eq!(tried, [TensorMemory::Dma, TensorMemory::Shm, TensorMemory::Mem]);
        let words = error.to_string();
        for memory in tried {
            assert!(words.contains(&format!(" {memory}: ")), "{words}");
        }
        assert!(words.contains(&MUCH.to_string()), "{words}");
    });
}

#[test]
fn imports_are_refused() {
    child::alone("imports_are_refused", || {
        let flags = rustix::fs::MemfdFlags::ALLOW_SEALING;
        let fd = rustix::fs::memfd_create("large", flags).unwrap();
        rustix::fs::ftruncate(&fd, MUCH as u64).unwrap();
        let error = cramped(|| import(&fd, 0, Protection::AsAllowed, None).unwrap_err());
        let words = error.to_string();
        assert!(words.contains("mapping") && words.contains("Cannot allocate memory"), "{words}");
        let buffer = import(&fd, 0, Protection::AsAllowed, None).unwrap();
        assert_eq!(buffer.len(), MUCH);
    });
}

#[test]
fn lazy_buffers_try_again() {
    child::alone("lazy_buffers_try_again", || {
        let mem = kind::allocator(TensorMemory::Mem).unwrap();
        let buffer = Buffer::lazy(mem, MUCH, Some("late")).unwrap();
        cramped(|| {
            assert!(is_out_of_memory(&buffer.write().unwrap_err(), TensorMemory::Mem, MUCH));
            assert!(!buffer.is_placed() && buffer.ensure().is_err());
        });
        buffer.write_range(0..1).unwrap().as_bytes_mut()[0] = 1;
    });
}
