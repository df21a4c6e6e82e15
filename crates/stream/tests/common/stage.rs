//! A directory for streams, frames that show whether they are whole, and processes that play a
//! part.
#![allow(dead_code, reason = "every test program uses what it needs")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tenure_stream::{
    Error, Frame, Meta, Publisher, PublisherBuilder, Receipt, Result, SlotReport, SlotState, Spec,
    StreamReport, Subscriber, SubscriberBuilder, stat_in,
};
use tenure_tensor::DType;

/// Long enough for a busy machine, and for one whose processes are stopped for a minute.
pub(crate) const SOON: Duration = Duration::from_secs(100);

/// A directory of its own for the streams of a test.
pub(crate) struct Stage(tempfile::TempDir);

impl Stage {
    pub(crate) fn new() -> Stage {
        Stage(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn publisher(&self, name: &str) -> PublisherBuilder {
        Publisher::builder(name).directory(self.path())
    }

    /// A publisher of so many numbers in a frame.
    pub(crate) fn words(&self, name: &str, words: usize) -> Publisher {
        self.publisher(name).spec(words_spec(words)).open().unwrap()
    }

    /// The same in the directory of another process.
    pub(crate) fn publisher_in(directory: &Path, name: &str, words: usize) -> Publisher {
        Publisher::builder(name).directory(directory).spec(words_spec(words)).open().unwrap()
    }

    pub(crate) fn subscriber(&self, name: &str) -> SubscriberBuilder {
        subscriber_in(self.path(), name)
    }

    pub(crate) fn stat(&self, name: &str) -> StreamReport {
        stat_in(self.path(), name).unwrap()
    }
}

pub(crate) fn subscriber_in(directory: &Path, name: &str) -> SubscriberBuilder {
    Subscriber::builder(name).directory(directory).answer_within(SOON)
}

pub(crate) fn words_spec(words: usize) -> Spec {
    Spec::tensor(DType::U64, &[words]).unwrap()
}

/// Slots that consumers have.
pub(crate) fn published(publisher: &Publisher) -> usize {
    let busy = |slot: &&SlotReport| matches!(slot.state, SlotState::Published { .. });
    publisher.stats().slots.iter().filter(busy).count()
}

/// Publishes a frame all of whose words are the number that its sequence will be.
pub(crate) fn publish(publisher: &mut Publisher, sequence: u64) -> Result<Receipt> {
    let slot = publisher.claim()?;
    slot.typed::<u64>()?.map()?.as_mut_slice().fill(sequence);
    let receipt = slot.publish(Meta::new().blob(&sequence.to_le_bytes()))?;
    assert_eq!(receipt.sequence, sequence);
    Ok(receipt)
}

/// Checks that a frame is whole.
pub(crate) fn whole(frame: &Frame) {
    let sequence = frame.sequence();
    assert_eq!(frame.blob(), sequence.to_le_bytes());
    let words = frame.typed::<u64>().unwrap();
    let words = words.map_read().unwrap();
    let torn = words.as_slice().iter().position(|word| *word != sequence);
    assert_eq!(torn, None, "frame {sequence} is torn");
}

/// The next frame, which must come.
pub(crate) fn next(subscriber: &mut Subscriber) -> Frame {
    let frame = subscriber.next(SOON).unwrap().expect("a frame within the time");
    whole(&frame);
    frame
}

/// The next frame, whatever it is.
pub(crate) fn next_any(subscriber: &mut Subscriber) -> Frame {
    subscriber.next(SOON).unwrap().expect("a frame within the time")
}

/// Waits until something is so.
pub(crate) fn until(what: &str, mut so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < SOON, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until a file exists.
pub(crate) fn until_there(path: &Path) {
    until(&format!("{}", path.display()), || path.exists());
}

/// Splits the part that a child plays: what, and where.
pub(crate) fn role(part: &str) -> (String, PathBuf) {
    let (role, directory) = part.split_once(' ').unwrap();
    (role.to_owned(), directory.into())
}

/// Consumes until the stream is over, checking every frame; gives how many there were.
pub(crate) fn consume_all(subscriber: &mut Subscriber) -> u64 {
    let mut count = 0;
    loop {
        match subscriber.next(SOON) {
            Ok(Some(frame)) => {
                whole(&frame);
                count += 1;
            }
            Ok(None) => panic!("no frame for {SOON:?} after {count}"),
            Err(Error::Ended { .. }) => return count,
            Err(error) => panic!("{error}"),
        }
    }
}
