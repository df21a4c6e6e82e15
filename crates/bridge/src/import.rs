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

use tenure_stream::{Meta, Origin, Publisher, SlotReport, SlotState, Spec};
use zenoh::bytes::ZBytes;
use zenoh::sample::Sample;

use crate::body::{Carried, unpack};
use crate::bridge::{Shown, locked};
use crate::budget::{Budget, Share};
use crate::packet::{Encoding, Fault, Head, LONGEST, Packet};
use crate::timing::{Timing, now};
use crate::{ImportReport, ImportState, Result};

/// How long to leave a name alone that could not be had.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// Credits of a stream, and slots besides them.
const CREDITS: usize = 192;
const OWN_SLOTS: usize = 2;
/// Bytes of a pixel while JPEG is decoded: coefficients of two bytes for up to four components, which
/// are all kept where the file is progressive, and red, green and blue before they become another format.
const JPEG_SCRATCH: u64 = 4 * 2 + 3;
/// Files have whole blocks, which are so many pixels wide and high at most.
const JPEG_BLOCK: u64 = 32;

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
    budget: Arc<Budget>,
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
    /// The memory of the body.
    share: Share,
}

impl Inbox {
    pub(crate) fn new(shown: Shown<ImportReport>, budget: Arc<Budget>) -> Inbox {
        Inbox { inside: Mutex::default(), changed: Condvar::new(), shown, budget }
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
                // What waits goes first: the new one takes its place.
                inside.frame = None;
                match self.budget.take(body.len() as u64) {
                    Ok(share) => {
                        let (body, at, source) = (body.clone(), now(), inside.source.clone());
                        inside.frame = Some(Arrived { head, body, at, source, share });
                    }
                    Err(over) => refuse(&self.shown, &over.to_string()),
                }
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
    /// The memory of the slots.
    pub(crate) share: Share,
    /// Bytes that came for the stream here: it earns memory by them.
    pub(crate) came: u64,
}

/// The stream here.
struct Local {
    publisher: Publisher,
    origin: Origin,
    incarnation: u64,
    /// The number that the next frame should have.
    next: u64,
    timing: Timing,
    /// The largest frame of which all slots fit into the bridge's memory.
    largest: u64,
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
    pub(crate) fn run(mut self) {
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
                    Err(error @ (crate::Error::Stream(_) | crate::Error::OverBudget(_))) => {
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
            if source.is_none()
                && let Some(local) = &mut local
            {
                // Nothing comes for now: consumers keep what they have, and all else is given back.
                local.publisher.release_memory();
            }
            let held = local.as_ref().map_or(0, |local| local.publisher.stats().bytes());
            self.share.count(held as u64, self.came);
            self.inbox.set_has_stream(local.is_some());
            self.note(source.as_deref(), local.as_mut());
        }
    }

    /// Ends the stream here, if there is one.
    fn end(&mut self, local: &mut Option<Local>) {
        if local.take().is_some() {
            // The next one of this name may be somebody else's.
            self.came = 0;
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

    fn publish(&mut self, arrived: Arrived, local: &mut Option<Local>) -> Result<()> {
        let Arrived { head, body, at, source, share: _share } = arrived;
        self.came = self.came.saturating_add(body.len() as u64);
        let spec = head.spec()?;
        let another = |local: &Local| {
            local.incarnation != head.incarnation || spec.bytes() as u64 > local.largest
        };
        if local.as_ref().is_some_and(another) {
            *local = None;
            self.share.count(0, self.came);
        }
        self.reserve(&head, body.len(), &spec, local.as_ref())?;
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

    /// Takes the memory that a frame needs from what the bridge may have, before any is allocated.
    fn reserve(
        &mut self,
        head: &Head,
        body: usize,
        spec: &Spec,
        local: Option<&Local>,
    ) -> Result<()> {
        let needed = spec.bytes() as u64;
        let stats = local.map(|local| local.publisher.stats());
        let held = stats.as_ref().map_or(0, |stats| stats.bytes() as u64);
        let fits = |slot: &SlotReport| {
            slot.state == SlotState::Free && !slot.borrowed && slot.bytes as u64 >= needed
        };
        let grows = !stats.is_some_and(|stats| stats.slots.iter().any(fits));
        let wanted = if grows { held.saturating_add(needed) } else { held };
        if grows {
            let unearned = |most| Fault::Unearned { wanted, came: self.came, most };
            self.share.borrow(wanted, self.came).map_err(unearned)?;
        }
        Ok(self.share.resize(wanted.saturating_add(scratch(head, body)))?)
    }

    /// The stream here, from this frame on.
    fn open(&self, head: &Head, source: Option<String>) -> Result<Local> {
        let from = source.unwrap_or_else(|| locked(&self.shown).from.clone());
        let origin = Origin { from, paused: false };
        let spec = head.spec()?;
        let (bytes, limit) = (spec.bytes().max(1) as u64, self.inbox.budget.limit());
        // As many credits as there is memory for, should consumers want them all.
        let slots = usize::try_from(limit / bytes).unwrap_or(CREDITS);
        let credits = slots.saturating_sub(OWN_SLOTS).clamp(1, CREDITS);
        let largest = limit / (credits + OWN_SLOTS) as u64;
        let publisher = Publisher::builder(&self.name)
            .directory(&self.directory)
            .credits(credits)
            .initial_spec(spec)
            .first_sequence(head.sequence)
            .origin(origin.clone())
            .open()?;
        let (incarnation, next) = (head.incarnation, head.sequence);
        let (timing, largest) = (Timing::default(), largest.max(bytes));
        Ok(Local { publisher, origin, incarnation, next, timing, largest })
    }
}

/// Memory that [`unpack`] takes for a while at most, besides the body and the tensor. The body may be put
/// together from pieces once more.
fn scratch(head: &Head, body: usize) -> u64 {
    let (bytes, body) = (head.bytes as u64, body as u64);
    match head.encoding {
        Encoding::Plain => 0,
        Encoding::Lz4 => bytes.saturating_add(body),
        Encoding::Jpeg => {
            let side = |pixels: usize| (pixels as u64).next_multiple_of(JPEG_BLOCK);
            let pixels = head
                .description
                .image
                .as_ref()
                .map_or(bytes, |image| side(image.width).saturating_mul(side(image.height)));
            pixels.saturating_mul(JPEG_SCRATCH).saturating_add(body)
        }
    }
}
