//! A heap request that the machine cannot serve is refused when it is made, alone and in sum.
// With addresses of 32 bits nobody can ask for that much.
#![cfg(all(linux_like, not(miri), target_pointer_width = "64"))]

use std::fs;

use tenure_memory::kind::mem::Mem;
use tenure_memory::{Allocator, Buffer, Error, RawBuffer, Request, Result};

#[path = "common/child.rs"]
mod child;

fn allocate(bytes: usize) -> Result<RawBuffer> {
    Mem.allocate(&Request::new(bytes)?)
}

/// What this process may have.
fn most() -> u64 {
    match allocate(1 << 60).unwrap_err() {
        Error::OutOfMemory(full) => full.available.unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Memory and swap of the machine.
fn machine() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap();
    let line = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
    };
    line("MemTotal:") + line("SwapTotal:")
}

#[test]
fn more_than_the_machine_has_is_refused() {
    child::alone("more_than_the_machine_has_is_refused", || {
        let beyond = usize::try_from(machine()).unwrap() + 1;
        for bytes in [beyond, 2 * beyond, beyond.max(1 << 40), isize::MAX as usize - (4 << 20)] {
            let error = allocate(bytes).unwrap_err();
            assert!(
                matches!(&error, Error::OutOfMemory(it) if matches!(**it, tenure_memory::detail::OutOfMemory { bytes: named, .. } if named == bytes))
            );
            let words = error.to_string();
            assert!(words.contains(&bytes.to_string()), "{words}");
            assert!(
                words.contains("bytes are available: this process may use")
                    && words.contains("its tensors have 0 of them"),
                "{words}"
            );
        }
        // Nothing is remembered, and a sparse tensor is still cheap.
        let large = usize::try_from(most() / 2).unwrap().min(1 << 30);
        let buffer = Buffer::from_raw(allocate(large).unwrap());
        buffer.write_range(large - 1..large).unwrap().as_bytes_mut()[0] = 1;
    });
}

#[test]
fn many_requests_together_are_refused_and_come_back() {
    child::alone("many_requests_together_are_refused_and_come_back", || {
        let part = usize::try_from(most() / 4).unwrap();
        let mut all: Vec<RawBuffer> = vec![];
        let error = loop {
            match allocate(part) {
                Ok(raw) => all.push(raw),
                Err(error) => break error,
            }
            assert!(all.len() <= 4, "five quarters of the machine");
        };
        let Error::OutOfMemory(full) = &error else { panic!("{error:?}") };
        assert!(full.available.unwrap() < part as u64);
        assert!(error.to_string().contains("its tensors have"), "{error}");
        let count = all.len();
        drop(all);
        let again: Vec<_> = (0..count).map(|_| allocate(part).unwrap()).collect();
        drop(again);
    });
}

#[test]
fn what_a_pool_keeps_makes_room_for_what_it_needs() {
    child::alone("what_a_pool_keeps_makes_room_for_what_it_needs", || {
        let limits = tenure_memory::PoolLimits::new(usize::MAX, 64);
        let pool = tenure_memory::Pool::new(Mem).with_limits(limits);
        let most = most();
        let part = |share: u64| Request::new(usize::try_from(most / share).unwrap()).unwrap();
        // Classes are up to an eighth larger.
        drop(pool.allocate(&part(3)).unwrap());
        let more = pool.allocate(&part(4)).unwrap();
        let most = pool.allocate(&part(2)).unwrap();
        assert_eq!(pool.report().kept, 0, "what was kept had to go");
        drop((more, most));
    });
}
