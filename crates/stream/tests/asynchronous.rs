//! Frames as futures.
#![cfg(all(target_os = "linux", not(miri)))]

use std::time::Duration;

use tenure_memory::Fence;
use tenure_stream::{AsyncSubscriber, Error, Meta};

#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "../../memory/tests/common/fork.rs"]
mod fork;
#[path = "common/stage.rs"]
mod stage;

use stage::{Stage, publish, whole};

#[test]
fn frames_are_awaited() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", 64);
    let subscriber = stage.subscriber("words").follow(true).credits(16).open().unwrap();
    let mut frames = AsyncSubscriber::new(subscriber).unwrap();
    let publishing = std::thread::spawn(move || {
        for sequence in 0..16 {
            std::thread::sleep(Duration::from_millis(5));
            publish(&mut publisher, sequence).unwrap();
        }
    });
    async_io::block_on(async {
        for sequence in 0..16 {
            let frame = frames.next().await.unwrap();
            whole(&frame);
            assert_eq!(frame.sequence(), sequence);
        }
        publishing.join().unwrap();
        assert!(matches!(frames.next().await, Err(Error::Ended { .. })));
    });
    assert_eq!(frames.get().name(), "words");
}

/// A device writes the frame, and is done when it is awaited already.
#[test]
fn frames_are_awaited_until_their_devices_are_done() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", 64);
    let subscriber = stage.subscriber("words").credits(1).open().unwrap();
    let mut frames = AsyncSubscriber::new(subscriber).unwrap();
    for sequence in 0..3 {
        let (signal, fence) = Fence::pair().unwrap();
        publisher.claim().unwrap().publish(Meta::new().fence(&fence)).unwrap();
        let device = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(30));
            signal.done();
        });
        let frame = async_io::block_on(frames.next()).unwrap();
        assert_eq!(frame.sequence(), sequence);
        device.join().unwrap();
    }
}

/// What a forked child drops goes on in its parent.
#[test]
fn a_child_that_drops_its_copy_ends_nothing() {
    child::alone("a_child_that_drops_its_copy_ends_nothing", || {
        let stage = Stage::new();
        let mut publisher = stage.words("words", 64);
        let subscriber = stage.subscriber("words").credits(1).open().unwrap();
        let mut frames = Some(AsyncSubscriber::new(subscriber).unwrap());
        // Registers the wish to be woken.
        publish(&mut publisher, 0).unwrap();
        drop(async_io::block_on(frames.as_mut().unwrap().next()).unwrap());
        let status = fork::fork(|| {
            drop(frames.take());
            0
        });
        assert!(status.success(), "{status}");
        let publishing = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            publish(&mut publisher, 1).unwrap();
            publisher
        });
        let (told, frame) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let frame = async_io::block_on(frames.as_mut().unwrap().next());
            told.send(frame.unwrap().sequence())
        });
        assert_eq!(frame.recv_timeout(Duration::from_secs(20)), Ok(1));
        drop(publishing.join().unwrap());
    });
}
