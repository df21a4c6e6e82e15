//! Online replay through a two-level segregated fit allocator, as it would happen at run time.
//!
//! Free blocks are binned by the highest bit of their size and the five bits after it; a request
//! takes the block that waited longest in the first bin where all are large enough. The replay is
//! done in a few granularities, as other planners have them, and the smallest result is kept.

use crate::bound::events;
use crate::{Item, Problem};

/// Bytes that sizes are rounded up to, one replay for each. Larger granules waste space inside
/// of blocks, but leave fewer odd gaps between them.
const GRANULES: [u64; 3] = [1, 256, 4096];

/// Bins per power of two.
const BINS: usize = 32;

/// No block.
const NIL: u32 = u32::MAX;

/// The end of the arena: more than any problem's sizes sum to.
const END: u64 = 1 << 63;

/// Offsets of the best of the replays.
pub(crate) fn pack(problem: &Problem) -> Vec<u64> {
    let items = problem.items();
    let events = events(items);
    let mut best = (u64::MAX, Vec::new());
    for granule in GRANULES {
        let (bytes, offsets) = replay(items, &events, granule);
        if bytes < best.0 {
            best = (bytes, offsets);
        }
    }
    if best.0 == u64::MAX {
        // Rounded up to its bin, something is larger than all there is: no bins, then.
        return super::best_fit::pack(problem);
    }
    best.1
}

/// Allocates and frees in the order of time: the bytes used and the offsets.
fn replay(items: &[Item], events: &[(u64, bool, u32)], granule: u64) -> (u64, Vec<u64>) {
    let mut arena = Arena::new();
    let mut blocks = vec![NIL; items.len()];
    let mut offsets = vec![0; items.len()];
    let mut bytes = 0;
    for &(_, starts, index) in events {
        let index = index as usize;
        if !starts {
            arena.free(blocks[index]);
            continue;
        }
        let item = &items[index];
        // Sizes and alignments of all items sum to less than 2^63, so this does not overflow;
        // if granules make it more than there is, this granule is out of the race.
        let size = item.size.next_multiple_of(granule);
        let Some(block) = arena.allocate(size, if item.align > granule { item.align } else { 1 })
        else {
            return (u64::MAX, Vec::new());
        };
        blocks[index] = block;
        offsets[index] = arena.blocks[block as usize].offset;
        bytes = bytes.max(offsets[index] + item.size);
    }
    (bytes, offsets)
}

/// A block of the arena: its neighbours in space and, if it is free, in its bin.
#[derive(Debug, Clone, Copy)]
struct Block {
    offset: u64,
    size: u64,
    below: u32,
    above: u32,
    earlier: u32,
    later: u32,
    free: bool,
}

/// Blocks from 0 to [`END`], and the free ones by size.
#[derive(Debug)]
struct Arena {
    blocks: Vec<Block>,
    unused: Vec<u32>,
    /// Which powers of two have a bin that is not empty.
    levels: u64,
    /// Which bins of each are not empty.
    bins: [u32; 64],
    /// The block that waits longest in each bin, and the last one.
    ends: Vec<(u32, u32)>,
}

impl Arena {
    fn new() -> Arena {
        let mut arena = Arena {
            blocks: Vec::new(),
            unused: Vec::new(),
            levels: 0,
            bins: [0; 64],
            ends: vec![(NIL, NIL); 64 * BINS],
        };
        let all = arena.block(0, END, NIL, NIL);
        arena.insert(all);
        arena
    }

    /// A new block between two others; not in a bin yet.
    fn block(&mut self, offset: u64, size: u64, below: u32, above: u32) -> u32 {
        let block = Block { offset, size, below, above, earlier: NIL, later: NIL, free: false };
        if let Some(index) = self.unused.pop() {
            self.blocks[index as usize] = block;
            return index;
        }
        self.blocks.push(block);
        self.blocks.len() as u32 - 1
    }

