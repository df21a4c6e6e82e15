//! Frames as futures.
#![cfg(all(target_os = "linux", not(miri)))]

use std::time::Duration;

use tenure_memory::Fence;
use tenure_stream::{AsyncSubscriber, Error, Meta};

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
