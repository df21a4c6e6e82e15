//! Foreign code that writes where it was lent bytes to read, and views that outlive publishing:
//! torch, numpy through ctypes, a C program that casts `const` away.
#![cfg(all(target_os = "linux", not(miri)))]
#![expect(unsafe_code, reason = "does what foreign code does: writes through a pointer")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tenure_memory::{Access, Buffer, Hold, Request, allocate};
use tenure_stream::{Error, Frame, Meta, SlotState};
use tenure_tensor::{DType, DynTensor, PixelFormat, TensorDyn, TensorMemory};

#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "common/stage.rs"]
mod stage;

use stage::{Stage, next, publish, published};

const WORDS: usize = 40_000;

/// What foreign code has of a tensor.
struct View(Hold);

impl View {
    fn of(tensor: &TensorDyn, access: Access) -> View {
        View(tensor.buffer().hold(access, 0..tensor.size_bytes()).unwrap())
    }

    fn words(&self) -> usize {
        self.0.len() / 8
    }

    fn at(&self, word: usize) -> *mut u64 {
        assert!(word < self.words());
        // SAFETY: inside the bytes that are held.
        unsafe { self.0.address().as_ptr().cast::<u64>().add(word) }
    }

    fn get(&self, word: usize) -> u64 {
        // SAFETY: valid while held.
        unsafe { self.at(word).read_volatile() }
    }

    fn set(&self, word: usize, value: u64) {
        // SAFETY: what foreign code does, whether or not it may.
        unsafe { self.at(word).write_volatile(value) }
    }

    fn fill(&self, value: u64) {
        (0..self.words()).for_each(|word| self.set(word, value));
    }

    fn all(&self, value: u64) -> bool {
        (0..self.words()).all(|word| self.get(word) == value)
    }
}

fn words(tensor: &TensorDyn) -> Vec<u64> {
    tensor.typed::<u64>().unwrap().map_read().unwrap().as_slice().to_vec()
}

#[test]
fn a_write_to_a_frame_stays_with_the_export() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", WORDS);
    let mut one = stage.subscriber("words").open().unwrap();
    let mut other = stage.subscriber("words").open().unwrap();
    let mut used = [0; 16];
    for sequence in 0..24 {
        publish(&mut publisher, sequence).unwrap();
        let (frame, beside) = (next(&mut one), next(&mut other));
        used[frame.slot()] += 1;
        // Guards of Rust are there before and after.
        let reading = frame.typed::<u64>().unwrap().map_read().unwrap();
        let view = View::of(&frame, Access::ExportRead);
        assert!(view.all(sequence), "frame {sequence} shows an old write");
        let there = View::of(&beside, Access::ExportRead);
        view.set(0, 99);
        view.set(WORDS - 1, 99);
        (WORDS / 3..WORDS / 2).for_each(|word| view.set(word, 99));
        assert_eq!((view.get(WORDS / 3), view.get(1)), (99, sequence));
        // Neither another consumer nor a reader in Rust sees it, before or after.
        assert!(there.all(sequence));
        assert!(reading.as_slice().iter().all(|word| *word == sequence));
        stage::whole(&beside);
        match sequence % 3 {
            0 => drop((reading, frame, view)),
            1 => drop((view, reading, frame)),
            _ => {
                let tensor = frame.into_tensor();
                drop((reading, tensor, view));
            }
        }
        assert!(there.all(sequence));
    }
    assert!(used.iter().any(|times| *times > 3), "no slot was used again: {used:?}");
}

#[test]
fn a_write_ends_with_the_last_export() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", WORDS);
    let mut subscriber = stage.subscriber("words").open().unwrap();
    publish(&mut publisher, 0).unwrap();
    let frame = next(&mut subscriber);
    let (first, second) =
        (View::of(&frame, Access::ExportRead), View::of(&frame, Access::ExportRead));
    first.fill(7);
    drop(first);
    // The library that wrote goes on with what it wrote.
    assert!(second.all(7));
    drop(second);
    assert!(View::of(&frame, Access::ExportRead).all(0));
}

