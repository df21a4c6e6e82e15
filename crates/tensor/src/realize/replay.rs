//! Runs a schedule on its tensors without computing anything: every write leaves a pattern, every
//! read must find it.
//!
//! What a wrong plan, a wrong lifetime or a wrong offset would do to a model shows here as a byte
//! that somebody else has written, or as a buffer that is busy.

use std::ops::Range;

use tenure_memory::{Buffer, Error, ReadGuard, WriteGuard};
use tenure_plan::Schedule;

use super::{RealizeError, ReplayError, base_of, detail, lent, who};

/// Runs every step in order. Steps of one level hold everything they read and write at the same
/// time, as if they ran at once; what a step writes may lie where it has read, and nowhere else.
///
/// # Errors
/// The first thing that goes wrong.
pub fn replay<B: AsRef<Buffer>>(schedule: &Schedule, tensors: &[B]) -> Result<(), ReplayError> {
    let buffers = &lent(tensors)[..];
    schedule.validate().map_err(RealizeError::from)?;
    let expected = schedule.buffers.len();
    if buffers.len() != expected {
        let given = buffers.len();
        let count = detail::Count { what: "the list", given, expected };
        return Err(RealizeError::from(count).into());
    }
    let mut state = Replay::new(schedule, buffers)?;
    let mut from = 0;
    while from < schedule.steps.len() {
        let level = schedule.steps[from].level;
        let alike = |step: &&tenure_plan::Step| level.is_some() && step.level == level;
        let together = 1 + schedule.steps[from + 1..].iter().take_while(alike).count();
        state.run(from..from + together)?;
        from += together;
    }
    Ok(())
}

/// Who wrote what: for each buffer that is no view, ranges and their writers.
struct Replay<'a> {
    schedule: &'a Schedule,
    buffers: &'a [&'a Buffer],
    /// For each buffer the one whose bytes it has, and from which byte on.
    base: Vec<(usize, usize)>,
    written: Vec<Vec<(Range<usize>, usize)>>,
}

/// What wrote the contents that are there before the first step.
const BEFORE: usize = usize::MAX;

impl<'a> Replay<'a> {
    fn new(schedule: &'a Schedule, buffers: &'a [&'a Buffer]) -> Result<Replay<'a>, ReplayError> {
        let base = (0..buffers.len()).map(|index| base_of(schedule, index)).collect();
        let written = vec![vec![]; buffers.len()];
        let mut state = Replay { schedule, buffers, base, written };
        for (index, spec) in schedule.buffers.iter().enumerate() {
            let before = spec.input || spec.allocated || spec.partial;
            if before && !spec.disk && spec.view_of.is_none() {
                let mut guard = state.write("before the first", index)?;
                fill(guard.as_bytes_mut(), BEFORE, index, 0);
                state.written[index].push((0..buffers[index].len(), BEFORE));
            }
        }
        Ok(state)
    }

    /// Runs the steps of one level.
    fn run(&mut self, steps: Range<usize>) -> Result<(), ReplayError> {
        let mut reading: Vec<(usize, usize, ReadGuard)> = vec![];
        for step in steps.clone() {
            for &buffer in &self.schedule.steps[step].reads {
                let guard = self.read(step, buffer)?;
                self.compare(step, buffer, guard.as_bytes())?;
                reading.push((step, buffer, guard));
            }
        }
        let mut writing: Vec<WriteGuard> = vec![];
        for step in steps {
            for &buffer in &self.schedule.steps[step].writes {
                // What a step has read, it may write over.
                reading.retain(|(reader, read, _)| {
                    *reader != step || !self.buffers[*read].aliases(self.buffers[buffer])
                });
                let mut guard = self.write(&self.schedule.steps[step].name, buffer)?;
                let (base, start) = self.base[buffer];
                fill(guard.as_bytes_mut(), step, base, start);
                self.wrote(base, start..start + self.buffers[buffer].len(), step);
                writing.push(guard);
            }
        }
        Ok(())
    }

    fn read(&self, step: usize, buffer: usize) -> Result<ReadGuard, ReplayError> {
        let name = &self.schedule.steps[step].name;
        self.buffers[buffer].read().map_err(|source| self.refused(name, buffer, source))
    }

    fn write(&self, step: &str, buffer: usize) -> Result<WriteGuard, ReplayError> {
        self.buffers[buffer].write().map_err(|source| self.refused(step, buffer, source))
    }

    fn refused(&self, step: &str, buffer: usize, source: Error) -> ReplayError {
        let who = who(self.schedule, self.buffers, buffer);
        detail::Refused { step: step.to_owned(), who, source }.into()
    }

    /// Notes that `step` is the last that wrote `range` of a buffer.
    fn wrote(&mut self, base: usize, range: Range<usize>, step: usize) {
        let before = std::mem::take(&mut self.written[base]);
        let parts = before.into_iter().flat_map(|(old, writer)| {
            let left = old.start..old.end.min(range.start);
            let right = old.start.max(range.end)..old.end;
            [(left, writer), (right, writer)]
        });
        let mut after: Vec<_> = parts.filter(|(part, _)| !part.is_empty()).collect();
        after.push((range, step));
        self.written[base] = after;
    }

    /// Checks that what was written is still there. Bytes that nobody has written may be anything.
    fn compare(&self, step: usize, buffer: usize, bytes: &[u8]) -> Result<(), ReplayError> {
        let (base, start) = self.base[buffer];
        for (range, writer) in &self.written[base] {
            let from = range.start.max(start);
            let to = range.end.min(start + bytes.len());
            for at in from..to {
                let (found, expected) = (bytes[at - start], pattern(*writer, base, at));
                if found != expected {
                    return Err(ReplayError::from(detail::Overwritten {
                        step: self.schedule.steps[step].name.clone(),
                        who: who(self.schedule, self.buffers, buffer),
                        byte: at - start,
                        found,
                        expected,
                    }));
                }
            }
        }
        Ok(())
    }
}

fn fill(bytes: &mut [u8], writer: usize, base: usize, start: usize) {
    for (n, byte) in bytes.iter_mut().enumerate() {
        *byte = pattern(writer, base, start + n);
    }
}

/// A byte that tells writers, buffers and positions apart.
fn pattern(writer: usize, base: usize, at: usize) -> u8 {
    let mixed = (writer as u64 ^ (base as u64) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let seed = mixed >> 32;
    (seed.wrapping_add(at as u64).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 56) as u8
}
