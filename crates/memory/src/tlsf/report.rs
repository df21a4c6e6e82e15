//! What is in an arena: numbers, a report for people, and the blocks one by one.

use std::fmt;

use super::nodes::NIL;
use super::{LAST_LOOK, Tlsf};

/// A block as seen from outside: in use or free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Bytes from the start of the arena.
    pub offset: u64,
    /// Bytes in the block.
    pub size: u64,
    /// Whether it could be handed out.
    pub free: bool,
}

/// A summary of an arena. All sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Bytes in the arena.
    pub capacity: u64,
    /// Bytes in use, including what was rounded up.
    pub used: u64,
    /// The largest request that fits, exactly.
    pub largest_free: u64,
    /// The highest end of any block since the last reset: an arena of this size would have done.
    pub high_water: u64,
    /// Blocks in use.
    pub live: u64,
    /// Blocks the free bytes are scattered over.
    pub free_blocks: u64,
}

impl Report {
    /// The part of the free bytes outside the largest free block: 0 if they are in one piece,
    /// toward 1 as they are scattered.
    #[must_use]
    pub fn fragmentation(&self) -> f64 {
        match self.capacity - self.used {
            0 => 0.0,
            free => 1.0 - self.largest_free as f64 / free as f64,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { capacity, used, largest_free, high_water, live, free_blocks } = self;
        let free = capacity - used;
        let scattered = self.fragmentation() * 100.0;
        write!(
            f,
            "{used} of {capacity} bytes in {live} blocks; {free} free in {free_blocks}, the \
             largest {largest_free} ({scattered:.1}% fragmented); at most {high_water} reached",
        )
    }
}

impl Tlsf {
    /// Bytes in the arena, a multiple of the granularity.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.capacity << self.shift
    }

    /// Bytes that all offsets and sizes are a multiple of.
    #[must_use]
    pub fn granularity(&self) -> u64 {
        1 << self.shift
    }

    /// Bytes in use, including what was rounded up.
    #[must_use]
    pub fn used(&self) -> u64 {
        (self.capacity - self.free) << self.shift
    }

    /// Bytes not in use, perhaps scattered.
    #[must_use]
    pub fn free_bytes(&self) -> u64 {
        self.free << self.shift
    }

    /// Blocks in use.
    #[must_use]
    pub fn live(&self) -> u64 {
        self.live
    }

    /// The highest end of any block since the last reset, in bytes: an arena of this size would
    /// have done for the same requests.
    #[must_use]
    pub fn high_water(&self) -> u64 {
        self.high_water << self.shift
    }

    /// Bytes in the largest free block.
    ///
    /// Takes constant time, for which it looks at 64 blocks of the largest size class: if there
    /// are more, it may fall short by 1/64. [`report`](Self::report) is always exact.
    #[must_use]
    pub fn largest_free(&self) -> u64 {
        let mut index = self.bins.largest_filled().map_or(NIL, |class| self.bins.first(class));
        let mut largest = 0;
        for _ in 0..LAST_LOOK {
            if index == NIL {
                break;
            }
            largest = largest.max(self.nodes[index].size());
            index = self.nodes[index].next;
        }
        largest << self.shift
    }

    /// All blocks in address order, free ones included. No two free ones are neighbours.
    pub fn spans(&self) -> impl Iterator<Item = Span> + '_ {
        let mut index = self.nodes[NIL].after;
        std::iter::from_fn(move || {
            let node = self.nodes[index];
            let (offset, size) = (node.start << self.shift, node.size() << self.shift);
            let more = index != NIL;
            index = node.after;
            more.then_some(Span { offset, size, free: node.is_free() })
        })
    }

    /// A summary. It looks at every block, so it is for people and tests.
    #[must_use]
    pub fn report(&self) -> Report {
        let free = || self.spans().filter(|span| span.free);
        Report {
            capacity: self.capacity(),
            used: self.used(),
            largest_free: free().map(|span| span.size).max().unwrap_or(0),
            high_water: self.high_water(),
            live: self.live,
            free_blocks: free().count() as u64,
        }
    }
}
