//! Streams that begin, end, put somebody out and tell about themselves.
#![cfg(all(target_os = "linux", not(miri)))]

use std::time::{Duration, Instant};

use tenure_stream::{Error, Publisher, directory, list_in, stat_in};

#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "common/raw.rs"]
mod raw;
#[path = "common/stage.rs"]
mod stage;

use stage::{SOON, Stage, next, publish, published, until, whole, words_spec};

#[test]
fn frames_outlive_their_stream() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", 4096);
    let mut subscriber = stage.subscriber("words").open().unwrap();
    publish(&mut publisher, 0).unwrap();
    publish(&mut publisher, 1).unwrap();
    let held = next(&mut subscriber);
    drop(publisher);
    // What was sent before the end still comes.
    let last = next(&mut subscriber);
    assert!(
        matches!(&subscriber.next(SOON), Err(Error::Ended(it)) if matches!(**it, tenure_stream::detail::Ended { dead: false, .. }))
    );
    assert!(
        matches!(&subscriber.next(SOON), Err(Error::Ended(it)) if matches!(**it, tenure_stream::detail::Ended { dead: false, .. }))
    );
    // The name is free at once; the next life is another one.
    let mut publisher = stage.words("words", 64);
    let before = subscriber.incarnation();
    subscriber.reopen(SOON).unwrap();
    assert_ne!(subscriber.incarnation(), before);
    publish(&mut publisher, 0).unwrap();
    let new = next(&mut subscriber);
    drop(subscriber);
    whole(&held);
    whole(&last);
    whole(&new);
    // The subscriber is gone, its frame holds the slot.
    assert_eq!(published(&publisher), 1);
    assert_eq!(publish(&mut publisher, 1).unwrap().consumers, 0);
    drop(new);
    until("the slot comes back", || published(&publisher) == 0);
    // Its connection ends after that, with the frame.
    until("the consumer is gone", || publisher.stats().consumers.is_empty());
}

#[test]
fn whoever_follows_finds_the_next_producer() {
    let stage = Stage::new();
    let refused = stage.subscriber("words").open().unwrap_err();
    assert!(matches!(refused, Error::NoStream { .. }), "{refused}");
    let mut publisher = stage.words("words", 64);
    let mut subscriber = stage.subscriber("words").wait(SOON).follow(true).open().unwrap();
    publish(&mut publisher, 0).unwrap();
    drop(next(&mut subscriber));
    drop(publisher);
    assert!(subscriber.next(Duration::from_millis(50)).unwrap().is_none());
    let mut publisher = stage.words("words", 64);
    let waiting = std::thread::spawn(move || {
        let frame = next(&mut subscriber);
        frame.sequence()
    });
    until("it is back", || publisher.consumers() == 1);
    publish(&mut publisher, 0).unwrap();
    assert_eq!(waiting.join().unwrap(), 0);
}

#[test]
fn whoever_is_put_out_keeps_what_he_reads() {
    let stage = Stage::new();
    let mut publisher = stage
        .publisher("words")
        .spec(words_spec(4096))
        .evict_after(Duration::from_millis(100))
        .open()
        .unwrap();
    let mut hung = stage.subscriber("words").credits(2).open().unwrap();
    let mut other = stage.subscriber("words").credits(2).open().unwrap();
    publish(&mut publisher, 0).unwrap();
    publish(&mut publisher, 1).unwrap();
    let held = [next(&mut hung), next(&mut hung)];
    let kept = next(&mut other);
    drop(next(&mut other));
    let mut sequence = 2;
    until("it is put out", || {
        publish(&mut publisher, sequence).unwrap();
        let _ = other.latest().unwrap();
        sequence += 1;
        publisher.consumers() == 1
    });
    // A hundred frames more than there are slots: none of them touches what was held.
    for _ in 0..100 {
        publish(&mut publisher, sequence).unwrap();
        drop(next(&mut other));
        sequence += 1;
    }
    held.iter().for_each(whole);
    whole(&kept);
    assert!(
        matches!(&hung.next(SOON), Err(Error::Evicted(it)) if matches!(**it, tenure_stream::detail::Evicted { credits: 2, .. }))
    );
    drop(kept);
    for _ in 0..20 {
        publish(&mut publisher, sequence).unwrap();
        drop(next(&mut other));
        sequence += 1;
    }
    held.iter().for_each(whole);
    // It may come back: to new memory, of a new generation.
    hung.reopen(SOON).unwrap();
    assert!(publisher.stats().slots.iter().any(|slot| slot.generation == 2));
    publish(&mut publisher, sequence).unwrap();
    drop(next(&mut hung));
}

#[test]
fn a_name_has_one_producer() {
    let stage = Stage::new();
    let publisher = stage.words("cam0/frame", 8);
    let refused = stage.publisher("cam0/frame").open().unwrap_err();
    assert!(matches!(refused, Error::Taken { .. }), "{refused}");
    let other = stage.words("cam0/input", 8);
    let names = |alive| -> Vec<String> {
        let all = list_in(stage.path()).unwrap().into_iter();
        all.filter(|stream| stream.alive == alive).map(|stream| stream.name).collect()
    };
    assert_eq!(names(true), ["cam0/frame", "cam0/input"]);
    drop(publisher);
    assert_eq!(names(true), ["cam0/input"]);
    assert!(matches!(stat_in(stage.path(), "cam0/frame"), Err(Error::NoStream { .. })));
    drop(other);
    assert_eq!((names(true).len(), names(false).len()), (0, 0));
    assert!(list_in(stage.path().join("none")).unwrap().is_empty());
    assert!(directory().is_absolute());
}

