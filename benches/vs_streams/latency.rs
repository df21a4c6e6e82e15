//! From publishing to the consumer's hands.

use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use tenure::DType;
use tenure::memory::share;
use tenure::stream::{Meta, Publisher, Slot, Spec};
use tenure_benches::{Bench, Error, Unit};

use crate::part::{Consumer, one_way};

const FRAME: usize = 8 << 20;
/// Messages of one measurement.
const MESSAGES: usize = 40;

/// A stream with consumers in other processes.
pub(crate) struct Streaming {
    publisher: Publisher,
    consumers: Vec<Consumer>,
    slot: Option<Slot>,
    _directory: tempfile::TempDir,
}

impl Streaming {
    pub(crate) fn new(bytes: usize, consumers: usize) -> Result<Streaming, Error> {
        let directory = tempfile::tempdir()?;
        let publisher = Publisher::builder("bench")
            .directory(directory.path())
            .spec(Spec::tensor(DType::U8, &[bytes])?)
            .open()?;
        let mut all = Vec::new();
        for _ in 0..consumers {
            all.push(Consumer::start(directory.path(), "stream bench")?);
        }
        while publisher.consumers() < consumers {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(Streaming { publisher, consumers: all, slot: None, _directory: directory })
    }

    /// The median of a number of frames, in nanoseconds.
    pub(crate) fn measure(&mut self) -> f64 {
        let Streaming { publisher, consumers, slot, .. } = self;
        let slot = std::cell::RefCell::new(slot);
        let publisher = std::cell::RefCell::new(publisher);
        let prepare = || {
            let mut publisher = publisher.borrow_mut();
            // On a busy machine a consumer may lag behind, and would lose frames.
            while publisher.stats().consumers.iter().any(|consumer| consumer.held > 0) {
                std::thread::sleep(Duration::from_micros(100));
            }
            let claimed = publisher.claim()?;
            **slot.borrow_mut() = Some(claimed);
            Ok(())
        };
        let send = || {
            let claimed = slot.borrow_mut().take().ok_or("nothing was claimed")?;
            claimed.publish(Meta::new())?;
            Ok(())
        };
        one_way(consumers, MESSAGES, prepare, send).unwrap_or(f64::NAN)
    }
}

/// Nothing is carried: only one process waking another.
pub(crate) struct Bell {
    bell: rustix::fd::OwnedFd,
    consumer: Vec<Consumer>,
    _directory: tempfile::TempDir,
}

impl Bell {
    pub(crate) fn new() -> Result<Bell, Error> {
        let directory = tempfile::tempdir()?;
        // Counted one by one, should the consumer lag behind.
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::SEMAPHORE)?;
        let consumer = Consumer::start(directory.path(), "eventfd")?;
        share::send(&consumer.told, &[], &[rustix::fd::AsFd::as_fd(&bell)])?;
        Ok(Bell { bell, consumer: vec![consumer], _directory: directory })
    }

    pub(crate) fn measure(&mut self) -> f64 {
        let Bell { bell, consumer, .. } = self;
        let send = || {
            rustix::io::write(&*bell, &1u64.to_ne_bytes())?;
            Ok(())
        };
        one_way(consumer, MESSAGES, || Ok(()), send).unwrap_or(f64::NAN)
    }
}

pub(crate) fn rows(bench: &mut Bench) -> Result<(), Error> {
    if let Some(row) = bench.row("one way of 8 MiB beside an eventfd", Unit::Nanoseconds) {
        let (mut ours, mut floor) = (Streaming::new(FRAME, 1)?, Bell::new()?);
        row.target(1.3).ours(|| ours.measure()).rival("eventfd", || floor.measure()).measure();
    }
    if let Some(row) = bench.row("one way of 8 MiB beside one of 64 bytes", Unit::Nanoseconds) {
        let (mut large, mut small) = (Streaming::new(FRAME, 1)?, Streaming::new(64, 1)?);
        row.target(1.1).ours(|| large.measure()).rival("64 bytes", || small.measure()).measure();
    }
    if let Some(row) = bench.row("one way to three consumers beside one", Unit::Nanoseconds) {
        let (mut three, mut one) = (Streaming::new(FRAME, 3)?, Streaming::new(FRAME, 1)?);
        row.target(1.1).ours(|| three.measure()).rival("one consumer", || one.measure()).measure();
    }
    Ok(())
}
