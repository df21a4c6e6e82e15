//! A two-level segregated fit allocator that deals in offsets only.
//!
//! [`Tlsf`] divides the bytes `0..capacity` into blocks and never touches the memory behind them,
//! so it serves heap, shared memory, dma-bufs and device memory alike.
//! [`allocate`](Tlsf::allocate) and [`free`](Tlsf::free) take constant time, and neighbouring free
//! blocks are joined at once. It is not synchronized: sharing one takes a lock.

mod bins;
mod error;
mod nodes;
mod report;
#[cfg(test)]
mod tests;

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU32, Ordering};

pub use error::Error;
pub use report::{Report, Span};

use bins::{Bins, Class};
use nodes::{NIL, Node, Nodes};

/// Bytes per granule, unless [`Tlsf::with_granularity`] says otherwise: as much as any GPU wants
/// the start of a buffer aligned to, and little beside a tensor.
pub const DEFAULT_GRANULARITY: u64 = 256;

/// The largest capacity in bytes. It leaves the sizes in the tables a bit to spare.
pub const MAX_CAPACITY: u64 = 1 << 62;

/// How many blocks of the class that a size falls into are tried before larger classes. They may
/// be too small; but sizes repeat, so there is often an exact fit, which keeps blocks of one size
/// together. More than two were measured to save no more space.
const FIRST_LOOK: u32 = 2;

/// How many blocks are tried before a request is refused. A limit, so that refusing takes
/// constant time too.
const LAST_LOOK: u32 = 64;

/// A range of an arena, to be handed back to [`Tlsf::free`].
///
/// It cannot be copied, so freeing it twice does not compile.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a block that is not freed stays in use until the arena is reset"]
pub struct Block {
    /// Bytes from the start of the arena.
    offset: u64,
    /// Bytes granted, a multiple of the granularity.
    size: u64,
    /// See [`Block::key`].
    key: NonZeroU64,
}

impl Block {
    /// Bytes from the start of the arena: a multiple of the alignment that was asked for.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes granted: what was asked for, rounded up to the granularity.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The index of its node and, above, its stamp. One word: written as two halves it would
    /// stall whoever copies it next. One more than that, so that an `Option` takes no more room.
    #[inline]
    fn key(node: u32, stamp: u32) -> NonZeroU64 {
        NonZeroU64::MIN.saturating_add(u64::from(stamp) << 32 | u64::from(node))
    }

    #[inline]
    fn node(&self) -> u32 {
        (self.key.get() - 1) as u32
    }

    #[inline]
    fn stamp(&self) -> u32 {
        ((self.key.get() - 1) >> 32) as u32
    }
}

/// An allocator of byte ranges in `0..capacity`.
///
/// ```
/// # use tenure_memory::tlsf::{Error, Tlsf};
/// let mut arena = Tlsf::new(1 << 20)?;
/// let image = arena.allocate(640 * 480 * 3, 4096)?;
/// assert_eq!(image.offset() % 4096, 0);
/// arena.free(image)?;
/// assert_eq!(arena.largest_free(), 1 << 20);
/// # Ok::<(), Error>(())
/// ```
///
/// Offsets are aligned relative to the start of the arena, so the memory behind it must start at
/// a multiple of the largest alignment asked for.
#[derive(Debug)]
pub struct Tlsf {
    /// The free blocks by size.
    bins: Bins,
    /// All blocks. They tile the arena: each starts where the one before ends, the first at 0,
    /// and the last ends at `capacity`. No two neighbours are both free.
    nodes: Nodes,
    /// Granules in the arena, at least one.
    capacity: u64,
    /// Granules in free blocks.
    free: u64,
    /// The highest end of any block since the last reset, in granules.
    high_water: u64,
    /// Blocks in use.
    live: u64,
    /// Bytes per granule, as a power of two.
    shift: u32,
    /// The stamp of the last block handed out. It tells a block from others with the same node.
    stamp: u32,
}

impl Tlsf {
    /// An arena of `capacity` bytes in granules of [`DEFAULT_GRANULARITY`].
    ///
    /// # Errors
    ///
    /// [`Error::Capacity`] if that is less than one granule or more than [`MAX_CAPACITY`].
    pub fn new(capacity: u64) -> Result<Self, Error> {
        Self::with_granularity(capacity, DEFAULT_GRANULARITY)
    }

