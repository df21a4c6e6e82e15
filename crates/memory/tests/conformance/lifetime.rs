//! Who keeps whom alive, on whatever thread.

use std::thread;

use super::variant::Variant;

pub(super) fn guards_outlive_buffers(variant: &Variant) {
    let bytes = if cfg!(miri) { 1000 } else { 200_000 };
    let buffer = variant.get(bytes);
    buffer.write().unwrap().as_bytes_mut().fill(9);
    let weak = buffer.identity().weak();
    let (first, second) = (buffer.read().unwrap(), buffer.read_range(bytes - 1..bytes).unwrap());
    drop(buffer);
    variant.let_go();
    assert!(first.as_bytes().iter().all(|byte| *byte == 9));
    drop(first);
    assert_eq!(second.as_bytes(), [9]);
    assert!(weak.upgrade().is_some());
    drop(second);
    variant.let_go();
    assert!(weak.upgrade().is_none());
}

pub(super) fn buffers_are_dropped_on_other_threads(variant: &Variant) {
    let weak: Vec<_> = (0..if cfg!(miri) { 2 } else { 10 })
        .map(|n| {
            let buffer = variant.get(1000);
            let weak = buffer.identity().weak();
            thread::spawn(move || {
                buffer.write().unwrap().as_bytes_mut().fill(n);
                drop(buffer);
            })
            .join()
            .unwrap();
            weak
        })
        .collect();
    variant.let_go();
    assert!(weak.iter().all(|weak| weak.upgrade().is_none()));
}

pub(super) fn threads_share_a_buffer(variant: &Variant) {
    let threads = if cfg!(miri) { 2 } else { 8 };
    let rounds = if cfg!(miri) { 3 } else { 200 };
    let buffer = variant.get(threads * 100);
    thread::scope(|scope| {
        for n in 0..threads {
            let part = buffer.slice(n * 100..(n + 1) * 100).unwrap();
            scope.spawn(move || {
                for round in 0..rounds {
                    let mut guard = part.write().unwrap();
                    guard.as_bytes_mut().fill((n + round) as u8);
                    assert!(guard.as_bytes().iter().all(|byte| *byte == (n + round) as u8));
                }
            });
        }
    });
    assert_eq!(buffer.raw().unwrap().held(), 0);
    let last = buffer.read().unwrap();
    for n in 0..threads {
        assert_eq!(last.as_bytes()[n * 100], (n + rounds - 1) as u8);
    }
}

pub(super) fn guards_move_between_threads(variant: &Variant) {
    let buffer = variant.get(5000);
    let mut guard = buffer.write().unwrap();
    let guard = thread::spawn(move || {
        guard.as_bytes_mut().fill(3);
        guard
    })
    .join()
    .unwrap();
    assert!(buffer.read().is_err());
    thread::spawn(move || drop(guard)).join().unwrap();
    assert_eq!(buffer.read().unwrap().as_bytes()[4999], 3);
}

pub(super) fn nothing_is_left_behind(variant: &Variant) {
    // Once before counting: what is made once and kept is not left behind.
    drop(variant.get(100_000));
    variant.let_go();
    crate::resources::nothing_left("200 allocations", || {
        for n in 0..200 {
            drop(variant.get(n * 1000));
        }
        variant.let_go();
    });
}
