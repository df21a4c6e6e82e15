//! Loading into memory that the CPU does not reach: by way of main memory, part by part.
//!
//! While one part goes to the device the next one is read.

use std::ops::{ControlFlow, Range};
use std::panic::resume_unwind;
use std::thread::{self, ScopedJoinHandle};

use tenure_layout::{DType, Layout};
use tenure_memory::allocate;
use tenure_tensor::{Buffer, Request, TensorDyn, TensorMemory};

use super::plan::{BLOCK, Piece, Plan};
use super::work::{Read, Work};
use super::{Callback, PIECE, Progress};
use crate::{Error, Result};

/// Bytes of a part: enough that several threads have something to read, little beside a model.
const PART: usize = 8 * PIECE;

/// What is carried at one time.
struct Part {
    /// Counted from the beginning of the block that the part begins in.
    plan: Plan,
    /// Where it goes.
    destination: Range<usize>,
}

/// Divides a plan into parts of at most so many bytes, or of one piece.
fn parts(plan: &Plan, most: usize) -> Vec<Part> {
    let mut parts: Vec<Part> = vec![];
    for piece in &plan.pieces {
        let (start, end) = (piece.window.start, piece.window.end);
        let last = parts.pop_if(|last| end - last.first() <= most);
        let mut part =
            last.unwrap_or_else(|| Part { plan: Plan::default(), destination: start..start });
        let window = start - part.first()..end - part.first();
        part.destination.end = end;
        part.plan.bytes = window.end;
        part.plan.pieces.push(Piece { window, ..piece.clone() });
        parts.push(part);
    }
    parts
}

impl Part {
    /// Where the memory on the way begins in the destination: at a block, as files are read.
    fn first(&self) -> usize {
        self.destination.start - self.destination.start % BLOCK
    }

    fn carry(&self, way: &Buffer, to: &Buffer) -> Result<()> {
        let bytes = self.destination.len();
        let layout = || Layout::contiguous(DType::U8, &[bytes]);
        let start = self.destination.start - self.first();
        let from = way.slice(start..start + bytes)?;
        let from = TensorDyn::from_buffer(from, layout()?)?;
        let to = TensorDyn::from_buffer(to.slice(self.destination.clone())?, layout()?)?;
        Ok(to.copy_from(&from)?)
    }
}

/// Fills `to` as planned: all of it, or it is an error.
pub(super) fn run(
    work: &Work<'_>,
    plan: &Plan,
    to: &Buffer,
    progress: Option<Callback<'_>>,
) -> Result<Read> {
    run_in_parts(work, parts(plan, PART), to, progress)
}

fn run_in_parts(
    work: &Work<'_>,
    parts: Vec<Part>,
    to: &Buffer,
    mut progress: Option<Callback<'_>>,
) -> Result<Read> {
    let largest = parts.iter().map(|part| part.plan.bytes).max().unwrap_or(0);
    let all = parts.iter().flat_map(|part| &part.plan.pieces);
    let all = all.map(|piece| piece.need.len() as u64).sum();
    let way = || -> Result<Buffer> {
        let request = Request::new(largest)?.with_align(BLOCK)?;
        Ok(Buffer::from_raw(allocate(Some(TensorMemory::Mem), &request)?))
    };
    let ways = (0..parts.len().min(2)).map(|_| way()).collect::<Result<Vec<_>>>()?;
    let mut read = Read::default();
    thread::scope(|scope| {
        let mut before: Option<ScopedJoinHandle<'_, Result<()>>> = None;
        for (part, way) in parts.iter().zip(ways.iter().cycle()) {
            let done = read.bytes;
            let progress = progress.as_mut().map(|outer| {
                let tell = move |now: Progress| -> ControlFlow<()> {
                    outer(Progress { done: done + now.done, all })
                };
                Box::new(tell) as Callback<'_>
            });
            let mut guard = way.write_range(0..part.plan.bytes)?;
            let more = work.run(&part.plan, guard.as_bytes_mut(), progress);
            drop(guard);
            let more = more.map_err(|error| match error {
                Error::Stopped { done: more, .. } => Error::Stopped { done: done + more, all },
                error => error,
            })?;
            read.bytes += more.bytes;
            read.direct += more.direct;
            before.take().map_or(Ok(()), joined)?;
            before = Some(scope.spawn(move || {
                tenure_memory::prepare_thread();
                part.carry(way, to)
            }));
        }
        before.map_or(Ok(()), joined)
    })?;
    Ok(read)
}