    /// An arena of `capacity` bytes, in which offsets and sizes are multiples of `granularity`.
    /// What is left of `capacity` after the last whole granule is not used.
    ///
    /// # Errors
    ///
    /// [`Error::Granularity`] if that is not a power of two, [`Error::Capacity`] as for
    /// [`new`](Self::new).
    pub fn with_granularity(capacity: u64, granularity: u64) -> Result<Self, Error> {
        // Arenas start to count far from one another, so that blocks are not mistaken.
        static ARENAS: AtomicU32 = AtomicU32::new(0);
        const FAR: u32 = 0x9E37_79B9;

        if !granularity.is_power_of_two() {
            return Err(Error::Granularity { granularity });
        }
        if !(granularity..=MAX_CAPACITY).contains(&capacity) {
            return Err(Error::Capacity { capacity, granularity });
        }
        let shift = granularity.trailing_zeros();
        let capacity = capacity >> shift;
        let mut arena = Self {
            bins: Bins::new(capacity),
            nodes: Nodes::new(),
            capacity,
            free: capacity,
            high_water: 0,
            live: 0,
            shift,
            stamp: ARENAS.fetch_add(1, Ordering::Relaxed).wrapping_mul(FAR),
        };
        arena.reset();
        Ok(arena)
    }

    /// Frees everything at once. Blocks from before are unknown to [`free`](Self::free) then.
    pub fn reset(&mut self) {
        self.bins.clear();
        self.nodes.clear();
        self.free = self.capacity;
        self.high_water = 0;
        self.live = 0;
        self.insert(0, self.capacity, NIL, NIL);
    }

    /// Makes room for `live` blocks in use at a time: up to there, allocating does not ask the
    /// system for memory.
    pub fn reserve(&mut self, live: usize) {
        // Between any two blocks, and at the ends, there may be a free one.
        self.nodes.reserve(live.saturating_mul(2).saturating_add(1));
    }

    /// Takes `size` bytes at a multiple of `align` bytes.
    ///
    /// Zero bytes get one granule, so that every block has an offset of its own. Alignments up to
    /// the granularity cost nothing; what a larger one skips stays free.
    ///
    /// # Errors
    ///
    /// [`Error::Align`] if that is not a power of two, [`Error::OutOfSpace`] if no block was
    /// found, [`Error::TooManyBlocks`] if there are almost 2^32. The arena is unchanged then.
    // Always inlined, like `free`: the call would cost a tenth of the time, and there are few calls.
    #[inline(always)]
    pub fn allocate(&mut self, size: u64, align: u64) -> Result<Block, Error> {
        if !align.is_power_of_two() {
            return Err(Error::Align { align });
        }
        // Granules wanted, and the bits that the number of the first must not have.
        let want = (size.saturating_sub(1) >> self.shift) + 1;
        let mask = (align >> self.shift).saturating_sub(1);
        // The errors are put together here and not in a function of their own: a result that is
        // filled in elsewhere lives in memory and not in registers, also if all is well.
        let Some(index) = self.find(want, mask) else {
            let (largest_free, free) = (self.largest_free(), self.free_bytes());
            return Err(Error::OutOfSpace { asked: size, align, largest_free, free });
        };
        if !self.nodes.has_room_for_two() {
            return Err(Error::TooManyBlocks { blocks: self.nodes.limit });
        }

        let found = self.nodes[index];
        self.unlink(found);
        let Node { mut start, mut before, mut after, .. } = found;
        // None of the sums below exceeds the capacity, as `found` fits.
        let mut rest = found.size() - want;
        let pad = start.wrapping_neg() & mask;
        if pad != 0 {
            before = self.insert_pad(start, pad, before, index);
            start += pad;
            rest -= pad;
        }
        if rest != 0 {
            after = self.insert(start + want, rest, index, after);
        }
        self.stamp = self.stamp.wrapping_add(1);
        self.nodes[index] = Node::used(start, want, before, after, self.stamp);
        self.free -= want;
        self.live += 1;
        self.high_water = self.high_water.max(start + want);
        let (offset, size) = (start << self.shift, want << self.shift);
        Ok(Block { offset, size, key: Block::key(index, self.stamp) })
    }

