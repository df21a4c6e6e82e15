//! Subscribers that hold all they may: whoever would wait for ever is told, and losses are counted
//! while nothing comes.
#![cfg(all(target_os = "linux", not(miri)))]

use std::thread;
use std::time::Duration;

use tenure_stream::{Error, Frame, Subscriber};

#[path = "common/stage.rs"]
mod stage;

use stage::{SOON, Stage, next, publish, until};

fn is_full(error: &Error) -> bool {
    matches!(&error, Error::AllHeld(it) if matches!(**it, tenure_stream::detail::AllHeld { credits: 3, .. }))
}

#[test]
fn a_wait_that_cannot_end_is_an_error() {
    let stage = Stage::new();
    let mut publisher = stage.words("s", 8);
    let mut subscriber = stage.subscriber("s").open().unwrap();
    let mut held: Vec<Frame> = vec![];
    for sequence in 0..3 {
        publish(&mut publisher, sequence).unwrap();
        held.push(next(&mut subscriber));
    }
    assert_eq!((subscriber.held(), subscriber.dropped()), (3, 0));
    let refused = subscriber.next(Duration::MAX).unwrap_err();
    assert!(is_full(&refused), "{refused}");
    let words = refused.to_string();
    for part in ["all 3 frames", "drop one", "credits()", "wait_when_full()"] {
        assert!(words.contains(part), "{words}");
    }
    assert!(is_full(&subscriber.frames().next().unwrap().unwrap_err()));
    // With a limit too, and at once.
    let began = std::time::Instant::now();
    assert!(is_full(&subscriber.next(Duration::from_secs(60)).unwrap_err()));
    assert!(is_full(&subscriber.wait(Duration::from_secs(60)).unwrap_err()));
    assert!(is_full(&subscriber.latest().unwrap_err()));
    assert!(began.elapsed() < Duration::from_secs(30));
    // Whoever only looks has not been promised anything.
    assert!(subscriber.try_next().unwrap().is_none());
    assert!(subscriber.is_full());
    // A view counts as long as it lives.
    let view = held.pop().unwrap().into_tensor();
    assert!(is_full(&subscriber.next(Duration::MAX).unwrap_err()));
    drop(view);
    publish(&mut publisher, 3).unwrap();
    assert_eq!(subscriber.next(Duration::MAX).unwrap().unwrap().sequence(), 3);
}

#[test]
fn the_end_of_the_stream_is_told_first() {
    let stage = Stage::new();
    let mut publisher = stage.words("s", 8);
    let mut subscriber = stage.subscriber("s").open().unwrap();
    for sequence in 0..3 {
        publish(&mut publisher, sequence).unwrap();
    }
    drop(publisher);
    let all: Vec<Frame> = subscriber.frames().map(Result::unwrap).collect();
    assert_eq!(all.len(), 3);
    assert!(
        matches!(&subscriber.next(Duration::MAX), Err(Error::Ended(it)) if matches!(**it, tenure_stream::detail::Ended { dead: false, .. }))
    );
}

#[test]
fn another_thread_may_drop_frames() {
    let stage = Stage::new();
    let mut publisher = stage.words("s", 8);
    let builder = stage.subscriber("s");
    let mut patient = builder.clone().wait_when_full(true).open().unwrap();
    let mut limited = builder.wait_when_full(true).open().unwrap();
    for sequence in 0..3 {
        publish(&mut publisher, sequence).unwrap();
    }
    let hold = |subscriber: &mut Subscriber| (0..3).map(|_| next(subscriber)).collect();
    let held: [Vec<Frame>; 2] = [hold(&mut patient), hold(&mut limited)];
    thread::scope(|scope| {
        let patient = scope.spawn(move || patient.next(Duration::MAX).unwrap().unwrap().sequence());
        let limited = scope.spawn(move || limited.next(SOON).unwrap().unwrap().sequence());
        thread::sleep(Duration::from_millis(20));
        drop(held);
        publish(&mut publisher, 3).unwrap();
        assert_eq!((patient.join().unwrap(), limited.join().unwrap()), (3, 3));
    });
}

#[test]
fn losses_are_known_while_nothing_comes() {
    let stage = Stage::new();
    let mut publisher = stage.words("s", 8);
    let mut subscriber = stage.subscriber("s").credits(1).open().unwrap();
    let other = stage.subscriber("s").credits(2).open().unwrap();
    publish(&mut publisher, 0).unwrap();
    let held = next(&mut subscriber);
    for sequence in 1..8 {
        publish(&mut publisher, sequence).unwrap();
        assert_eq!(subscriber.dropped(), sequence);
    }
    // Each has its own count.
    assert_eq!(other.dropped(), 6);
    publisher.skip(10);
    assert_eq!((subscriber.dropped(), other.dropped()), (17, 16));
    drop(held);
    publish(&mut publisher, 18).unwrap();
    let frame = next(&mut subscriber);
    assert_eq!((frame.dropped(), frame.dropped_in_all(), subscriber.dropped()), (17, 17, 17));
    // Counters are used again, from zero, and gone with the last consumer.
    drop(other);
    until("it is gone", || publisher.consumers() == 1);
    let third = stage.subscriber("s").open().unwrap();
    assert_eq!(third.dropped(), 0);
    drop(publisher);
    assert_eq!(subscriber.dropped(), 17);
}

#[test]
#[cfg(feature = "async")]
fn futures_that_cannot_end_are_errors() {
    use tenure_stream::AsyncSubscriber;
    let stage = Stage::new();
    let mut publisher = stage.words("s", 8);
    let mut frames = AsyncSubscriber::new(stage.subscriber("s").open().unwrap()).unwrap();
    let mut held = vec![];
    async_io::block_on(async {
        for sequence in 0..3 {
            publish(&mut publisher, sequence).unwrap();
            held.push(frames.next().await.unwrap());
        }
        assert!(is_full(&frames.next().await.unwrap_err()));
        held.clear();
        publish(&mut publisher, 3).unwrap();
        assert_eq!(frames.next().await.unwrap().sequence(), 3);
    });
    // Other tasks may drop them.
    let patient = stage.subscriber("s").wait_when_full(true).credits(1).open().unwrap();
    let mut frames = AsyncSubscriber::new(patient).unwrap();
    async_io::block_on(async {
        publish(&mut publisher, 4).unwrap();
        let held = frames.next().await.unwrap();
        let publishing = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            drop(held);
            publish(&mut publisher, 5).unwrap();
        });
        assert_eq!(frames.next().await.unwrap().sequence(), 5);
        publishing.join().unwrap();
    });
}
