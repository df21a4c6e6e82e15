//! Slices, and lazy buffers that get their bytes exactly once.

use std::sync::Arc;
use std::thread;

use tenure_memory::{Buffer, Error, Request};

use super::variant::Variant;

fn lazy(variant: &Variant, bytes: usize) -> Buffer {
    Buffer::lazy_in(Arc::clone(&variant.allocator), &Request::new(bytes).unwrap())
}

pub(super) fn slices_stay_inside(variant: &Variant) {
    let buffer = variant.get(1000);
    for (n, byte) in buffer.write().unwrap().as_bytes_mut().iter_mut().enumerate() {
        *byte = n as u8;
    }
    let part = buffer.slice(100..300).unwrap();
    let inner = part.slice(50..60).unwrap();
    assert_eq!((inner.len(), inner.start()), (10, 150));
    assert_eq!(inner.read().unwrap().as_bytes(), &(150..160).collect::<Vec<u8>>()[..]);
    assert_eq!(part.read_range(199..200).unwrap().as_bytes(), [(299 % 256) as u8]);
    // A slice gives nothing beyond itself, although there are bytes.
    assert!(inner.read_range(0..11).is_err() && inner.slice(5..11).is_err());
    assert!(part.slice(200..200).unwrap().is_empty());
    assert!(part.slice(201..201).is_err());
    assert!(inner.aliases(&part) && !inner.aliases(&buffer.slice(160..170).unwrap()));
    assert_eq!(inner.place().unwrap().range, 150..160);
}

pub(super) fn lazy_buffers_get_their_bytes_when_touched(variant: &Variant) {
    let buffer = lazy(variant, 5000);
    let (copy, part) = (buffer.clone(), buffer.slice(4000..4100).unwrap());
    assert!(!buffer.is_placed() && buffer.place().is_none());
    assert_eq!(buffer.memory(), variant.allocator.memory());
    assert!(part.aliases(&copy) && !part.aliases(&buffer.slice(0..4000).unwrap()));
    part.write().unwrap().as_bytes_mut().fill(5);
    assert!(buffer.is_placed() && copy.is_placed());
    assert_eq!(copy.read().unwrap().as_bytes()[4000..4100], [5; 100]);
    assert_eq!(copy.place().unwrap().range.start, 0);
    let weak = buffer.identity().weak();
    drop((buffer, copy, part));
    assert!(weak.upgrade().is_none());
}

pub(super) fn arenas_hold_lazy_buffers(variant: &Variant) {
    let arena = variant.get(8192);
    let (first, second, reused) = (lazy(variant, 1000), lazy(variant, 2000), lazy(variant, 3000));
    let early = second.slice(0..10).unwrap();
    first.place_in(&arena, 0).unwrap();
    second.place_in(&arena, 1024).unwrap();
    // Planned into the bytes of both, as buffers whose lifetimes do not meet are.
    reused.place_in(&arena.slice(512..8192).unwrap(), 0).unwrap();
    assert!(!first.aliases(&second));
    assert!(reused.aliases(&first) && reused.aliases(&second) && reused.aliases(&early));
    assert_eq!(early.place().unwrap().allocation, arena.identity().id());
    assert_ne!(first.identity(), arena.identity());
    early.write().unwrap().as_bytes_mut().fill(8);
    assert_eq!(arena.read().unwrap().as_bytes()[1024..1034], [8; 10]);
    // One ledger for all of them.
    let _writer = reused.write().unwrap();
    assert!(second.read().unwrap_err().is_busy());
    assert!(first.read_range(0..512).is_ok() && first.read().is_err());
}

pub(super) fn places_are_refused(variant: &Variant) {
    let arena = variant.get(4096);
    let buffer = lazy(variant, 1000);
    for offset in [3097, 4096, 5000, usize::MAX] {
        assert!(matches!(buffer.place_in(&arena, offset), Err(Error::OutOfBounds { .. })));
    }
    for offset in [1, 128, 257] {
        match buffer.place_in(&arena, offset) {
            Err(Error::Misaligned { offset: at, align: 256 }) => assert_eq!(at, offset),
            other => panic!("{offset}: {other:?}"),
        }
    }
    assert!(!buffer.is_placed());
    buffer.place_in(&arena, 1024).unwrap();
    let id = buffer.identity().id();
    match buffer.place_in(&arena, 0) {
        Err(Error::AlreadyPlaced { id: named }) => assert_eq!(named, id),
        other => panic!("{other:?}"),
    }
    assert_eq!(buffer.place().unwrap().range, 1024..2024);
    let touched = lazy(variant, 10);
    touched.ensure().unwrap();
    assert!(touched.place_in(&arena, 0).is_err());
    assert!(variant.get(10).place_in(&arena, 0).is_err());
}

pub(super) fn arenas_keep_the_alignment_asked_for(variant: &Variant) {
    let wanted = Request::new(100).unwrap().with_align(4096).unwrap();
    // Kept, so that the heap gives addresses of every kind.
    let arenas: Vec<_> = (0..if cfg!(miri) { 2 } else { 20 }).map(|_| variant.get(9000)).collect();
    for arena in &arenas {
        let buffer = Buffer::lazy_in(Arc::clone(&variant.allocator), &wanted);
        let placed = [0, 256, 4096, 8192].map(|at| buffer.place_in(arena, at));
        if buffer.is_placed() {
            let address = buffer.read().unwrap().as_bytes().as_ptr().addr();
            assert_eq!(address % 4096, 0, "{placed:?}");
        } else {
            let fault = |answer: &_| matches!(answer, Err(Error::Misaligned { align: 4096, .. }));
            assert!(placed.iter().all(fault), "{placed:?}");
        }
    }
}

pub(super) fn arenas_stay_while_they_are_used(variant: &Variant) {
    let arena = variant.get(4096);
    let weak = arena.identity().weak();
    let buffer = lazy(variant, 1000);
    buffer.place_in(&arena, 512).unwrap();
    drop(arena);
    variant.let_go();
    buffer.write().unwrap().as_bytes_mut().fill(1);
    assert!(weak.upgrade().is_some());
    let guard = buffer.read().unwrap();
    drop(buffer);
    assert_eq!(guard.as_bytes()[999], 1);
    drop(guard);
    variant.let_go();
    assert!(weak.upgrade().is_none());
}

pub(super) fn threads_race_to_place(variant: &Variant) {
    let arena = variant.get(4096);
    for _ in 0..if cfg!(miri) { 2 } else { 50 } {
        let buffer = lazy(variant, 1000);
        let placed: usize = thread::scope(|scope| {
            let all: Vec<_> = (0..4)
                .map(|n| {
                    let (buffer, arena) = (&buffer, &arena);
                    scope.spawn(move || {
                        if n == 0 {
                            buffer.ensure().unwrap();
                            return 0;
                        }
                        usize::from(buffer.place_in(arena, n * 512).is_ok())
                    })
                })
                .collect();
            all.into_iter().map(|one| one.join().unwrap()).sum()
        });
        // Somebody was first, and everybody sees the same place.
        assert!(placed <= 1);
        let in_arena = buffer.place().unwrap().allocation == arena.identity().id();
        assert_eq!(in_arena, placed == 1);
    }
}