fn joined(thread: ScopedJoinHandle<'_, Result<()>>) -> Result<()> {
    thread.join().unwrap_or_else(|payload| resume_unwind(payload))
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a wrong index is a failed test")]
mod tests {
    use super::*;
    use crate::load::{Direct, warm::Warm};
    use crate::{open, safetensors};
    use tenure_tensor::Tensor;

    #[test]
    fn parts_make_the_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        let tensor = |n: usize| {
            let bytes: Vec<u8> = (0..n).map(|byte| (byte * 7 + n) as u8).collect();
            Tensor::<u8>::from_slice(&bytes, &[n]).unwrap().to_dyn()
        };
        let sizes = [30_000, 5, 0, 2 * PIECE + 3, 1, 90_000];
        let names: Vec<String> = (0..sizes.len()).map(|index| format!("t{index}")).collect();
        let tensors: Vec<_> =
            names.iter().zip(sizes).map(|(name, n)| (name.as_str(), tensor(n))).collect();
        safetensors::save(&path, &tensors, &Default::default()).unwrap();
        let file = open(&path).unwrap();
        for wanted in [&[0, 1, 2, 3, 4, 5][..], &[1, 4], &[0, 5], &[]] {
            let entries: Vec<_> =
                wanted.iter().map(|index| file.entry(&names[*index]).unwrap()).collect();
            for (align, most) in [(1, BLOCK), (64, 2 * PIECE), (1, PART)] {
                let plan = Plan::new(&entries, align).unwrap();
                let (warm, threads) = (Warm::default(), Some(2));
                let (shards, direct) = (&file.shards[..], Direct::WhenCold);
                let work = Work { shards, entries: &entries, direct, threads, warm };
                let request = Request::new(plan.bytes).unwrap();
                let to = allocate(Some(TensorMemory::Mem), &request).unwrap();
                let (to, mut told) = (Buffer::from_raw(to), vec![]);
                let progress: Callback<'_> = Box::new(|now| {
                    told.push(now);
                    ControlFlow::Continue(())
                });
                let parts = parts(&plan, most);
                assert!(parts.len() > 1 || plan.bytes <= most || plan.pieces.len() < 2);
                let read = run_in_parts(&work, parts, &to, Some(progress)).unwrap();
                assert!(told.is_sorted_by(|a, b| a.done < b.done || a.done == 0));
                assert_eq!(told.last().map_or(0, |now| now.done), read.bytes);
                assert!(told.iter().all(|now| now.all == read.bytes));
                let bytes = to.read_range(0..plan.bytes).unwrap();
                for ((entry, place), index) in entries.iter().zip(&plan.places).zip(wanted) {
                    let found = &bytes.as_bytes()[*place..][..entry.bytes()];
                    assert!(*found == *tensors[*index].1.map_read().unwrap().as_slice());
                }
            }
        }
    }

    #[test]
    fn whoever_stops_hears_how_far_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        let tensor = Tensor::<u8>::from_slice(&[1; 40_000], &[40_000]).unwrap().to_dyn();
        safetensors::save(&path, &[("a", tensor)], &Default::default()).unwrap();
        let file = open(&path).unwrap();
        let entries = [file.entry("a").unwrap()];
        let plan = Plan::new(&entries, 1).unwrap();
        let (warm, direct) = (Warm::default(), Direct::Never);
        let work = Work { shards: &file.shards, entries: &entries, direct, threads: Some(1), warm };
        let to = allocate(Some(TensorMemory::Mem), &Request::new(plan.bytes).unwrap()).unwrap();
        let stop: Callback<'_> = Box::new(|_| ControlFlow::Break(()));
        let stopped = run(&work, &plan, &Buffer::from_raw(to), Some(stop)).unwrap_err();
        assert!(matches!(stopped, Error::Stopped { done: 40_000, all: 40_000 }), "{stopped}");
    }
}
