//! Without descriptors or memory a stream says so, and goes on when there are some again.
#![cfg(all(target_os = "linux", not(miri)))]
#![expect(unsafe_code, reason = "a signal to ignore")]

use std::time::{Duration, Instant};

use rustix::process::Resource;
use tenure_stream::wire::Fault;
use tenure_stream::{Error, Subscriber};

#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "../../memory/tests/common/fork.rs"]
mod fork;
#[path = "../../memory/tests/common/limits.rs"]
mod limits;
#[path = "../../memory/tests/common/small_shm.rs"]
mod small_shm;
#[path = "common/stage.rs"]
mod stage;

use stage::{SOON, Stage, next, publish, until, words_spec};

#[test]
fn few_descriptors_are_enough_for_some() {
    child::alone("few_descriptors_are_enough_for_some", || {
        // Whichever call is the first that finds none left.
        for most in 32..40 {
            limits::limited(Resource::Nofile, most, enough_for_some);
        }
    });
}

fn enough_for_some() {
    let stage = Stage::new();
    let mut publisher = stage.words("s", 64);
    let mut sequence = 0;
    let mut all: Vec<Subscriber> = vec![];
    // Both ends are in this process, so that either may be the one without.
    let refused = loop {
        match stage.subscriber("s").credits(2).open() {
            Ok(subscriber) => all.push(subscriber),
            Err(error) => break error,
        }
        assert!(all.len() < 16);
    };
    let words = refused.to_string();
    assert!(words.contains("oo many open files") || words.contains("ulimit"), "{words}");
    // The last ones took what memory that comes along needs too.
    assert!(all.len() > 2, "{}", all.len());
    all.truncate(all.len() - 2);
    until("they are gone", || publisher.stats().consumers.len() == all.len());
    // Those that are in get frames, or hear why not.
    let mut lost = 0;
    for _ in 0..20 {
        publish(&mut publisher, sequence).unwrap();
        for subscriber in &mut all {
            match subscriber.next(SOON) {
                Ok(frame) => stage::whole(&frame.unwrap()),
                Err(error) => {
                    lost += 1;
                    let words = error.to_string();
                    let known = words.contains("ulimit") || words.contains("open files");
                    assert!(known, "{words}");
                }
            }
        }
        sequence += 1;
    }
    assert!(lost < 20 * all.len());
    drop(all);
    // The other side closes what was theirs in its own time.
    let mut subscriber = None;
    until("there is room again", || {
        subscriber = stage.subscriber("s").open().ok();
        subscriber.is_some()
    });
    publish(&mut publisher, sequence).unwrap();
    drop(next(&mut subscriber.unwrap()));
}

#[test]
fn memory_that_could_not_be_taken_is_sent_again() {
    child::alone("memory_that_could_not_be_taken_is_sent_again", || {
        let stage = Stage::new();
        let mut publisher = stage.words("s", 64);
        let mut subscriber = stage.subscriber("s").credits(2).open().unwrap();
        let mut full = limits::Full::but(0);
        for sequence in 0..4 {
            assert_eq!(publish(&mut publisher, sequence).unwrap().consumers, 1);
            let refused = subscriber.next(SOON).unwrap_err();
            let lost = Fault::DescriptorsLost;
            assert!(matches!(&refused, Error::Packet(packet) if packet.fault == lost), "{refused}");
        }
        full.free(3);
        publish(&mut publisher, 4).unwrap();
        assert_eq!(next(&mut subscriber).sequence(), 4);
    });
}

/// The consumer is not to blame: its slot gets other memory, because nobody knows when its device is
/// done with what it has.
#[test]
fn a_fence_that_the_producer_has_no_room_for_puts_nobody_out() {
    child::alone("a_fence_that_the_producer_has_no_room_for_puts_nobody_out", || {
        let stage = Stage::new();
        let mut publisher = stage.words("s", 64);
        let mut subscriber = stage.subscriber("s").credits(2).open().unwrap();
        publish(&mut publisher, 0).unwrap();
        let (_signal, fence) = tenure_memory::Fence::pair().unwrap();
        next(&mut subscriber).release_after(fence);
        let full = limits::Full::but(0);
        let report = publisher.stats();
        drop(full);
        assert_eq!((report.consumers.len(), report.consumers[0].held), (1, 0), "{report:?}");
        assert!(!report.consumers[0].evicted);
        for sequence in 1..10 {
            publish(&mut publisher, sequence).unwrap();
            assert_eq!(next(&mut subscriber).sequence(), sequence);
        }
    });
}

#[test]
fn a_small_dev_shm_is_enough() {
    small_shm::with_small_shm("a_small_dev_shm_is_enough", || {
        let stage = Stage::new();
        // Twice as much in a frame.
        let mut publisher = stage.words("s", 1 << 18);
        let mut subscriber = stage.subscriber("s").credits(1).open().unwrap();
        for sequence in 0..4 {
            publish(&mut publisher, sequence).unwrap();
            drop(next(&mut subscriber));
        }
    });
}

#[test]
fn without_memory_fewer_are_let_in() {
    child::alone("without_memory_fewer_are_let_in", || {
        // SAFETY: a signal of this process to ignore.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        let stage = Stage::new();
        let mut publisher = stage.publisher("s").spec(words_spec(1 << 18)).open().unwrap();
        let mut first = stage.subscriber("s").credits(1).open().unwrap();
        // From now on no memory file can be so large.
        limits::limited(Resource::Fsize, 1 << 20, || {
            let refused = stage.subscriber("s").credits(2).open().unwrap_err();
            assert!(refused.to_string().contains("no memory for one more"), "{refused}");
            for sequence in 0..4 {
                publish(&mut publisher, sequence).unwrap();
                drop(next(&mut first));
            }
        });
        let second = stage.subscriber("s").credits(2).open().unwrap();
        assert_eq!(second.credits(), 2);
        // A slot for each of the first two: fewer credits than were asked for.
        drop((first, second));
        until("they are gone", || publisher.stats().consumers.is_empty());
        settled();
        let full = limits::Full::but(5);
        let fewer = stage.subscriber("s").credits(5).open();
        drop(full);
        let granted = fewer.map(|subscriber| subscriber.credits());
        assert!(granted.as_ref().is_ok_and(|credits| (1..5).contains(credits)), "{granted:?}");
    });
}

/// Waits until nobody closes descriptors any more: the publisher's thread does it in its own time.
fn settled() {
    let count = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let (mut before, mut since) = (count(), Instant::now());
    while since.elapsed() < Duration::from_millis(300) {
        std::thread::sleep(Duration::from_millis(5));
        let now = count();
        if now != before {
            (before, since) = (now, Instant::now());
        }
    }
}
