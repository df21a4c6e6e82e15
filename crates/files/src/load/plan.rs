//! What is read where to: plain numbers.
//!
//! Tensors that are near each other in a file are read together, with what is between them. Each
//! such run lies in the destination as in the file, counted from the beginning of a block, and
//! has whole blocks to itself: whoever reads past the cache reads whole blocks.

use std::ops::Range;

use super::PIECE;
use crate::Entry;
use crate::entry::Packing;

/// What positions, addresses and lengths of direct reads are multiples of.
pub(super) const BLOCK: usize = 4096;
/// Bytes of no interest that are read rather than left out.
const GAP: u64 = 64 << 10;
/// What tensors that lie elsewhere than in their file begin at a multiple of.
const ALIGNMENT: usize = 256;

/// What is read where to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// Bytes of the destination.
    pub(super) bytes: usize,
    /// Where each tensor begins in the destination.
    pub(super) places: Vec<usize>,
    /// In the order of the destination.
    pub(super) pieces: Vec<Piece>,
}

/// A part of the destination that is filled at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) shard: usize,
    /// Which byte of the file belongs to the first of the window.
    pub(super) at: u64,
    /// The part of the destination that may be written.
    pub(super) window: Range<usize>,
    /// The part of it that must be, counted from its beginning.
    pub(super) need: Range<usize>,
    pub(super) how: How,
}

/// How a piece is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// In whole blocks, or not.
    Blocks,
    /// Only through the cache: file and destination differ in where a block begins.
    Shifted,
    /// The same, and the bytes of every element of this size are reversed. A piece has whole
    /// elements.
    Reversed(usize),
    /// By inflating the tensor of this position.
    Inflated(usize),
}

/// Stored tensors of one file that are read together.
struct Run {
    shard: usize,
    file: Range<u64>,
    /// Which byte of the destination the block with the first byte begins at.
    start: usize,
}

impl Plan {
    /// A plan for tensors in the order of their files and bytes; `None` if all of them together have
    /// more bytes than can be counted.
    pub(super) fn new(entries: &[&Entry], align: usize) -> Option<Plan> {
        // First of all: pieces are as many as there are bytes for.
        let beside = align.max(ALIGNMENT) + 2 * BLOCK;
        let all = entries
            .iter()
            .try_fold(0_usize, |sum, entry| sum.checked_add(entry.bytes())?.checked_add(beside));
        all.filter(|bytes| isize::try_from(*bytes).is_ok())?;
        let mut plan = Plan::default();
        let mut run: Option<Run> = None;
        for (index, entry) in entries.iter().enumerate() {
            let aligned = entry.offset.is_multiple_of(entry.elements.align().max(align) as u64);
            let stored = entry.packing == Packing::Stored && entry.reversed == 1;
            if entry.bytes() == 0 || !stored || !aligned {
                plan.close(run.take())?;
                plan.alone(index, entry, align.max(ALIGNMENT))?;
                continue;
            }
            let near = run.take_if(|run| {
                let gap = entry.offset.checked_sub(run.file.end);
                run.shard == entry.shard && gap.is_some_and(|gap| gap <= GAP)
            });
            let now = match near {
                Some(run) => run,
                None => {
                    plan.close(run.take())?;
                    let start = plan.bytes.checked_next_multiple_of(BLOCK)?;
                    Run { shard: entry.shard, file: entry.offset..entry.offset, start }
                }
            };
            let first = block_start(now.file.start);
            let inside = usize::try_from(entry.offset - first).ok()?;
            plan.places.push(now.start.checked_add(inside)?);
            run = Some(Run { file: now.file.start..entry.end()?, ..now });
        }
        plan.close(run)?;
        Some(plan)
    }

    /// Divides a run into pieces.
    fn close(&mut self, run: Option<Run>) -> Option<()> {
        let Some(Run { shard, file, start }) = run else { return Some(()) };
        let first = block_start(file.start);
        let length = usize::try_from(file.end - first).ok()?;
        let whole = length.checked_next_multiple_of(BLOCK)?;
        let before = usize::try_from(file.start - first).ok()?;
        // Every sum below is at most this one.
        self.bytes = start.checked_add(whole)?;
        let mut begin = 0;
        while begin < whole {
            let at = first.checked_add(begin as u64)?;
            // Up to the next multiple of a piece in the file: the system has what it read in
            // large pages, which it maps at once if they are whole.
            let more = PIECE - (at % PIECE as u64) as usize;
            let end = begin + more.min(whole - begin);
            let need = before.max(begin) - begin..length.min(end) - begin;
            let window = start + begin..start + end;
            self.pieces.push(Piece { shard, at, window, need, how: How::Blocks });
            begin = end;
        }
        Some(())
    }

    /// A tensor that lies by itself.
    fn alone(&mut self, index: usize, entry: &Entry, align: usize) -> Option<()> {
        let start = self.bytes.checked_next_multiple_of(align)?;
        let bytes = entry.bytes();
        self.places.push(start);
        // Every sum below is at most this one.
        self.bytes = start.checked_add(bytes)?;
        let deflated = matches!(entry.packing, Packing::Deflated { .. });
        let (how, step) = match (deflated, entry.reversed) {
            (true, _) => (How::Inflated(index), bytes.max(1)),
            (false, 1) => (How::Shifted, PIECE),
            (false, size) => (How::Reversed(size), PIECE),
        };
        // An empty array that is compressed is looked at too.
        let ends = if deflated { bytes.max(1) } else { bytes };
        for begin in (0..ends).step_by(step) {
            let end = begin.saturating_add(step).min(bytes);
            let window = start + begin..start + end;
            let (shard, at) = (entry.shard, entry.offset.checked_add(begin as u64)?);
            self.pieces.push(Piece { shard, at, need: 0..window.len(), window, how });
        }
        Some(())
    }
}

fn block_start(byte: u64) -> u64 {
    byte - byte % BLOCK as u64
}
