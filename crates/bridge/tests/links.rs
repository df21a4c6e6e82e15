//! Links that are slow, and links that are cut and come back, without namespaces and root.
#![cfg(target_os = "linux")]

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tenure_bridge::{Bridge, ImportState};
use tenure_stream::Error;

#[path = "common/relay.rs"]
mod relay;
#[path = "common/two.rs"]
mod two;

use relay::Relay;
use two::{SOON, Two, join, one_through, publish, until, whole, words};

/// One at a time: they look at the memory of the whole process, and at who is quick enough.
static ALONE: Mutex<()> = Mutex::new(());

/// Bytes of this process that are neither files nor slots of streams.
fn private_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

#[test]
fn a_slow_link_takes_no_memory() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    const WORDS: usize = 1 << 18;
    const FRAMES: u64 = 500;
    let two = Two::new();
    let relay = Relay::to(&two.address);
    let here = two.bridge_here().export("words").open().unwrap();
    let there = Bridge::builder().directory(two.there()).connect(&relay.address).import("words");
    let there = there.open().unwrap();
    let mut publisher = words(two.here(), "words", WORDS);
    let mut subscriber = join(&two, "words", &mut publisher);
    let mut last = one_through(&mut publisher, &mut subscriber).sequence();

    // A frame takes a fifth of a second, and there are many more than that.
    relay.slow(10 << 20);
    let (began, before) = (Instant::now(), private_bytes());
    let (mut most, mut got) = (before, 0);
    let enough = publisher.stats().published + FRAMES;
    while publisher.stats().published < enough || got < 5 {
        assert!(began.elapsed() < SOON, "{got} frames came: {:?}", there.report());
        publish(&mut publisher);
        if let Some(frame) = subscriber.next(Duration::from_millis(5)).unwrap() {
            whole(&frame);
            assert_eq!(frame.sequence() - last - 1, frame.dropped(), "all that is lost is counted");
            last = frame.sequence();
            got += 1;
        }
        most = most.max(private_bytes());
    }
    let (frame, queued) = (8 * WORDS as u64, FRAMES * 8 * WORDS as u64);
    let grown = most - before;
    println!("{got} frames came; memory grew by {} KiB of {} KiB", grown >> 10, queued >> 10);
    // One that waits, one that is sent, one that arrives and one that is published, and whatever
    // the allocator keeps of them: much less than all of them.
    assert!(grown < 24 * frame, "{} frames are kept somewhere", grown / frame);
    assert!(here.report().exports[0].missed > 0, "{:?}", here.report());
}

#[test]
fn what_ends_while_the_link_is_cut_ends() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let two = Two::new();
    let relay = Relay::to(&two.address);
    let _here = two.bridge_here().export("words").open().unwrap();
    let there = Bridge::builder().directory(two.there()).connect(&relay.address).import("words");
    let there = there.open().unwrap();
    let mut publisher = words(two.here(), "words", 100);
    let mut subscriber = join(&two, "words", &mut publisher);
    let before = one_through(&mut publisher, &mut subscriber);
    let paused = || two.origin("words").is_some_and(|origin| origin.paused);

    relay.cut(true);
    until("the pause", paused);
    relay.cut(false);
    // The same stream goes on.
    let after = one_through(&mut publisher, &mut subscriber);
    assert_eq!(after.incarnation(), before.incarnation());
    until("the end of the pause", || !paused());

    relay.cut(true);
    until("another pause", paused);
    drop(publisher);
    // As long as nobody can know, it only pauses; frames may be left from before.
    while subscriber.next(Duration::from_secs(1)).unwrap().is_some() {}
    relay.cut(false);
    let ended = loop {
        match subscriber.next(SOON) {
            Ok(frame) => assert!(frame.is_some(), "it did not end: {:?}", there.report()),
            Err(error) => break error,
        }
    };
    assert!(
        matches!(&ended, Error::Ended(it) if matches!(**it, tenure_stream::detail::Ended { dead: false, .. })),
        "{ended}"
    );
    until("the report", || there.report().imports[0].state == ImportState::Ended);

    // Whoever publishes it again begins anew.
    let mut publisher = words(two.here(), "words", 100);
    let mut subscriber = join(&two, "words", &mut publisher);
    one_through(&mut publisher, &mut subscriber);
}