#[test]
fn the_kernel_writes_where_a_frame_was_lent() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", WORDS);
    let mut subscriber = stage.subscriber("words").open().unwrap();
    publish(&mut publisher, 0).unwrap();
    let frame = next(&mut subscriber);
    let view = View::of(&frame, Access::ExportRead);
    let mut zeros = std::fs::File::open("/dev/urandom").unwrap();
    // SAFETY: valid while held; what a library does that reads a file into its array.
    let bytes = unsafe { std::slice::from_raw_parts_mut(view.0.address().as_ptr(), 1 << 16) };
    std::io::Read::read_exact(&mut zeros, bytes).unwrap();
    stage::whole(&frame);
}

#[test]
fn every_plane_of_a_frame_can_be_written() {
    let stage = Stage::new();
    let mut publisher = stage.publisher("pictures").open().unwrap();
    let mut subscriber = stage.subscriber("pictures").open().unwrap();
    let plane = |bytes| {
        let raw = allocate(Some(TensorMemory::Shm), &Request::new(bytes).unwrap()).unwrap();
        Buffer::from_raw(raw)
    };
    let planes = [plane(64 * 32), plane(64 * 16)];
    let places = [(0, Some(64)), (0, Some(64))];
    let picture =
        TensorDyn::from_plane_buffers(&planes, &places, 64, 32, PixelFormat::Nv12, DType::U8);
    let picture = picture.unwrap();
    publisher.publish_tensor(&picture, Meta::new()).unwrap();
    let frame = subscriber.next(stage::SOON).unwrap().unwrap();
    for index in 0..2 {
        let plane = frame.plane(index).unwrap();
        let view = View::of(&plane, Access::ExportRead);
        view.fill(u64::MAX);
        assert!(plane.map_read().unwrap().as_slice().iter().all(|byte| *byte == 0));
    }
    for plane in &planes {
        assert!(plane.read().unwrap().as_bytes().iter().all(|byte| *byte == 0));
    }
    drop(frame);
    stage::until("the frame is back", || published(&publisher) == 0);
    // An array of the second plane alone makes it a copy.
    let array = planes[1].hold(Access::ExportWrite, 0..64 * 16).unwrap();
    publisher.publish_tensor(&picture, Meta::new()).unwrap();
    // SAFETY: inside what is held.
    unsafe { array.address().as_ptr().write_bytes(9, 64 * 16) };
    let frame = subscriber.next(stage::SOON).unwrap().unwrap();
    let chroma = frame.plane(1).unwrap();
    assert!(chroma.map_read().unwrap().iter().all(|byte| *byte == 0));
}

#[test]
fn a_view_that_is_kept_past_publishing_goes_on_alone() {
    kept_views();
}

fn kept_views() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", WORDS);
    let mut subscriber = stage.subscriber("words").open().unwrap();
    let mut kept: Vec<(View, u64)> = vec![];
    for sequence in 0..30 {
        let slot = publisher.claim().unwrap();
        let view = View::of(&slot, Access::ExportWrite);
        view.fill(sequence);
        let blob = sequence.to_le_bytes();
        let receipt = slot.publish(Meta::new().blob(&blob)).unwrap();
        assert_eq!((receipt.sequence, receipt.consumers), (sequence, 1));
        // It neither fails nor reaches the frame.
        view.set(5, 1000 + sequence);
        let frame = next(&mut subscriber);
        view.set(WORDS - 5, 1000 + sequence);
        stage::whole(&frame);
        assert_eq!((view.get(5), view.get(6)), (1000 + sequence, sequence));
        drop(frame);
        kept.push((view, sequence));
        if sequence % 4 != 0 {
            kept.remove(0);
        }
        // Slots have been used again since, and views still show what they showed.
        for (view, sequence) in &kept {
            assert_eq!((view.get(5), view.get(WORDS - 5)), (1000 + sequence, 1000 + sequence));
            let others = (0..WORDS).filter(|word| *word != 5 && *word != WORDS - 5);
            assert!(others.map(|word| view.get(word)).all(|word| word == *sequence));
        }
    }
}

