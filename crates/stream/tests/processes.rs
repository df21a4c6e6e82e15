//! Streams between processes that die, stop, hang and come back.
#![cfg(all(target_os = "linux", not(miri)))]

use std::time::{Duration, Instant};

use rustix::process::Signal;
use tenure_stream::{Error, SlotState, Subscriber, list_in};

#[path = "common/actor.rs"]
mod actor;
#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "../../memory/tests/common/resources.rs"]
mod resources;
#[path = "common/stage.rs"]
mod stage;

use actor::Actor;
use stage::{
    SOON, Stage, consume_all, next, publish, role, subscriber_in, until, until_there, whole,
};

/// Numbers of a frame: 64 KiB.
const WORDS: usize = 8192;

/// Cycles of the tests that kill again and again: a few, or as many as fit into the minutes that
/// `scripts/soak` asks for.
fn cycles(short: usize) -> impl Iterator<Item = usize> {
    let minutes = std::env::var("TENURE_SOAK_MINUTES").ok();
    let length = minutes.map(|text| Duration::from_secs(60 * text.parse::<u64>().unwrap()));
    let began = Instant::now();
    (0..).take_while(move |cycle| match length {
        Some(length) => began.elapsed() < length,
        None => *cycle < short,
    })
}

/// Says how many cycles it were, for `scripts/soak`.
fn tell(cycles: usize, what: &str) {
    eprintln!("{cycles} cycles: {what}");
}

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
        // The same, and finds every new producer until it is told to stop.
        "follower" => {
            let mut subscriber =
                subscriber_in(&directory, "s").wait(SOON).follow(true).open().unwrap();
            let (mut lives, mut frames) = (std::collections::HashSet::new(), 0u64);
            let mut held: Option<tenure_stream::Frame> = None;
            while !directory.join("stop").exists() {
                let Some(frame) = subscriber.next(Duration::from_millis(20)).unwrap() else {
                    continue;
                };
                whole(&frame);
                lives.insert(frame.incarnation());
                frames += 1;
                // Held over the next frame, and sometimes over the producer's death.
                held.iter().for_each(whole);
                held = Some(frame);
            }
            std::fs::write(directory.join("seen"), format!("{} {frames}", lives.len())).unwrap();
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
fn consumers_that_are_killed_leave_nothing() {
    if plays() {
        return;
    }
    const TEST: &str = "consumers_that_are_killed_leave_nothing";
    child_alone(TEST, || {
        let stage = Stage::new();
        let mut publisher = stage.words("s", WORDS);
        let mut sequence = 0;
        let mut go = |publisher: &mut tenure_stream::Publisher, frames: usize| {
            for _ in 0..frames {
                publish(publisher, sequence).unwrap();
                sequence += 1;
            }
        };
        // The memory that the producer itself needs.
        drop([publisher.claim().unwrap(), publisher.claim().unwrap()]);
        go(&mut publisher, 2);
        let before = (resources::descriptors().len(), resources::mappings().len());
        let bytes = publisher.stats().bytes();
        let mut done = 0;
        for cycle in cycles(12) {
            let actors: Vec<Actor> =
                (0..2).map(|_| Actor::start(TEST, "reader", stage.path())).collect();
            // Killed at some point of joining, reading and letting go.
            let began = Instant::now();
            let life = Duration::from_millis(5 + 37 * (cycle as u64 % 10));
            while began.elapsed() < life || (cycle % 3 == 0 && publisher.consumers() < 2) {
                go(&mut publisher, 1);
                std::thread::sleep(Duration::from_micros(200));
            }
            actors.into_iter().for_each(Actor::kill);
            until("they are gone", || publisher.stats().consumers.is_empty());
            go(&mut publisher, 3);
            // Somebody may have died at the door, or while memory was made for him.
            until("everything is back", || {
                (resources::descriptors().len(), resources::mappings().len()) == before
                    && publisher.stats().bytes() == bytes
            });
            let report = publisher.stats();
            assert!(!report.slots.iter().any(|it| matches!(it.state, SlotState::Published { .. })));
            done += 1;
        }
        tell(done, "two consumers killed in each, everything back after each");
    });
}

/// Runs a test alone in a process of its own, from where it starts others.
fn child_alone(test: &str, body: impl FnOnce()) {
    if std::env::var_os("TENURE_TEST_ALONE").is_some() {
        return body();
    }
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1", "--include-ignored"]);
    let output = command.env("TENURE_TEST_ALONE", "1").output().unwrap();
    child::succeeded(&output);
    eprint!("{}", child::words(&output).1);
}

#[test]
fn a_producer_that_is_killed_is_followed_by_the_next() {
    if plays() {
        return;
    }
    const TEST: &str = "a_producer_that_is_killed_is_followed_by_the_next";
    let stage = Stage::new();
    let follower = Actor::start(TEST, "follower", stage.path());
    let mut own = None;
    let mut held = vec![];
    let mut rounds = 0;
    for cycle in cycles(10) {
        rounds += 1;
        let producer = Actor::start(TEST, "producer", stage.path());
        let subscriber: &mut Subscriber =
            own.insert(stage.subscriber("s").wait(SOON).open().unwrap());
        for _ in 0..3 + cycle % 4 {
            drop(next(subscriber));
        }
        // Held over the producer's death.
        held.push(next(subscriber));
        producer.kill();
        loop {
            match subscriber.next(SOON) {
                Ok(frame) => whole(&frame.unwrap()),
                Err(Error::Ended { dead, .. }) => break assert!(dead),
                Err(error) => panic!("{error}"),
            }
        }
        held.iter().for_each(whole);
        // Its socket is left, and nobody listens there.
        let left = list_in(stage.path()).unwrap();
        assert_eq!((left.len(), left[0].alive), (1, false));
        if held.len() > 8 {
            held.clear();
        }
    }
    std::fs::write(stage.path().join("stop"), "").unwrap();
    follower.ends_well();
    let seen = std::fs::read_to_string(stage.path().join("seen")).unwrap();
    let (lives, frames) = seen.split_once(' ').unwrap();
    assert!(lives.parse::<usize>().unwrap() * 2 >= rounds, "{seen} of {rounds}");
    assert!(frames.parse::<usize>().unwrap() > rounds);
    tell(rounds, "the producer killed in each, followed by the next");
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
