//! Frames that devices are not done with.
#![cfg(all(target_os = "linux", not(miri)))]

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tenure_memory::Fence;
use tenure_stream::{Meta, SlotState, Subscriber};
use tenure_tensor::{Tensor, TensorMemory};

#[path = "common/stage.rs"]
mod stage;

use stage::{SOON, Stage, next, publish, published, until};

/// A fence that is done when a byte is written.
fn fence() -> (Fence, OwnedFd) {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    (Fence::from_fd(read).unwrap(), write)
}

#[test]
fn a_frame_waits_for_the_device_that_writes_it() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", 8);
    let mut subscriber = stage.subscriber("words").open().unwrap();
    let mut early = stage.subscriber("words").explicit_fences(true).open().unwrap();
    let (writing, done) = fence();
    let slot = publisher.claim().unwrap();
    slot.publish(Meta::new().fence(&writing)).unwrap();
    assert!(subscriber.next(Duration::from_millis(20)).unwrap().is_none());
    assert!(!early.next(SOON).unwrap().unwrap().fence().unwrap().is_done().unwrap());
    rustix::io::write(&done, &[1]).unwrap();
    let frame = subscriber.next(SOON).unwrap().unwrap();
    assert_eq!((frame.sequence(), frame.fence().is_none()), (0, true));
    drop(frame);
    // A device that fails is an error, and not the end.
    let (writing, done) = fence();
    publisher.claim().unwrap().publish(Meta::new().fence(&writing)).unwrap();
    drop(done);
    assert!(subscriber.next(SOON).is_err());
    publish(&mut publisher, 2).unwrap();
    assert_eq!(next(&mut subscriber).sequence(), 2);
}

#[test]
fn a_slot_waits_for_the_device_that_reads_it() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", 8);
    let mut subscriber = stage.subscriber("words").credits(1).open().unwrap();
    publish(&mut publisher, 0).unwrap();
    let (reading, done) = fence();
    next(&mut subscriber).release_after(reading);
    assert_eq!(published(&publisher), 1);
    assert_eq!(publish(&mut publisher, 1).unwrap().dropped, 1);
    rustix::io::write(&done, &[1]).unwrap();
    assert_eq!(published(&publisher), 0);
    assert_eq!(publish(&mut publisher, 2).unwrap().dropped, 0);
    // Whoever leaves with a fence that is not done leaves the slot retired, not reused.
    let (reading, _done) = fence();
    next(&mut subscriber).release_after(reading);
    drop(subscriber);
    until("it is gone", || publisher.stats().consumers.is_empty());
    assert_eq!(published(&publisher), 0);
    assert!(publisher.stats().slots.iter().any(|slot| slot.state == SlotState::Vacant));
}

#[test]
fn memory_of_the_user_waits_for_the_device_that_reads_it() {
    let stage = Stage::new();
    let mut publisher = stage.publisher("lent").open().unwrap();
    let mut subscriber = stage.subscriber("lent").open().unwrap();
    let tensor = Tensor::<u8>::new(&[64], Some(TensorMemory::Shm), None).unwrap();
    publisher.publish_tensor(&tensor, Meta::new()).unwrap();
    let (reading, done) = fence();
    subscriber.next(SOON).unwrap().unwrap().release_after(reading);
    until("the release is heard", || publisher.stats().consumers[0].held == 1);
    std::thread::sleep(Duration::from_millis(20));
    assert!(tensor.map().is_err());
    rustix::io::write(&done, &[1]).unwrap();
    until("the tensor comes back", || tensor.map().is_ok());
}

#[test]
fn a_pipe_called_like_a_fence_of_the_kernel_keeps_nothing() {
    let stage = Stage::new();
    let mut publisher = stage.publisher("lent").open().unwrap();
    let mut subscriber = stage.subscriber("lent").open().unwrap();
    let tensor = Tensor::<u8>::new(&[64], Some(TensorMemory::Shm), None).unwrap();
    publisher.publish_tensor(&tensor, Meta::new()).unwrap();
    let path = stage.path().join("sync_file");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
    let fifo = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    let never = Fence::from_fd(&fifo).unwrap();
    subscriber.next(SOON).unwrap().unwrap().release_after(never);
    // Whoever waits for it waits for a process that is gone.
    drop(subscriber);
    until("the tensor comes back", || tensor.map().is_ok());
}

/// Whether the subscriber's descriptor becomes readable within this time.
fn readable(fd: impl AsFd, within: Duration) -> bool {
    let within = Timespec::try_from(within).unwrap();
    poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&within)).unwrap() > 0
}

#[test]
fn whoever_polls_is_woken_when_the_device_is_done() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", 8);
    let open = || stage.subscriber("words").open().unwrap();
    // One that was polled before, and one that was not.
    let mut subscribers: [Subscriber; 2] = [open(), open()];
    assert!(!readable(&subscribers[0], Duration::ZERO));
    for round in 0..3 {
        let (writing, done) = fence();
        publisher.claim().unwrap().publish(Meta::new().fence(&writing)).unwrap();
        publish(&mut publisher, 2 * round + 1).unwrap();
        for subscriber in &mut subscribers {
            assert!(readable(&*subscriber, SOON));
            assert!(subscriber.try_next().unwrap().is_none());
            // The frame behind it wakes nobody: it has to wait too.
            assert!(!readable(&*subscriber, Duration::from_millis(5)));
            assert!(!subscriber.wait(Duration::from_millis(5)).unwrap());
        }
        let signal = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            rustix::io::write(&done, &[1]).unwrap();
        });
        for subscriber in &mut subscribers {
            assert!(subscriber.wait(SOON).unwrap());
            assert!(readable(&*subscriber, SOON));
            let frame = subscriber.try_next().unwrap().unwrap();
            assert_eq!(frame.sequence(), 2 * round);
            assert!(readable(&*subscriber, SOON));
            assert_eq!(next(subscriber).sequence(), 2 * round + 1);
            assert!(!readable(&*subscriber, Duration::ZERO));
        }
        signal.join().unwrap();
    }
}

#[test]
fn a_device_that_fails_wakes_whoever_polls() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", 8);
    let mut subscriber = stage.subscriber("words").open().unwrap();
    let (writing, done) = fence();
    publisher.claim().unwrap().publish(Meta::new().fence(&writing)).unwrap();
    assert!(readable(&subscriber, SOON));
    assert!(subscriber.try_next().unwrap().is_none());
    drop(done);
    assert!(readable(&subscriber, SOON));
    assert!(subscriber.try_next().is_err());
    assert!(!readable(&subscriber, Duration::ZERO));
    publish(&mut publisher, 1).unwrap();
    assert!(readable(&subscriber, SOON));
    assert_eq!(next(&mut subscriber).sequence(), 1);
    // The descriptor is the same for the next producer.
    drop(publisher);
    assert!(readable(&subscriber, SOON));
    assert!(subscriber.try_next().unwrap_err().is_over());
    let before = subscriber.as_fd().try_clone_to_owned().unwrap();
    let mut publisher = stage.words("words", 8);
    subscriber.reopen(SOON).unwrap();
    assert!(!readable(&before, Duration::ZERO));
    publish(&mut publisher, 0).unwrap();
    assert!(readable(&before, SOON));
}