    /// Takes `block` back and joins it with the free blocks beside it.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownBlock`] unless this arena [`owns`](Self::owns) it. The arena is unchanged
    /// then.
    #[inline(always)]
    pub fn free(&mut self, block: Block) -> Result<(), Error> {
        if !self.owns(&block) {
            return Err(Error::UnknownBlock { offset: block.offset, size: block.size });
        }
        let index = block.node();
        let Node { mut start, mut before, mut after, .. } = self.nodes[index];
        let mut size = self.nodes[index].size();
        self.free += size;
        self.live -= 1;
        // Both neighbours are looked at before anything is done, so that the two reads overlap.
        let (join_before, join_after) = (self.nodes[before].is_free(), self.nodes[after].is_free());
        if join_before {
            let joined = self.nodes[before];
            self.unlink(joined);
            self.nodes.give(before);
            (start, before) = (joined.start, joined.before);
            size += joined.size();
            self.nodes[before].after = index;
        }
        if join_after {
            let joined = self.nodes[after];
            self.unlink(joined);
            self.nodes.give(after);
            after = joined.after;
            size += joined.size();
            self.nodes[after].before = index;
        }
        self.link(index, start, size, before, after);
        Ok(())
    }

    /// Whether `block` is from this arena and in use.
    ///
    /// Blocks have stamps of 32 bits that count up, from another number in every arena. One from
    /// before a [`reset`](Self::reset) or from elsewhere could be mistaken only for a block in the
    /// very same place, of the same size, and with the same stamp.
    #[must_use]
    #[inline]
    pub fn owns(&self, block: &Block) -> bool {
        self.nodes.get(block.node()).is_some_and(|node| {
            node.stamp() == Some(block.stamp())
                && node.start << self.shift == block.offset
                && node.size() << self.shift == block.size
        })
    }

    /// A free block with room for `want` granules from one without the bits `mask`.
    #[inline]
    fn find(&self, want: u64, mask: u64) -> Option<u32> {
        let class = Class::of(want);
        let mut index = self.bins.first(class);
        for _ in 0..FIRST_LOOK {
            if self.nodes[index].fits(want, mask) {
                return Some(index);
            }
            // After the last of a class comes NIL, which fits nothing and is its own next.
            index = self.nodes[index].next;
        }
        // All blocks of larger classes are large enough, though perhaps not if aligned.
        if let Some(class) = self.bins.filled_from(class.above()) {
            let index = self.bins.first(class);
            if self.nodes[index].fits(want, mask) {
                return Some(index);
            }
        }
        self.find_with_effort(want, mask)
    }

    /// As [`find`](Self::find): a block so large that no alignment matters, or else what fits
    /// among the [`LAST_LOOK`] smallest that may.
    #[cold]
    fn find_with_effort(&self, want: u64, mask: u64) -> Option<u32> {
        if let Some(class) = self.bins.filled_from(Class::holding(want.checked_add(mask)?)) {
            return Some(self.bins.first(class));
        }
        let mut class = self.bins.filled_from(Class::of(want))?;
        let mut index = self.bins.first(class);
        for _ in 0..LAST_LOOK {
            if self.nodes[index].fits(want, mask) {
                return Some(index);
            }
            index = self.nodes[index].next;
            if index == NIL {
                class = self.bins.filled_from(class.above())?;
                index = self.bins.first(class);
            }
        }
        None
    }

    /// [`insert`](Self::insert) out of line: padding is rare, and the code of the usual case
    /// stays in one piece.
    #[cold]
    fn insert_pad(&mut self, start: u64, size: u64, before: u32, after: u32) -> u32 {
        self.insert(start, size, before, after)
    }

    /// Makes a free block between two neighbours.
    #[inline(always)]
    fn insert(&mut self, start: u64, size: u64, before: u32, after: u32) -> u32 {
        let index = self.nodes.take();
        self.nodes[before].after = index;
        self.nodes[after].before = index;
        self.link(index, start, size, before, after);
        index
    }

    /// Makes `index` a free block, the first of its class.
    #[inline]
    fn link(&mut self, index: u32, start: u64, size: u64, before: u32, after: u32) {
        let next = self.bins.replace_first(Class::of(size), index);
        self.nodes[next].prev = index;
        self.nodes[index] = Node::free(start, size, before, after, next);
    }

    /// Takes a free block out of its class.
    #[inline]
    fn unlink(&mut self, node: Node) {
        self.nodes[node.next].prev = node.prev;
        if node.prev == NIL {
            self.bins.set_first(Class::of(node.size()), node.next);
        } else {
            self.nodes[node.prev].next = node.next;
        }
    }
}