#[test]
fn handles_and_guards_of_a_published_slot_go_on_alone() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", WORDS);
    let mut subscriber = stage.subscriber("words").open().unwrap();
    let slot = publisher.claim().unwrap();
    let tensor = slot.clone();
    let mut guard = tensor.typed::<u64>().unwrap().map().unwrap();
    guard.as_mut_slice().fill(0);
    slot.publish(Meta::new().blob(&0u64.to_le_bytes())).unwrap();
    guard.as_mut_slice().fill(8);
    let frame = next(&mut subscriber);
    drop(frame);
    for sequence in 1..8 {
        publish(&mut publisher, sequence).unwrap();
        next(&mut subscriber);
    }
    assert!(guard.as_slice().iter().all(|word| *word == 8));
    drop(guard);
    tensor.typed::<u64>().unwrap().map().unwrap().as_mut_slice().fill(9);
    // It is memory of its own now: what is published of it is a copy.
    assert!(tensor.clone_fd().is_err());
    publisher.publish_tensor(&tensor, Meta::new().blob(&8u64.to_le_bytes())).unwrap();
    tensor.typed::<u64>().unwrap().map().unwrap().as_mut_slice().fill(10);
    let frame = subscriber.next(stage::SOON).unwrap().unwrap();
    assert!(words(&frame).iter().all(|word| *word == 9));
    assert!(words(&tensor).iter().all(|word| *word == 10));
}

#[test]
fn what_goes_on_alone_shares_no_bytes_with_the_frame() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", WORDS);
    let mut subscriber = stage.subscriber("words").open().unwrap();
    let slot = publisher.claim().unwrap();
    let kept = slot.clone();
    kept.typed::<u64>().unwrap().fill(0).unwrap();
    slot.publish(Meta::new().blob(&0u64.to_le_bytes())).unwrap();
    kept.typed::<u64>().unwrap().fill(7).unwrap();
    let frame = next(&mut subscriber);
    // Words that would interleave in one allocation come from the frame.
    let (even, odd) = (kept.slice_step(0, 0..WORDS, 2), frame.slice_step(0, 1..WORDS, 2));
    even.unwrap().copy_from(&odd.unwrap()).unwrap();
    assert!(words(&kept).chunks(2).all(|pair| *pair == [0, 7]));
    // And the same word does not stand in its own way.
    kept.copy_from(&frame).unwrap();
    assert!(words(&kept).iter().all(|word| *word == 0));
    assert!(!kept.aliases(&frame));
    assert_ne!(kept.buffer().place(), frame.buffer().place());
    assert_ne!(kept.buffer_identity(), frame.buffer_identity());
}

#[test]
fn a_thread_that_never_stops_writing_changes_no_published_byte() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", WORDS);
    let mut subscriber = stage.subscriber("words").open().unwrap();
    for round in 0..40u64 {
        let slot = publisher.claim().unwrap();
        let view = Arc::new(View::of(&slot, Access::ExportWrite));
        let (stop, lost) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let before = Arc::new(Mutex::new(0));
        let writer = {
            let (view, stop, lost) = (Arc::clone(&view), Arc::clone(&stop), Arc::clone(&lost));
            let before = Arc::clone(&before);
            std::thread::spawn(move || {
                let mut count = round * 1_000_000_000;
                while !stop.load(Ordering::Relaxed) {
                    count += 1;
                    // One word in every page, one after the other.
                    let word = (count as usize * 7919 % (WORDS / 512)) * 512;
                    view.set(word, count);
                    lost.fetch_add(u64::from(view.get(word) != count), Ordering::Relaxed);
                    *before.lock().unwrap() = count;
                }
            })
        };
        while *before.lock().unwrap() == 0 {
            std::thread::yield_now();
        }
        // Written before publishing: must be in the frame.
        view.set(1, round);
        slot.publish(Meta::new()).unwrap();
        let frame: Frame = subscriber.next(stage::SOON).unwrap().unwrap();
        let then = words(&frame);
        let seen = *before.lock().unwrap();
        stage::until("a few more writes", || *before.lock().unwrap() > seen + 1000);
        assert_eq!(words(&frame), then, "round {round}");
        assert_eq!(then[1], round);
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap();
        assert_eq!(lost.load(Ordering::Relaxed), 0, "a write was not read back");
    }
}

