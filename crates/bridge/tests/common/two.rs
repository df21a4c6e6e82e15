//! Two machines in one: a directory of streams for each, and a port between them.
#![allow(dead_code, reason = "every test program uses what it needs")]

use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tenure_bridge::{Bridge, BridgeBuilder};
use tenure_stream::{Frame, Meta, Origin, Publisher, Spec, Subscriber, SubscriberBuilder, stat_in};
use tenure_tensor::DType;

/// Long enough for a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(90);

/// A port that nobody has, outside of those that connections get by themselves.
fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let next =
            std::process::id().wrapping_mul(31).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = 20_000 + (next % 10_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

pub(crate) struct Two {
    here: tempfile::TempDir,
    there: tempfile::TempDir,
    pub(crate) address: String,
}

impl Two {
    pub(crate) fn new() -> Two {
        let port = free_port();
        let directory = || tempfile::tempdir().unwrap();
        let address = format!("tcp/127.0.0.1:{port}");
        Two { here: directory(), there: directory(), address }
    }

    pub(crate) fn here(&self) -> &Path {
        self.here.path()
    }

    pub(crate) fn there(&self) -> &Path {
        self.there.path()
    }

    /// The bridge of the first machine, which listens.
    pub(crate) fn bridge_here(&self) -> BridgeBuilder {
        Bridge::builder().directory(self.here()).listen(&self.address)
    }

    /// The bridge of the second, which connects.
    pub(crate) fn bridge_there(&self) -> BridgeBuilder {
        Bridge::builder().directory(self.there()).connect(&self.address)
    }

    /// A consumer on the second machine.
    pub(crate) fn consumer(&self, name: &str) -> SubscriberBuilder {
        Subscriber::builder(name).directory(self.there()).wait(SOON).answer_within(SOON)
    }

    /// Where a stream of the second machine says that it comes from.
    pub(crate) fn origin(&self, name: &str) -> Option<Origin> {
        stat_in(self.there(), name).ok()?.origin
    }
}

/// A publisher of so many numbers in a frame.
pub(crate) fn words(directory: &Path, name: &str, words: usize) -> Publisher {
    let spec = Spec::tensor(DType::U64, &[words]).unwrap();
    Publisher::builder(name).directory(directory).spec(spec).open().unwrap()
}

/// Publishes a frame all of whose words are its number.
pub(crate) fn publish(publisher: &mut Publisher) -> u64 {
    let sequence = publisher.stats().published;
    let slot = publisher.claim().unwrap();
    slot.typed::<u64>().unwrap().map().unwrap().as_mut_slice().fill(sequence);
    let receipt = slot.publish(Meta::new().blob(&sequence.to_le_bytes())).unwrap();
    assert_eq!(receipt.sequence, sequence);
    sequence
}

/// Checks that a frame is whole, and has the number that it had on the other machine.
pub(crate) fn whole(frame: &Frame) {
    let sequence = frame.sequence();
    assert_eq!(frame.blob(), sequence.to_le_bytes());
    let words = frame.typed::<u64>().unwrap();
    let words = words.map_read().unwrap();
    let torn = words.as_slice().iter().position(|word| *word != sequence);
    assert_eq!(torn, None, "frame {sequence} is torn");
}

/// Publishes until the consumer gets a frame that was published from now on.
pub(crate) fn one_through(publisher: &mut Publisher, subscriber: &mut Subscriber) -> Frame {
    let (from, began) = (publisher.stats().published, Instant::now());
    loop {
        publish(publisher);
        assert!(began.elapsed() < SOON, "no frame came through");
        while let Some(frame) = subscriber.next(Duration::from_millis(20)).unwrap() {
            whole(&frame);
            if frame.sequence() >= from {
                return frame;
            }
        }
    }
}

/// Joins the stream that is repeated, while its producer goes on: the stream is there from its
/// first frame on.
pub(crate) fn join(two: &Two, name: &str, publisher: &mut Publisher) -> Subscriber {
    let began = Instant::now();
    loop {
        publish(publisher);
        match two.consumer(name).wait(Duration::from_millis(20)).open() {
            Ok(subscriber) => return subscriber,
            Err(error) => assert!(error.is_over() && began.elapsed() < SOON, "{error}"),
        }
    }
}

/// Waits until something is so.
pub(crate) fn until(what: &str, mut so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < SOON, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}
