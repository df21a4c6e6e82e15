//! The threads that fill pieces, and the one that waits for them.

use std::io::ErrorKind;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use super::plan::{BLOCK, How, Piece, Plan};
use super::warm::Warm;
use super::{Callback, Direct, Progress, direct};
use crate::order::reverse;
use crate::shard::Shard;
use crate::source::{self, OpenFile, Source};
use crate::{Entry, Error, Result, npz};

/// Threads that keep a disk busy, however few processors there are: most of the time they wait.
const FEWEST: usize = 4;
/// Pages of a piece that are looked for in the cache.
const LOOKS: usize = 16;
/// More than these wait for each other.
const MOST: usize = 16;

/// What is read, from where, and how.
pub(super) struct Work<'a> {
    pub(super) shards: &'a [Shard],
    pub(super) entries: &'a [&'a Entry],
    pub(super) direct: Direct,
    pub(super) threads: Option<usize>,
    /// How bytes get out of the cache.
    pub(super) warm: Warm,
}

/// Bytes that were read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Read {
    pub(super) bytes: u64,
    /// Those that went past the cache.
    pub(super) direct: u64,
}

/// A piece with its part of the destination.
type Job<'a, 'b> = (&'a Piece, &'b mut [u8]);

impl Work<'_> {
    /// Fills the destination as planned: all of it, or it is an error.
    pub(super) fn run(
        &self,
        plan: &Plan,
        destination: &mut [u8],
        mut progress: Option<Callback<'_>>,
    ) -> Result<Read> {
        let reopened: Vec<_> = self.shards.iter().map(|shard| self.reopen(shard)).collect();
        let jobs = divide(plan, destination);
        let all = plan.pieces.iter().map(|piece| piece.need.len() as u64).sum();
        let threads = self.thread_count().min(jobs.len());
        let (jobs, stop) = (Mutex::new(jobs.into_iter()), AtomicBool::new(false));
        let next = || {
            let open = !stop.load(Ordering::Relaxed);
            open.then(|| jobs.lock().unwrap_or_else(PoisonError::into_inner).next()).flatten()
        };
        let (tell, told) = mpsc::channel();
        let mut read = Read::default();
        let mut hear = |outcome: Result<Read>| {
            let more = outcome?;
            read.bytes += more.bytes;
            read.direct += more.direct;
            let now = Progress { done: read.bytes, all };
            match progress.as_mut().map_or(ControlFlow::Continue(()), |call| call(now)) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(Error::Stopped { done: now.done, all }),
            }
        };
        let outcome = if threads <= 1 {
            std::iter::from_fn(next).try_for_each(|job| hear(self.fill(job, &reopened)))
        } else {
            thread::scope(|scope| {
                for _ in 0..threads {
                    let (tell, next, reopened) = (tell.clone(), &next, &reopened);
                    scope.spawn(move || {
                        tenure_memory::prepare_thread();
                        while let Some(job) = next() {
                            // Nobody listens after the first failure.
                            if tell.send(self.fill(job, reopened)).is_err() {
                                break;
                            }
                        }
                    });
                }
                drop(tell);
                let outcome = told.iter().try_for_each(&mut hear);
                stop.store(true, Ordering::Relaxed);
                outcome
            })
        };
        outcome.map(|()| read)
    }

    fn thread_count(&self) -> usize {
        let usual = || thread::available_parallelism().map_or(1, NonZero::get).clamp(FEWEST, MOST);
        self.threads.unwrap_or_else(usual)
    }

    fn reopen(&self, shard: &Shard) -> Option<OpenFile> {
        let wanted = self.direct != Direct::Never;
        let file = wanted.then(|| direct::reopen(&shard.source.file)).flatten()?;
        Some(OpenFile { file, size: shard.source.size })
    }

    /// Fills one piece.
    fn fill(&self, (piece, into): Job<'_, '_>, reopened: &[Option<OpenFile>]) -> Result<Read> {
        let Some(shard) = self.shards.get(piece.shard) else { return Ok(Read::default()) };
        let source = &shard.source;
        let filled = match piece.how {
            How::Inflated(index) => match self.entries.get(index) {
                Some(entry) => npz::inflate_into(source, entry, into).map(|()| 0),
                None => Ok(0),
            },
            How::Shifted => source::read_exact(source, piece.at, into).map(|()| 0),
            How::Reversed(size) => source::read_exact(source, piece.at, into).map(|()| {
                reverse(into, size);
                0
            }),
            How::Blocks => self.fill_blocks(shard, piece, into, reopened),
        };
        let direct = filled.map_err(|error| error.at(&shard.path))? as u64;
        Ok(Read { bytes: piece.need.len() as u64, direct })
    }
}

