//! One stream of another machine, repeated here.
//!
//! What the network brings is checked and laid into a box that holds one frame; a newer frame takes
//! its place. A thread of its own takes it from there and publishes it. The local stream is there from
//! its first frame on until the producer on the other side ends it, or another takes its place.

use std::borrow::Cow;
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tenure_stream::{Meta, Origin, Publisher};
use zenoh::bytes::ZBytes;
use zenoh::sample::Sample;

use crate::body::{Carried, unpack};
use crate::bridge::{Shown, locked};
use crate::packet::{Fault, Head, LONGEST, Packet};
use crate::timing::{Timing, now};
use crate::{ImportReport, ImportState, Result};

/// How long to leave a name alone that could not be had.
const TRY_AGAIN: Duration = Duration::from_secs(1);

impl Carried for ZBytes {
    fn whole(&self) -> Cow<'_, [u8]> {
        self.to_bytes()
    }

    fn reader(&self) -> impl Read + '_ {
        ZBytes::reader(self)
    }
}

/// Where the network lays what it brings.
#[derive(Debug)]
pub(crate) struct Inbox {
    inside: Mutex<Inside>,
    changed: Condvar,
    shown: Shown<ImportReport>,
}

#[derive(Debug, Default)]
struct Inside {
    frame: Option<Arrived>,
    /// The life of the producer that has ended.
    end: Option<End>,
    /// Where frames come from; `None` if the other side cannot be reached.
    source: Option<String>,
    has_stream: bool,
    changed: bool,
    stop: bool,
}

/// What has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// This life of the producer: it said so.
    Of(u64),
    /// Whatever is repeated here: the other side is there, and does not have it any more.
    Gone,
    /// Whatever is repeated here: nobody who has it could be reached for so long.
    GivenUp(Duration),
}

/// A frame that came.
#[derive(Debug)]
struct Arrived {
    head: Box<Head>,
    body: ZBytes,
    at: u64,
    source: Option<String>,
}

impl Inbox {
    pub(crate) fn new(shown: Shown<ImportReport>) -> Inbox {
        Inbox { inside: Mutex::default(), changed: Condvar::new(), shown }
    }

    fn change(&self, change: impl FnOnce(&mut Inside)) {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut inside);
        inside.changed = true;
        self.changed.notify_one();
    }

    /// Takes what the network brings.
    pub(crate) fn lay(&self, sample: &Sample) {
        let body = sample.payload();
        let beside = sample.attachment().ok_or(Fault::Bare);
        let packet = beside.and_then(|beside| {
            if beside.len() > LONGEST {
                let (found, limit) = (beside.len() as u64, LONGEST as u64);
                return Err(Fault::TooLarge { what: "length of the packet", found, limit });
            }
            Packet::decode(&beside.to_bytes(), body.len())
        });
        match packet {
            Ok(Packet::Frame(head)) => self.change(|inside| {
                let (body, at, source) = (body.clone(), now(), inside.source.clone());
                inside.frame = Some(Arrived { head, body, at, source });
            }),
            Ok(Packet::End { incarnation }) => {
                self.change(|inside| inside.end = Some(End::Of(incarnation)));
            }
            Err(fault) => refuse(&self.shown, &crate::Error::from(fault).to_string()),
        }
    }

    /// Says where frames come from, or that they cannot come.
    pub(crate) fn set_source(&self, source: Option<String>) {
        self.change(|inside| inside.source = source);
    }

    /// Says that the other side does not have the stream any more, or could not be reached for so
    /// long.
    pub(crate) fn end(&self, given_up: Option<Duration>) {
        let end = given_up.map_or(End::Gone, End::GivenUp);
        self.change(|inside| inside.end = Some(end));
    }

    /// Whether there is a stream here, live or paused.
    pub(crate) fn has_stream(&self) -> bool {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner).has_stream
    }

    fn set_has_stream(&self, has_stream: bool) {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner).has_stream = has_stream;
    }

    pub(crate) fn stop(&self) {
        self.change(|inside| inside.stop = true);
    }

    /// Waits for a change; `None` if it is over.
    fn take(&self) -> Option<(Option<Arrived>, Option<End>, Option<String>)> {
        let inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        let mut inside = self
            .changed
            .wait_while(inside, |inside| !inside.changed)
            .unwrap_or_else(PoisonError::into_inner);
        inside.changed = false;
        (!inside.stop).then(|| (inside.frame.take(), inside.end.take(), inside.source.clone()))
    }
}

fn refuse(shown: &Shown<ImportReport>, problem: &str) {
    let mut shown = locked(shown);
    shown.refused += 1;
    shown.problem = Some(problem.to_owned());
}

/// Publishes what comes.
pub(crate) struct Import {
    pub(crate) name: String,
    pub(crate) directory: PathBuf,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) shown: Shown<ImportReport>,
}

