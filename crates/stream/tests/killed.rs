//! Producers and consumers that are killed again and again: nothing is torn, lost or left behind, of
//! descriptors, mappings, slots and shared memory. `scripts/soak` does it for an hour, or a thousand
//! times.
#![cfg(all(target_os = "linux", not(miri)))]

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use tenure_stream::{Error, Frame, Publisher, SlotState, Subscriber, list_in};

#[path = "common/actor.rs"]
mod actor;
#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "../../memory/tests/common/resources.rs"]
mod resources;
#[path = "common/stage.rs"]
mod stage;

use actor::Actor;
use stage::{SOON, Stage, consume_all, next, publish, role, subscriber_in, until, whole};

/// Numbers of a frame: 64 KiB.
const WORDS: usize = 8192;

/// Cycles: a few, or as many as `scripts/soak` asks for, or as fit into the minutes that it gives.
fn cycles(short: usize) -> impl Iterator<Item = usize> {
    let asked = |name| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let length = asked("TENURE_SOAK_MINUTES").map(|minutes| Duration::from_secs(60 * minutes));
    let most = asked("TENURE_SOAK_CYCLES").map_or(short, |cycles| cycles as usize);
    let began = Instant::now();
    (0..).take_while(move |cycle| match length {
        Some(length) => began.elapsed() < length,
        None => *cycle < most,
    })
}

/// What a process has of the kernel's: descriptors and mappings.
fn held() -> (usize, usize) {
    (resources::descriptors().len(), resources::mappings().len())
}

/// The stream of a directory: its name is found in that of its memory, in every process.
fn name(directory: &Path) -> String {
    let last = directory.file_name().unwrap().to_str().unwrap();
    format!("s-{}", last.replace(|letter: char| !letter.is_ascii_alphanumeric(), ""))
}

/// How often memory of the stream is open or mapped in any process of this machine that we may look
/// at: shared memory that nobody has is none.
fn shared_memory(name: &str) -> usize {
    let mut found = 0;
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let process = process.path();
        if let Ok(maps) = fs::read_to_string(process.join("maps")) {
            found += maps.lines().filter(|line| line.contains(name)).count();
        }
        let Ok(descriptors) = fs::read_dir(process.join("fd")) else { continue };
        let named = |target: &Path| target.to_string_lossy().contains(&format!("memfd:{name}"));
        let targets = descriptors.flatten().filter_map(|fd| fs::read_link(fd.path()).ok());
        found += targets.filter(|target| named(target)).count();
    }
    found
}

/// Says what happened, for `scripts/soak`.
fn tell(cycles: usize, began: Instant, what: &str, before: (usize, usize), name: &str) {
    let (descriptors, mappings) = held();
    eprintln!(
        "{cycles} cycles in {:.0} s: {what}; descriptors {} before and {descriptors} after, \
         mappings {} and {mappings}, shared memory of the stream in {} places",
        began.elapsed().as_secs_f64(),
        before.0,
        before.1,
        shared_memory(name),
    );
}

/// What the other processes do; `false` in the test itself.
fn plays() -> bool {
    let Some(part) = child::part() else { return false };
    let (role, directory) = role(&part);
    let name = name(&directory);
    match role.as_str() {
        // Reads and checks until the stream ends.
        "reader" => {
            let mut subscriber = subscriber_in(&directory, &name).wait(SOON).open().unwrap();
            assert!(consume_all(&mut subscriber) > 0);
        }
        // The same, and finds every new producer until it is told to stop. Nothing of any of them
        // is left with it.
        "follower" => {
            let before = held();
            let seen = follow(&directory, &name);
            until("everything is back", || held() == before);
            fs::write(directory.join("seen"), seen).unwrap();
        }
        "producer" => {
            let mut publisher = Stage::publisher_in(&directory, &name, WORDS);
            let mut sequence = 0;
            loop {
                publish(&mut publisher, sequence).unwrap();
                sequence += 1;
                std::thread::sleep(Duration::from_micros(500));
            }
        }
        other => panic!("{other} is no part"),
    }
    true
}

