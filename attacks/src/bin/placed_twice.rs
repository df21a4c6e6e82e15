//! A lazy buffer with two places: placed again, placed after it was touched, placed in itself, or
//! by two threads at once. Whoever holds it must never see it move.
#![forbid(unsafe_code)]

use std::sync::Barrier;
use std::thread;

use tenure::Buffer;
use tenure::memory::{Error, kind};
use tenure::{Request, TensorMemory};
use tenure_attacks::refused;

fn main() {
    let mem = kind::allocator(TensorMemory::Mem).expect("the heap");
    let arena = |name| Buffer::lazy(mem, 8192, Some(name)).expect("an arena");
    let (one, two) = (arena("one"), arena("two"));

    let placed = Buffer::lazy(mem, 256, None).expect("lazy");
    let before = placed.slice(128..256).expect("inside");
    placed.place_in(&one, 512).expect("room");
    refused!(placed.place_in(&one, 1024), Error::AlreadyPlaced { .. });
    refused!(before.place_in(&two, 0), Error::AlreadyPlaced { .. });
    assert_eq!(before.place().expect("follows").range, 640..768);

    let touched = Buffer::lazy(mem, 256, None).expect("lazy");
    let mut held = touched.write().expect("free");
    held.as_bytes_mut().fill(3);
    refused!(touched.place_in(&two, 0), Error::AlreadyPlaced { .. });
    assert_eq!(held.as_bytes(), [3; 256]);

    let circle = Buffer::lazy(mem, 256, None).expect("lazy");
    refused!(circle.place_in(&circle, 0), Error::AlreadyPlaced { .. });
    refused!(Buffer::from_raw(touch(mem)).place_in(&two, 0), Error::AlreadyPlaced { .. });

    for round in 0..300 {
        let lazy = Buffer::lazy(mem, 256, None).expect("lazy");
        let barrier = Barrier::new(3);
        let meet = |work: &dyn Fn() -> bool| {
            barrier.wait();
            work()
        };
        let wins = thread::scope(|scope| {
            let first = scope.spawn(|| meet(&|| lazy.place_in(&one, 256).is_ok()));
            let second = scope.spawn(|| meet(&|| lazy.place_in(&two, 256).is_ok()));
            let touch = || {
                // The three see one place, whoever made it.
                let seen = lazy.write().expect("free").hold().raw().identity().id();
                assert_eq!(lazy.place().expect("touched").allocation, seen);
                false
            };
            meet(&touch);
            [first, second].map(|thread| thread.join().expect("no panic"))
        });
        assert!(wins.iter().filter(|won| **won).count() <= 1, "round {round}: {wins:?}");
    }
}

fn touch(mem: &'static dyn tenure::Allocator) -> tenure::RawBuffer {
    mem.allocate(&Request::new(256).expect("small")).expect("memory")
}