/// The stream here.
struct Local {
    publisher: Publisher,
    origin: Origin,
    incarnation: u64,
    /// The number that the next frame should have.
    next: u64,
    timing: Timing,
}

impl Import {
    pub(crate) fn report(name: &str, from: &str) -> ImportReport {
        ImportReport {
            name: name.to_owned(),
            from: from.to_owned(),
            state: ImportState::Waiting,
            received: 0,
            bytes: 0,
            lost: 0,
            refused: 0,
            problem: None,
        }
    }

    /// Publishes until the bridge ends.
    pub(crate) fn run(self) {
        let mut local: Option<Local> = None;
        let mut not_before = None;
        while let Some((arrived, end, source)) = self.inbox.take() {
            // What comes now is of another life.
            match end {
                Some(End::Gone) => self.end(&mut local),
                Some(End::GivenUp(after)) if local.is_some() => {
                    self.end(&mut local);
                    let mut shown = locked(&self.shown);
                    let problem = format!("{} could not be reached for {after:?}", shown.from);
                    shown.problem = Some(problem);
                }
                _ => {}
            }
            if let Some(arrived) = arrived
                && not_before.is_none_or(|at| Instant::now() >= at)
            {
                match self.publish(arrived, &mut local) {
                    Ok(()) => not_before = None,
                    Err(crate::Error::Stream(error)) => {
                        not_before = Instant::now().checked_add(TRY_AGAIN);
                        let mut shown = locked(&self.shown);
                        shown.state = ImportState::Refused;
                        shown.problem = Some(error.to_string());
                    }
                    Err(error) => refuse(&self.shown, &error.to_string()),
                }
            }
            if local.as_ref().is_some_and(|local| end == Some(End::Of(local.incarnation))) {
                self.end(&mut local);
            }
            self.inbox.set_has_stream(local.is_some());
            self.note(source.as_deref(), local.as_mut());
        }
    }

    /// Ends the stream here, if there is one.
    fn end(&self, local: &mut Option<Local>) {
        if local.take().is_some() {
            locked(&self.shown).state = ImportState::Ended;
        }
    }

    /// Says where frames come from, and whether they can.
    fn note(&self, source: Option<&str>, local: Option<&mut Local>) {
        let paused = source.is_none();
        let mut shown = locked(&self.shown);
        if let Some(source) = source {
            source.clone_into(&mut shown.from);
        }
        shown.state = match (shown.state, &local) {
            (state @ (ImportState::Refused | ImportState::Ended), _) => state,
            (_, _) if paused => ImportState::Paused,
            (_, Some(_)) => ImportState::Live,
            (_, None) => ImportState::Waiting,
        };
        drop(shown);
        if let Some(local) = local {
            let from = source.unwrap_or(&local.origin.from).to_owned();
            let origin = Origin { from, paused };
            if origin != local.origin {
                local.origin = origin.clone();
                local.publisher.set_origin(Some(origin));
            }
        }
    }

    fn publish(&self, arrived: Arrived, local: &mut Option<Local>) -> Result<()> {
        let Arrived { head, body, at, source } = arrived;
        let spec = head.spec()?;
        if local.as_ref().is_some_and(|local| local.incarnation != head.incarnation) {
            *local = None;
        }
        let stream = match local {
            Some(known) => known,
            none => none.insert(self.open(&head, source)?),
        };
        // It overtook another, or comes twice: consumers have seen newer ones.
        let Some(lost) = head.sequence.checked_sub(stream.next) else { return Ok(()) };
        let slot = stream.publisher.claim_as(&spec)?;
        unpack(&head, &body, slot.tensor())?;
        let time = head.captured.map(|taken| stream.timing.ours(taken, head.sent, at));
        let meta = Meta::new().blob(&head.blob);
        stream.publisher.skip(lost);
        slot.publish(time.map_or(meta, |time| meta.timestamp(time)))?;
        stream.next = head.sequence.saturating_add(1);
        let mut shown = locked(&self.shown);
        shown.received += 1;
        shown.bytes += body.len() as u64;
        shown.lost = shown.lost.saturating_add(lost);
        shown.state = ImportState::Live;
        Ok(())
    }

    /// The stream here, from this frame on.
    fn open(&self, head: &Head, source: Option<String>) -> Result<Local> {
        let from = source.unwrap_or_else(|| locked(&self.shown).from.clone());
        let origin = Origin { from, paused: false };
        let publisher = Publisher::builder(&self.name)
            .directory(&self.directory)
            .spec(head.spec()?)
            .first_sequence(head.sequence)
            .origin(origin.clone())
            .open()?;
        let (incarnation, next) = (head.incarnation, head.sequence);
        Ok(Local { publisher, origin, incarnation, next, timing: Timing::default() })
    }
}
