//! Streams between processes that stop, hang and come back; those that die are in `killed`.
#![cfg(all(target_os = "linux", not(miri)))]

use std::time::{Duration, Instant};

use rustix::process::Signal;
use tenure_stream::{Error, Subscriber, list_in};

#[path = "common/actor.rs"]
mod actor;
#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "common/stage.rs"]
mod stage;

use actor::Actor;
use stage::{
    SOON, Stage, consume_all, next, publish, role, subscriber_in, until, until_there, whole,
};

/// Numbers of a frame: 64 KiB.
const WORDS: usize = 8192;

/// What the other processes do; `false` in the test itself.
fn plays() -> bool {
    let Some(part) = child::part() else { return false };
    let (role, directory) = role(&part);
    match role.as_str() {
        // Reads and checks until the stream ends.
        "reader" => {
            let mut subscriber = subscriber_in(&directory, "s").wait(SOON).open().unwrap();
            std::fs::write(directory.join("reading"), "").unwrap();
            assert!(consume_all(&mut subscriber) > 0);
        }
        // Takes all that it may hold, and then nothing any more.
        "hoarder" => {
            let mut subscriber =
                subscriber_in(&directory, "s").credits(3).wait(SOON).open().unwrap();
            let held: Vec<_> = (0..3).map(|_| next(&mut subscriber)).collect();
            std::fs::write(directory.join("hoarding"), "").unwrap();
            until("it may end", || {
                held.iter().for_each(whole);
                directory.join("stop").exists()
            });
        }
        // Subscribes and never reads.
        "sleeper" => {
            let _subscriber = subscriber_in(&directory, "s").wait(SOON).open().unwrap();
            std::fs::write(directory.join("asleep"), "").unwrap();
            std::thread::sleep(Duration::from_secs(600));
        }
        "producer" => {
            let mut publisher = Stage::publisher_in(&directory, "s", WORDS);
            let mut sequence = 0;
            while !directory.join("end").exists() {
                publish(&mut publisher, sequence).unwrap();
                sequence += 1;
                std::thread::sleep(Duration::from_micros(500));
            }
        }
        other => panic!("{other} is no part"),
    }
    true
}

#[test]
fn stopped_hoarding_and_sleeping_consumers_stop_nobody() {
    if plays() {
        return;
    }
    const TEST: &str = "stopped_hoarding_and_sleeping_consumers_stop_nobody";
    let stage = Stage::new();
    let mut publisher = stage.words("s", WORDS);
    let actors = ["reader", "hoarder", "sleeper"];
    let actors = actors.map(|part| Actor::start(TEST, part, stage.path()));
    let mut reader = stage.subscriber("s").open().unwrap();
    let mut sequence = 0;
    let mut lost = 0;
    let mut go = |publisher: &mut tenure_stream::Publisher| {
        publish(publisher, sequence).unwrap();
        let frame = next(&mut reader);
        assert_eq!(frame.sequence(), sequence);
        lost += frame.dropped();
        sequence += 1;
    };
    for file in ["reading", "hoarding", "asleep"] {
        until(file, || {
            go(&mut publisher);
            stage.path().join(file).exists()
        });
    }
    actors[0].send(Signal::STOP);
    let began = Instant::now();
    for _ in 0..2000 {
        go(&mut publisher);
    }
    // Nobody was waited for.
    assert!(began.elapsed() < SOON);
    let report = publisher.stats();
    let stuck = report.consumers.iter().filter(|it| it.held == it.credits);
    assert_eq!(stuck.count(), 3, "{report:?}");
    assert!(report.slots.len() <= 2 + 12);
    actors[0].send(Signal::CONT);
    until("it goes on", || {
        go(&mut publisher);
        publisher.stats().consumers.iter().filter(|it| it.held == it.credits).count() == 2
    });
    std::fs::write(stage.path().join("stop"), "").unwrap();
    let [reading, hoarder, sleeper] = actors;
    hoarder.ends_well();
    sleeper.kill();
    until("two are left", || publisher.stats().consumers.len() == 2);
    assert_eq!(lost, 0);
    drop(publisher);
    reading.ends_well();
}

#[test]
fn a_stopped_producer_keeps_nobody_waiting() {
    if plays() {
        return;
    }
    const TEST: &str = "a_stopped_producer_keeps_nobody_waiting";
    let stage = Stage::new();
    let producer = Actor::start(TEST, "producer", stage.path());
    let mut subscriber = stage.subscriber("s").wait(SOON).open().unwrap();
    drop(next(&mut subscriber));
    producer.send(Signal::STOP);
    until("what was sent is read", || {
        subscriber.next(Duration::from_millis(20)).unwrap().is_none()
    });
    let quick = stage.subscriber("s").answer_within(Duration::from_millis(100));
    assert!(matches!(quick.open(), Err(Error::NoAnswer { .. })));
    assert!(list_in(stage.path()).unwrap()[0].alive);
    producer.send(Signal::CONT);
    drop(next(&mut subscriber));
    std::fs::write(stage.path().join("end"), "").unwrap();
    producer.ends_well();
    consume_all(&mut subscriber);
}

#[test]
fn sixty_four_consumers() {
    if plays() {
        return;
    }
    const TEST: &str = "sixty_four_consumers";
    let stage = Stage::new();
    // Four processes, and sixty connections of this one.
    let actors: Vec<Actor> = (0..4).map(|_| Actor::start(TEST, "reader", stage.path())).collect();
    let builder = stage.publisher("s").spec(stage::words_spec(64)).credits(256);
    let mut publisher = builder.open().unwrap();
    let mut own: Vec<Subscriber> = (0..60).map(|_| stage.subscriber("s").open().unwrap()).collect();
    until("all are there", || publisher.consumers() == 64);
    until_there(&stage.path().join("reading"));
    for sequence in 0..50 {
        let receipt = publish(&mut publisher, sequence).unwrap();
        assert!(receipt.consumers >= 60, "{receipt:?}");
        for subscriber in &mut own {
            assert_eq!(next(subscriber).sequence(), sequence);
        }
    }
    assert_eq!(stage.stat("s").consumers.len(), 64);
    drop(publisher);
    actors.into_iter().for_each(Actor::ends_well);
}
