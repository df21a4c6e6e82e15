//! Frames as futures.
#![cfg(all(target_os = "linux", not(miri)))]

use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use async_io::Timer;
use tenure_memory::Fence;
use tenure_stream::{AsyncSubscriber, Error, Frame, Meta};

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
    let subscriber = stage.subscriber("words").credits(16).open().unwrap();
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

/// The frame that comes within a time that is none for the machine and long for a loop: or `None`,
/// and how often the future was polled in it.
async fn within(frames: &mut AsyncSubscriber, time: Duration) -> (Option<Frame>, u32) {
    let (mut frame, mut timer) = (pin!(frames.next()), pin!(Timer::after(time)));
    let mut polls = 0;
    std::future::poll_fn(|context| {
        polls += 1;
        if let Poll::Ready(frame) = frame.as_mut().poll(context) {
            return Poll::Ready((Some(frame.unwrap()), polls));
        }
        timer.as_mut().poll(context).map(|_| (None, polls))
    })
    .await
}

/// A producer that went and came back is nothing to notice but the frames' incarnation.
#[test]
fn one_that_follows_awaits_the_next_producer() {
    let stage = Stage::new();
    let mut first = stage.words("words", 64);
    let subscriber = stage.subscriber("words").follow(true).credits(8).open().unwrap();
    let mut frames = AsyncSubscriber::new(subscriber).unwrap();
    publish(&mut first, 0).unwrap();
    let kept = async_io::block_on(frames.next()).unwrap();
    drop(first);
    // While there is none, others of the executor have their turns, and it has few.
    let (none, polls) = async_io::block_on(within(&mut frames, Duration::from_millis(300)));
    assert!(none.is_none());
    assert!((2..=40).contains(&polls), "polled {polls} times in 300 ms");

    for life in 1..3 {
        let directory = stage.path().to_owned();
        let next = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(60));
            let mut publisher = Stage::publisher_in(&directory, "words", 64);
            while publisher.stats().consumers.is_empty() {
                std::thread::sleep(Duration::from_millis(2));
            }
            // Later than it was joined: what wakes is the descriptor, which is the old one.
            std::thread::sleep(Duration::from_millis(60));
            for sequence in 0..4 {
                publish(&mut publisher, sequence).unwrap();
                std::thread::sleep(Duration::from_millis(30));
            }
        });
        let mut seen = vec![];
        let (_, polls) = async_io::block_on(async {
            while seen.last() != Some(&3) {
                let frame = frames.next().await.unwrap();
                whole(&frame);
                assert_ne!(frame.incarnation(), kept.incarnation());
                seen.push(frame.sequence());
            }
            within(&mut frames, Duration::from_millis(100)).await
        });
        assert!(polls <= 20, "life {life}: polled {polls} times in 100 ms");
        next.join().unwrap();
    }
    // It stays valid, whatever became of its producer.
    whole(&kept);
}

#[test]
fn one_that_follows_is_dropped_while_there_is_no_producer() {
    let stage = Stage::new();
    let publisher = stage.words("words", 64);
    let subscriber = stage.subscriber("words").follow(true).credits(1).open().unwrap();
    let mut frames = AsyncSubscriber::new(subscriber).unwrap();
    drop(publisher);
    async_io::block_on(async {
        // A future that is given up in the middle leaves the subscriber as it was.
        for _ in 0..3 {
            assert!(within(&mut frames, Duration::from_millis(30)).await.0.is_none());
        }
    });
    drop(frames);
    // Nobody is at the door of the next one.
    let mut publisher = stage.words("words", 64);
    publish(&mut publisher, 0).unwrap();
    assert!(publisher.stats().consumers.is_empty());
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