#[test]
fn reports_come_from_other_connections() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", 512);
    let mut subscriber = stage.subscriber("words").open().unwrap();
    for sequence in 0..10 {
        publish(&mut publisher, sequence).unwrap();
        drop(next(&mut subscriber));
        std::thread::sleep(Duration::from_millis(2));
    }
    publish(&mut publisher, 10).unwrap();
    let report = stage.stat("words");
    assert_eq!(report, StreamReportLike(&publisher).with(&report));
    assert_eq!((report.name.as_str(), report.pid), ("words", std::process::id()));
    assert_eq!((report.published, report.memory.as_str()), (11, "shm"));
    assert!(report.rate > 10.0 && report.rate < 1000.0, "{}", report.rate);
    assert_eq!(report.consumers[0].held, 1);
    assert_eq!(report.consumers[0].pid, std::process::id());
    let frame = report.frame.unwrap();
    assert_eq!((frame.dtype.as_str(), frame.shape.as_slice()), ("u64", &[512][..]));
}

/// The publisher's own report, with the moments of another.
struct StreamReportLike<'a>(&'a Publisher);

impl StreamReportLike<'_> {
    fn with(&self, other: &tenure_stream::StreamReport) -> tenure_stream::StreamReport {
        let mut own = self.0.stats();
        (own.seconds, own.rate) = (other.seconds, other.rate);
        for (own, other) in own.consumers.iter_mut().zip(&other.consumers) {
            own.idle_seconds = other.idle_seconds;
        }
        own
    }
}

#[test]
fn a_publisher_without_a_thread_is_served_by_hand() {
    let stage = Stage::new();
    let builder = stage.publisher("words").spec(words_spec(8)).without_thread();
    let mut publisher = builder.open().unwrap();
    let joining = stage.subscriber("words");
    let joining = std::thread::spawn(move || joining.open().unwrap());
    until("it knocks", || {
        publisher.serve().unwrap();
        publisher.consumers() == 1
    });
    let mut subscriber = joining.join().unwrap();
    publish(&mut publisher, 0).unwrap();
    drop(next(&mut subscriber));
    drop(subscriber);
    until("it leaves", || {
        publisher.serve().unwrap();
        publisher.consumers() == 0
    });
}

#[test]
fn the_rate_of_a_stream_that_pauses_falls_to_nothing() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", 8);
    let mut next = 0;
    for _ in 0..2 {
        until("it runs", || {
            publish(&mut publisher, next).unwrap();
            next += 1;
            stage.stat("words").rate > 0.0
        });
        until("it has paused", || stage.stat("words").rate == 0.0);
    }
}

/// A producer that is there and answers nobody: played by a socket that nobody accepts at.
#[test]
fn whoever_follows_does_not_wait_for_an_answer() {
    let stage = Stage::new();
    let publisher = stage.words("s", 8);
    let patient = Duration::from_secs(3600);
    let mut subscriber = stage.subscriber("s").answer_within(patient).follow(true).open().unwrap();
    drop(publisher);
    let silent = raw::listener(stage.path(), "s");
    let began = Instant::now();
    for _ in 0..3 {
        assert!(subscriber.try_next().unwrap().is_none());
        assert!(subscriber.latest().unwrap().is_none());
        assert!(subscriber.next(Duration::from_millis(5)).unwrap().is_none());
    }
    assert!(began.elapsed() < SOON);
    // It stands at the door once, and goes on from there when somebody answers.
    drop(silent);
    std::fs::remove_file(stage.path().join("s.sock")).unwrap();
    let mut publisher = stage.words("s", 8);
    until("it is let in", || {
        assert!(subscriber.try_next().unwrap().is_none());
        publisher.consumers() == 1
    });
    publish(&mut publisher, 0).unwrap();
    assert_eq!(next(&mut subscriber).sequence(), 0);
}

#[test]
fn whoever_wants_no_more_and_keeps_a_frame_is_put_out_too() {
    let stage = Stage::new();
    let patience = Duration::from_millis(50);
    let builder = stage.publisher("s").spec(words_spec(64)).evict_after(patience);
    let mut publisher = builder.open().unwrap();
    let mut subscriber = stage.subscriber("s").open().unwrap();
    publish(&mut publisher, 0).unwrap();
    let kept = next(&mut subscriber);
    drop(subscriber);
    until("it is put out", || publisher.stats().consumers.is_empty());
    assert_eq!(published(&publisher), 0);
    for sequence in 1..20 {
        publish(&mut publisher, sequence).unwrap();
    }
    whole(&kept);
}

/// Without patience consumers are put out when a frame finds them full, and not before: nobody who
/// is just coming is, and nobody looks for them without a pause.
#[test]
fn no_patience_is_no_hurry() {
    child::alone("no_patience_is_no_hurry", || {
        let stage = Stage::new();
        let builder = stage.publisher("s").spec(words_spec(64)).evict_after(Duration::ZERO);
        let mut publisher = builder.open().unwrap();
        for sequence in 0..20 {
            let mut subscriber = stage.subscriber("s").credits(2).open().unwrap();
            publish(&mut publisher, sequence).unwrap();
            assert_eq!(next(&mut subscriber).sequence(), sequence);
        }
        let before = processor_time();
        std::thread::sleep(Duration::from_millis(500));
        let spent = processor_time() - before;
        assert!(spent < Duration::from_millis(100), "{spent:?}");
    });
}

/// What all threads of this process have used.
fn processor_time() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec.unsigned_abs(), spent.tv_nsec as u32)
}