fn follow(directory: &Path, name: &str) -> String {
    let mut subscriber = subscriber_in(directory, name).wait(SOON).follow(true).open().unwrap();
    let (mut lives, mut frames) = (HashSet::new(), 0u64);
    let mut held: Option<Frame> = None;
    while !directory.join("stop").exists() {
        let Some(frame) = subscriber.next(Duration::from_millis(20)).unwrap() else { continue };
        whole(&frame);
        lives.insert(frame.incarnation());
        frames += 1;
        // Held over the next frame, and sometimes over the producer's death.
        held.iter().for_each(whole);
        held = Some(frame);
    }
    format!("{} {frames}", lives.len())
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
fn consumers_that_are_killed_leave_nothing() {
    if plays() {
        return;
    }
    const TEST: &str = "consumers_that_are_killed_leave_nothing";
    child_alone(TEST, || {
        let stage = Stage::new();
        let name = name(stage.path());
        let mut publisher = stage.words(&name, WORDS);
        let mut sequence = 0;
        let mut go = |publisher: &mut Publisher, frames: usize| {
            for _ in 0..frames {
                publish(publisher, sequence).unwrap();
                sequence += 1;
            }
        };
        // The memory that the producer itself needs.
        drop([publisher.claim().unwrap(), publisher.claim().unwrap()]);
        go(&mut publisher, 2);
        let (before, began) = (held(), Instant::now());
        let (bytes, shared) = (publisher.stats().bytes(), shared_memory(&name));
        assert!(shared >= 2, "{shared}");
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
            until("everything is back", || held() == before && publisher.stats().bytes() == bytes);
            let report = publisher.stats();
            assert!(!report.slots.iter().any(|it| matches!(it.state, SlotState::Published { .. })));
            assert_eq!(shared_memory(&name), shared);
            done += 1;
        }
        let what = "two consumers killed in each, everything back after each";
        tell(done, began, what, before, &name);
        drop(publisher);
        assert_eq!(shared_memory(&name), 0);
    });
}

#[test]
fn a_producer_that_is_killed_is_followed_by_the_next() {
    if plays() {
        return;
    }
    const TEST: &str = "a_producer_that_is_killed_is_followed_by_the_next";
    child_alone(TEST, || {
        let stage = Stage::new();
        let name = name(stage.path());
        let follower = Actor::start(TEST, "follower", stage.path());
        let (before, began) = (held(), Instant::now());
        let mut kept = vec![];
        let mut rounds = 0;
        for cycle in cycles(10) {
            rounds += 1;
            let producer = Actor::start(TEST, "producer", stage.path());
            let mut own = stage.subscriber(&name).wait(SOON).open().unwrap();
            kept.push(outlive(&mut own, producer, 3 + cycle % 4));
            kept.iter().for_each(whole);
            // Its socket is left, and nobody listens there.
            let left = list_in(stage.path()).unwrap();
            assert_eq!((left.len(), left[0].alive), (1, false));
            if kept.len() > 8 {
                kept.clear();
                drop(own);
                assert_eq!(held(), before, "after {rounds} producers");
            }
        }
        kept.clear();
        assert_eq!(held(), before);
        fs::write(stage.path().join("stop"), "").unwrap();
        follower.ends_well();
        assert_eq!(shared_memory(&name), 0);
        let seen = fs::read_to_string(stage.path().join("seen")).unwrap();
        let (lives, frames) = seen.split_once(' ').unwrap();
        assert!(lives.parse::<usize>().unwrap() * 2 >= rounds, "{seen} of {rounds}");
        assert!(frames.parse::<usize>().unwrap() > rounds);
        let what = "the producer killed in each, followed by the next";
        tell(rounds, began, what, before, &name);
    });
}

/// Reads some frames, and gives one that is held over the producer's death.
fn outlive(subscriber: &mut Subscriber, producer: Actor, frames: usize) -> Frame {
    for _ in 0..frames {
        drop(next(subscriber));
    }
    let kept = next(subscriber);
    producer.kill();
    loop {
        match subscriber.next(SOON) {
            Ok(frame) => whole(&frame.unwrap()),
            Err(Error::Ended(end)) => break assert!(end.dead),
            Err(error) => panic!("{error}"),
        }
    }
    kept
}