#[test]
fn a_published_tensor_does_not_change_through_an_array_of_it() {
    let stage = Stage::new();
    let mut publisher = stage.publisher("words").open().unwrap();
    let mut subscriber = stage.subscriber("words").open().unwrap();
    let memory = Some(TensorMemory::Shm);
    let tensor = TensorDyn::new(&[WORDS], DType::U64, memory, None).unwrap();
    let array = View::of(&tensor, Access::ExportWrite);
    for round in 0..5 {
        array.fill(round);
        publisher.publish_tensor(&tensor, Meta::new()).unwrap();
        array.fill(99);
        let frame = subscriber.next(stage::SOON).unwrap().unwrap();
        assert!(words(&frame).iter().all(|word| *word == round));
    }
    // The array is of the tensor still.
    let other = View::of(&tensor, Access::ExportRead);
    assert!(other.all(99));
    drop((array, other));

    // Without one nothing is copied, and nobody gets one that can write until it is given back.
    publisher.publish_tensor(&tensor, Meta::new()).unwrap();
    let frame = subscriber.next(stage::SOON).unwrap().unwrap();
    assert_eq!(frame.buffer().identity(), tensor.buffer().identity());
    let refused = tensor.buffer().hold(Access::ExportWrite, 0..8).unwrap_err();
    assert!(refused.is_busy(), "{refused}");
    assert!(refused.to_string().contains("published"), "{refused}");
    // What reads gets pages of its own.
    let array = View::of(&tensor, Access::ExportRead);
    array.fill(5);
    assert!(words(&frame).iter().all(|word| *word == 99));
    drop(array);
    assert!(words(&tensor).iter().all(|word| *word == 99));
    drop(frame);
    stage::until("the frame is back", || published(&publisher) == 0);
    View::of(&tensor, Access::ExportWrite).fill(1);
    assert!(words(&tensor).iter().all(|word| *word == 1));
}

#[test]
fn an_array_of_the_heap_does_not_make_it_shareable() {
    let stage = Stage::new();
    let mut publisher = stage.publisher("words").open().unwrap();
    let tensor = TensorDyn::new(&[64], DType::U64, Some(TensorMemory::Mem), None).unwrap();
    let alone = publisher.publish_tensor(&tensor, Meta::new()).unwrap_err();
    let _array = View::of(&tensor, Access::ExportWrite);
    let beside = publisher.publish_tensor(&tensor, Meta::new()).unwrap_err();
    assert_eq!(alone.to_string(), beside.to_string());
}

#[test]
fn slots_are_not_used_up_by_views() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", WORDS);
    let mut views = vec![];
    for sequence in 0..12 {
        let slot = publisher.claim().unwrap();
        views.push(View::of(&slot, Access::ExportWrite));
        views[views.len() - 1].fill(sequence);
        slot.publish(Meta::new()).unwrap();
    }
    let free = |publisher: &tenure_stream::Publisher| {
        publisher.stats().slots.iter().all(|slot| slot.state == SlotState::Free)
    };
    assert!(free(&publisher));
    for (sequence, view) in views.iter().enumerate() {
        assert!(view.all(sequence as u64));
    }
}

/// Moving pages is refused, as by a kernel before 5.13.
fn as_on_an_old_kernel() {
    const LOAD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let step = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    let mut program = [
        step(LOAD, 0, 0, 0),
        step(JUMP_IF_EQUAL, libc::SYS_mremap as u32, 1, 0),
        step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0),
        step(RETURN, libc::SECCOMP_RET_ERRNO | libc::EINVAL as u32, 0, 0),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the program is well-formed and lives until the call returns.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let (mode, flags) = (libc::SECCOMP_SET_MODE_FILTER, libc::SECCOMP_FILTER_FLAG_TSYNC);
        assert_eq!(libc::syscall(libc::SYS_seccomp, mode, flags, &raw const filter), 0);
    }
}

#[test]
fn an_old_kernel_keeps_the_promise_with_a_copy() {
    child::alone("an_old_kernel_keeps_the_promise_with_a_copy", || {
        as_on_an_old_kernel();
        kept_views();
        let stage = Stage::new();
        let mut publisher = stage.words("words", WORDS);
        let slot = publisher.claim().unwrap();
        // A guard of Rust cannot be copied beside.
        let guard = slot.typed::<u64>().unwrap().map().unwrap();
        assert!(matches!(slot.publish(Meta::new()), Err(Error::StillHeld)));
        drop(guard);
        publish(&mut publisher, 0).unwrap();
    });
}
