//! From publishing to the consumer's hands.

use std::path::Path;
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{self, AddressFamily, SendFlags, SocketFlags, SocketType};
use tenure::DType;
use tenure::memory::share;
use tenure::stream::{Meta, Publisher, Slot, Spec};
use tenure_benches::{Bench, Error, Python, Unit};

use crate::part::{Consumer, one_way};

const FRAME: usize = 8 << 20;
/// Bytes of a message about a frame, or nearly.
const DESCRIPTION: usize = 170;
/// The part of a consumer.
const PART: &str = "stream bench";
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
        Streaming::to(bytes, consumers, |directory| Consumer::start(directory, PART))
    }

    /// The same to consumers in Python.
    fn to_python(bytes: usize, python: &Python) -> Result<Streaming, Error> {
        let mut program = python.command()?;
        Streaming::to(bytes, 1, |directory| Consumer::start_as(&mut program, directory, PART))
    }

    fn to(
        bytes: usize,
        consumers: usize,
        mut start: impl FnMut(&Path) -> Result<Consumer, Error>,
    ) -> Result<Streaming, Error> {
        let directory = tempfile::tempdir()?;
        let publisher = Publisher::builder("bench")
            .directory(directory.path())
            .spec(Spec::tensor(DType::U8, &[bytes])?)
            .open()?;
        let mut all = Vec::new();
        for _ in 0..consumers {
            all.push(start(directory.path())?);
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

/// Only one process waking others, by descriptors that they have been given.
struct Bells {
    bells: Vec<Bell>,
    consumers: Vec<Consumer>,
    _directory: tempfile::TempDir,
}

enum Bell {
    /// Which carries nothing.
    Event(OwnedFd),
    /// The kind of socket that streams are made of, with as many bytes as describe a frame.
    Socket(OwnedFd),
}

impl Bells {
    fn new(consumers: usize, make: fn() -> Result<(Bell, OwnedFd), Error>) -> Result<Bells, Error> {
        let directory = tempfile::tempdir()?;
        let (mut bells, mut all) = (vec![], vec![]);
        for _ in 0..consumers {
            let (bell, theirs) = make()?;
            let part = match bell {
                Bell::Event(_) => "eventfd",
                Bell::Socket(_) => "socket",
            };
            let consumer = Consumer::start(directory.path(), part)?;
            share::send(&consumer.told, &[], &[theirs.as_fd()])?;
            bells.push(bell);
            all.push(consumer);
        }
        Ok(Bells { bells, consumers: all, _directory: directory })
    }

    fn measure(&mut self) -> f64 {
        let Bells { bells, consumers, .. } = self;
        let send = || {
            for bell in &*bells {
                match bell {
                    Bell::Event(bell) => rustix::io::write(bell, &1u64.to_ne_bytes())?,
                    Bell::Socket(bell) => net::send(bell, &[0; DESCRIPTION], SendFlags::NOSIGNAL)?,
                };
            }
            Ok(())
        };
        one_way(consumers, MESSAGES, || Ok(()), send).unwrap_or(f64::NAN)
    }
}

fn event() -> Result<(Bell, OwnedFd), Error> {
    // Counted one by one, should the consumer lag behind.
    let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::SEMAPHORE)?;
    let theirs = bell.try_clone()?;
    Ok((Bell::Event(bell), theirs))
}

fn socket() -> Result<(Bell, OwnedFd), Error> {
    let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
    let (bell, theirs) = net::socketpair(AddressFamily::UNIX, kind, flags, None)?;
    Ok((Bell::Socket(bell), theirs))
}

pub(crate) fn rows(bench: &mut Bench) -> Result<(), Error> {
    if let Some(row) = bench.row("one way of 8 MiB beside an eventfd", Unit::Nanoseconds) {
        let (mut ours, mut floor) = (Streaming::new(FRAME, 1)?, Bells::new(1, event)?);
        let mut bare = Bells::new(1, socket)?;
        row.target(1.3)
            .ours(|| ours.measure())
            .rival("eventfd", || floor.measure())
            .rival("bare socket", || bare.measure())
            .measure();
    }
    if let Some(row) = bench.row("one way of 8 MiB beside one of 64 bytes", Unit::Nanoseconds) {
        let (mut large, mut small) = (Streaming::new(FRAME, 1)?, Streaming::new(64, 1)?);
        row.target(1.1).ours(|| large.measure()).rival("64 bytes", || small.measure()).measure();
    }
    let name = "one way to three consumers beside three eventfds";
    if let Some(row) = bench.row(name, Unit::Nanoseconds) {
        let (mut ours, mut floor) = (Streaming::new(FRAME, 3)?, Bells::new(3, event)?);
        // A message costs more than a bell, for each of them.
        row.target(1.5).ours(|| ours.measure()).rival("eventfd", || floor.measure()).measure();
    }
    if let Some(row) = bench.row("one way to three consumers beside one", Unit::Nanoseconds) {
        let (mut three, mut one) = (Streaming::new(FRAME, 3)?, Streaming::new(FRAME, 1)?);
        row.target(1.1).ours(|| three.measure()).rival("one consumer", || one.measure()).measure();
    }
    // What the row above cannot go below: three processes are woken and get nothing. Where that is
    // twice one, it says nothing about streams.
    if let Some(row) = bench.row("three eventfds beside one", Unit::Nanoseconds) {
        let (mut three, mut one) = (Bells::new(3, event)?, Bells::new(1, event)?);
        row.target(2.0).ours(|| three.measure()).rival("one eventfd", || one.measure()).measure();
    }
    let quick = bench.quick();
    if let Some(row) = bench.row("one way to Python beside Rust", Unit::Nanoseconds) {
        let python = Python::new("benches/vs_streams/consumer.py", quick);
        let (mut there, mut here) =
            (Streaming::to_python(FRAME, &python)?, Streaming::new(FRAME, 1)?);
        row.target(1.6).ours(|| there.measure()).rival("Rust", || here.measure()).measure();
    }
    Ok(())
}