    fn allocate(&mut self, size: u64, align: u64) -> Option<u32> {
        // Any block of the bin of this size is large enough.
        let wanted = size.checked_add(align - 1)?;
        let wanted = wanted
            .checked_next_multiple_of(1 << (63 - wanted.leading_zeros()).saturating_sub(5))?;
        let index = self.find(wanted)?;
        self.remove(index);
        let offset = self.blocks[index as usize].offset;
        let gap = offset.next_multiple_of(align) - offset;
        let index = if gap > 0 {
            let rest = self.cut(index, gap);
            self.insert(index);
            rest
        } else {
            index
        };
        if self.blocks[index as usize].size > size {
            let rest = self.cut(index, size);
            self.insert(rest);
        }
        Some(index)
    }

    fn free(&mut self, index: u32) {
        let (mut index, above) = (index, self.blocks[index as usize].above);
        if above != NIL && self.blocks[above as usize].free {
            self.remove(above);
            self.join(index, above);
        }
        let below = self.blocks[index as usize].below;
        if below != NIL && self.blocks[below as usize].free {
            self.remove(below);
            self.join(below, index);
            index = below;
        }
        self.insert(index);
    }

    /// Shortens a block to `size`; the rest is a block of its own, which is returned.
    fn cut(&mut self, index: u32, size: u64) -> u32 {
        let Block { offset, size: whole, above, .. } = self.blocks[index as usize];
        let rest = self.block(offset + size, whole - size, index, above);
        self.blocks[index as usize].size = size;
        self.blocks[index as usize].above = rest;
        if above != NIL {
            self.blocks[above as usize].below = rest;
        }
        rest
    }

    /// Makes one block of two neighbours.
    fn join(&mut self, index: u32, above: u32) {
        let Block { size, above: next, .. } = self.blocks[above as usize];
        self.blocks[index as usize].size += size;
        self.blocks[index as usize].above = next;
        if next != NIL {
            self.blocks[next as usize].below = index;
        }
        self.unused.push(above);
    }

    /// The oldest block of the first bin from that of `size` on.
    fn find(&self, size: u64) -> Option<u32> {
        let (level, bin) = class(size);
        let mut bins = self.bins[level] & (u32::MAX << bin);
        let mut found = level;
        if bins == 0 {
            let levels = self.levels & (u64::MAX << level) << 1;
            if levels == 0 {
                return None;
            }
            found = levels.trailing_zeros() as usize;
            bins = self.bins[found];
        }
        Some(self.ends[found * BINS + bins.trailing_zeros() as usize].0)
    }

    /// Puts a free block at the end of its bin.
    fn insert(&mut self, index: u32) {
        let (level, bin) = class(self.blocks[index as usize].size);
        self.levels |= 1 << level;
        self.bins[level] |= 1 << bin;
        let (_, last) = self.ends[level * BINS + bin];
        if last == NIL {
            self.ends[level * BINS + bin] = (index, index);
        } else {
            self.blocks[last as usize].later = index;
            self.ends[level * BINS + bin].1 = index;
        }
        let block = &mut self.blocks[index as usize];
        (block.earlier, block.later, block.free) = (last, NIL, true);
    }

    /// Takes a block out of its bin.
    fn remove(&mut self, index: u32) {
        let Block { size, earlier, later, .. } = self.blocks[index as usize];
        self.blocks[index as usize].free = false;
        let (level, bin) = class(size);
        if earlier == NIL {
            self.ends[level * BINS + bin].0 = later;
        } else {
            self.blocks[earlier as usize].later = later;
        }
        if later == NIL {
            self.ends[level * BINS + bin].1 = earlier;
        } else {
            self.blocks[later as usize].earlier = earlier;
        }
        if self.ends[level * BINS + bin].0 == NIL {
            self.bins[level] &= !(1 << bin);
            if self.bins[level] == 0 {
                self.levels &= !(1 << level);
            }
        }
    }
}

/// The highest bit of a size, and the five bits after it. Sizes are not 0.
fn class(size: u64) -> (usize, usize) {
    let level = 63 - size.leading_zeros();
    let below = size - (1 << level);
    let bin = if level >= 5 { below >> (level - 5) } else { below };
    (level as usize, bin as usize)
}
