//! Frame after frame, once every slot has been seen: no heap allocation on either side.
#![cfg(all(target_os = "linux", not(miri)))]
#![expect(unsafe_code, reason = "counts allocations")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::VecDeque;

use tenure_memory::Access;
use tenure_stream::{Error, Frame, Meta, Publisher, SlotState, Spec, Subscriber};
use tenure_tensor::{DType, PixelFormat, TensorDyn};

#[path = "common/stage.rs"]
mod stage;

use stage::{SOON, Stage, words_spec};

struct Counting;

thread_local! {
    /// Allocations of this thread; those of others are their own business.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends may have no counter any more.
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(address, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Frames until every slot has been seen.
const WARM_UP: u64 = 30;

/// Publishes a frame, and gives what each subscriber makes of it to `with`.
fn play(publisher: &mut Publisher, subscribers: &mut [Subscriber], mut with: impl FnMut(Frame)) {
    let slot = publisher.claim().unwrap();
    let number = slot.index() as u8;
    slot.typed::<u8>().unwrap().map().unwrap().as_mut_slice().fill(number);
    slot.publish(Meta::new().blob(&[number; 40])).unwrap();
    for subscriber in subscribers {
        let frame = subscriber.next(SOON).unwrap().unwrap();
        assert_eq!(frame.blob(), [number; 40]);
        let read = frame.typed::<u8>().unwrap().map_read().unwrap();
        assert!(read.as_slice().iter().all(|byte| *byte == number));
        drop(read);
        with(frame);
    }
}

/// Allocations of this thread during `work`.
fn allocations(work: impl FnOnce()) -> u64 {
    let before = COUNT.get();
    work();
    COUNT.get() - before
}

fn specs() -> [Spec; 2] {
    let image = Spec::image(64, 32, PixelFormat::Nv12).unwrap();
    [Spec::tensor(DType::U8, &[3, 1000]).unwrap(), image]
}

#[test]
fn publishing_and_receiving_allocate_nothing() {
    for spec in specs() {
        let stage = Stage::new();
        let mut publisher = stage.publisher("s").spec(spec.clone()).open().unwrap();
        let open = |_| stage.subscriber("s").credits(3).open().unwrap();
        let mut subscribers: Vec<Subscriber> = (0..2).map(open).collect();
        let mut held: VecDeque<Frame> = VecDeque::with_capacity(8);
        let mut go = |frames| {
            for _ in 0..frames {
                // Two frames of each consumer are always held, and given back in another order.
                play(&mut publisher, &mut subscribers, |frame| held.push_back(frame));
                if held.len() == 6 {
                    held.drain(2..4);
                }
            }
        };
        go(WARM_UP);
        assert_eq!(allocations(|| go(100)), 0, "{spec:?}");
        drop(held);
        assert!(publisher.stats().consumers.iter().all(|it| it.held == 0 && it.dropped == 0));
    }
}

#[test]
fn a_tensor_that_outlives_its_frame_keeps_the_slot() {
    let stage = Stage::new();
    let [spec, _] = specs();
    let mut publisher = stage.publisher("s").spec(spec).open().unwrap();
    let mut subscribers = [stage.subscriber("s").credits(3).open().unwrap()];
    for _ in 0..WARM_UP {
        play(&mut publisher, &mut subscribers, drop);
    }
    let held = |publisher: &Publisher| publisher.stats().consumers.first().unwrap().held;
    let mut kept: Vec<TensorDyn> = vec![];
    // Each in another way, by a tensor that the shelf has had before.
    play(&mut publisher, &mut subscribers, |frame| kept.push(frame.clone()));
    play(&mut publisher, &mut subscribers, |frame| kept.push(frame.slice(1, 2..3).unwrap()));
    assert_eq!(held(&publisher), 2);
    let bytes = |kept: &TensorDyn| kept.typed::<u8>().unwrap().map_rows_read().unwrap()[0][0];
    let before: Vec<u8> = kept.iter().map(bytes).collect();
    let mut guard = None;
    play(&mut publisher, &mut subscribers, |frame| {
        guard = Some(frame.typed::<u8>().unwrap().map_read().unwrap());
    });
    assert_eq!(held(&publisher), 3);
    drop(guard);
    assert_eq!(held(&publisher), 2);
    for _ in 0..WARM_UP {
        play(&mut publisher, &mut subscribers, drop);
    }
    assert_eq!(kept.iter().map(bytes).collect::<Vec<_>>(), before);
    drop(kept);
    assert_eq!(held(&publisher), 0);
    for _ in 0..WARM_UP {
        play(&mut publisher, &mut subscribers, drop);
    }
    let again = allocations(|| play(&mut publisher, &mut subscribers, drop));
    assert_eq!(again, 0);
}

#[test]
fn a_slot_that_a_device_works_on_is_not_published() {
    let stage = Stage::new();
    let [spec, _] = specs();
    let mut publisher = stage.publisher("s").spec(spec).open().unwrap();
    let mut subscribers = [stage.subscriber("s").open().unwrap()];
    for _ in 0..WARM_UP {
        play(&mut publisher, &mut subscribers, drop);
    }
    let slot = publisher.claim().unwrap();
    let (index, device) = (slot.index(), Access::KernelWrite);
    let writer = slot.buffer().hold(device, 0..slot.size_bytes()).unwrap();
    assert!(matches!(slot.publish(Meta::new()), Err(Error::StillHeld)));
    // It is claimed for as long as the writer is there, and free for the next claim then.
    let state = |publisher: &Publisher| publisher.stats().slots.get(index).unwrap().state;
    assert_eq!(state(&publisher), SlotState::Claimed);
    drop(writer);
    assert_eq!(state(&publisher), SlotState::Free);
    for _ in 0..WARM_UP {
        play(&mut publisher, &mut subscribers, drop);
    }
    assert_eq!(allocations(|| play(&mut publisher, &mut subscribers, drop)), 0);
}

#[test]
fn frames_that_look_otherwise_get_tensors_of_their_own() {
    let stage = Stage::new();
    let mut publisher = stage.publisher("s").open().unwrap();
    let mut subscriber = stage.subscriber("s").credits(3).open().unwrap();
    let mut held = VecDeque::new();
    for round in 0..40 {
        for (spec, rank) in specs().iter().zip([2, 2]).chain([(&words_spec(round % 7 + 1), 1)]) {
            publisher.claim_as(spec).unwrap().publish(Meta::new()).unwrap();
            let frame = subscriber.next(SOON).unwrap().unwrap();
            assert_eq!((frame.rank(), Spec::like(&frame).unwrap()), (rank, spec.clone()));
            held.push_back(frame);
            held.truncate(1 + round % 2);
        }
    }
}