impl Work<'_> {
    /// Fills a piece that lies in the destination as in the file; says how many of its bytes went
    /// past the cache.
    fn fill_blocks(
        &self,
        shard: &Shard,
        piece: &Piece,
        into: &mut [u8],
        reopened: &[Option<OpenFile>],
    ) -> Result<usize> {
        let (source, need) = (&shard.source, piece.need.clone());
        let at = |byte: usize| piece.at.saturating_add(byte as u64);
        let place = if self.direct == Direct::Always { Where::Disk } else { find(shard, piece) };
        let mut done = 0;
        if place == Where::Cache {
            let into = into.get_mut(need.clone()).unwrap_or_default();
            self.warm.fill(source, at(need.start), into)?;
            return Ok(0);
        } else if place == Where::Disk
            && let Some(direct) = reopened.get(piece.shard).and_then(Option::as_ref)
        {
            done = read_blocks(direct, piece, into)?;
        }
        // Whatever is missing; usually nothing, or all of it.
        let from = need.start.max(done).min(need.end);
        let rest = into.get_mut(from..need.end).unwrap_or_default();
        source::read_exact(source, at(from), rest)?;
        Ok(done.min(need.end).saturating_sub(need.start))
    }
}

/// Where the bytes of a piece are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    /// All of them in the system's cache.
    Cache,
    /// Most of them on the disk only.
    Disk,
    /// Here and there, or it cannot be found out.
    Unknown,
}

/// Each piece with its part of the destination.
fn divide<'a, 'b>(plan: &'a Plan, destination: &'b mut [u8]) -> Vec<Job<'a, 'b>> {
    let (mut rest, mut at, mut jobs) = (destination, 0, Vec::with_capacity(plan.pieces.len()));
    for piece in &plan.pieces {
        let before = piece.window.start.saturating_sub(at);
        let Some((_, after)) = rest.split_at_mut_checked(before) else { break };
        let Some((window, after)) = after.split_at_mut_checked(piece.window.len()) else { break };
        jobs.push((piece, window));
        (rest, at) = (after, piece.window.end);
    }
    jobs
}

/// Looks at some pages: asking for every one takes a quarter of the time of copying it.
fn find(shard: &Shard, piece: &Piece) -> Where {
    let first = usize::try_from(piece.at).unwrap_or(usize::MAX).saturating_add(piece.need.start);
    let step = (piece.need.len() / LOOKS).max(1);
    let (mut looked, mut resident) = (0, 0);
    for byte in (first..first.saturating_add(piece.need.len())).step_by(step) {
        let Some(found) = shard.buffer.resident(byte..byte.saturating_add(1)) else {
            return Where::Unknown;
        };
        (looked, resident) = (looked + 1, resident + found);
    }
    match resident {
        all if all == looked => Where::Cache,
        few if few < looked / 2 => Where::Disk,
        _ => Where::Unknown,
    }
}

/// Reads whole blocks past the cache; says how many bytes there are now at the beginning of `into`.
/// A system that cannot do it here has read none.
fn read_blocks(direct: &OpenFile, piece: &Piece, into: &mut [u8]) -> Result<usize> {
    let mut done = 0;
    while done < piece.need.end {
        let at = piece.at.saturating_add(done as u64);
        match direct.read_some(at, into.get_mut(done..).unwrap_or_default()) {
            // The end: whether it is too early is seen through the cache.
            Ok(0) => break,
            Ok(more) => done += more,
            Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
            // Not for this memory, or not for this file system.
            Err(cause) if is_refusal(&cause) => break,
            Err(cause) => return Err(Error::Read { at, cause }),
        }
        if !done.is_multiple_of(BLOCK) {
            break;
        }
    }
    Ok(done)
}

#[cfg(unix)]
fn is_refusal(cause: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let refusals = [Errno::INVAL, Errno::FAULT, Errno::OPNOTSUPP].map(Errno::raw_os_error);
    cause.raw_os_error().is_some_and(|number| refusals.contains(&number))
}

#[cfg(not(unix))]
fn is_refusal(_cause: &std::io::Error) -> bool {
    true
}
