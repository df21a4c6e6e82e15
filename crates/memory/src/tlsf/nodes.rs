//! The table of blocks: where each lies, who its neighbours are, and which is next in its class.

use std::ops::{Index, IndexMut};

/// The node that stands for "none".
///
/// It is never free and fits nothing, so that the ends of the arena need no special case. As the
/// neighbour of the first and last block its `after` is the first and its `before` the last.
/// `prev` is scratch: it is written when a block becomes the last of its class. `next` stays NIL.
pub(super) const NIL: u32 = 0;

/// Set in [`Node::extent`] if the block is free.
const FREE: u64 = 1 << 63;

/// One block, free or in use. Half a cache line, and never across two.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Node {
    /// Granules from the start of the arena. Blocks do not overlap.
    pub(super) start: u64,
    /// Granules in the block, at least one except in NIL, and the flag [`FREE`].
    extent: u64,
    /// The block that ends where this one starts, NIL for the first.
    pub(super) before: u32,
    /// The block that starts where this one ends, NIL for the last.
    pub(super) after: u32,
    /// Free: the block before it in its class, NIL for the first. In use: its stamp.
    pub(super) prev: u32,
    /// Free: the block after it in its class, NIL for the last. Spare: the next spare node.
    pub(super) next: u32,
}

impl Node {
    const NONE: Self = Self { start: 0, extent: 0, before: NIL, after: NIL, prev: NIL, next: NIL };

    /// A free block that is the first of its class.
    #[inline]
    pub(super) fn free(start: u64, size: u64, before: u32, after: u32, next: u32) -> Self {
        Self { start, extent: size | FREE, before, after, prev: NIL, next }
    }

    #[inline]
    pub(super) fn used(start: u64, size: u64, before: u32, after: u32, stamp: u32) -> Self {
        Self { start, extent: size, before, after, prev: stamp, next: NIL }
    }

    #[inline]
    pub(super) fn is_free(&self) -> bool {
        self.extent & FREE != 0
    }

    /// Granules in the block.
    #[inline]
    pub(super) fn size(&self) -> u64 {
        self.extent & !FREE
    }

    /// What a [`Block`](super::Block) must know to be this one; none if it is not in use.
    #[inline]
    pub(super) fn stamp(&self) -> Option<u32> {
        (!self.is_free()).then_some(self.prev)
    }

    /// Whether `want` granules have room, starting where no bit of `mask` is set.
    #[inline]
    pub(super) fn fits(&self, want: u64, mask: u64) -> bool {
        let pad = self.start.wrapping_neg() & mask;
        self.size().checked_sub(want).is_some_and(|rest| rest >= pad)
    }
}

/// All nodes of an arena.
#[derive(Debug)]
pub(super) struct Nodes {
    /// NIL, then the nodes of blocks and the spare ones in any order. Indices stay valid.
    table: Vec<Node>,
    /// The first spare node, NIL if there are none. Spare nodes are marked free and are linked
    /// through `next`; the last one given is the first taken, as it is warm in the cache.
    spare: u32,
    /// How long the table may become.
    pub(super) limit: u32,
}

impl Nodes {
    pub(super) fn new() -> Self {
        Self { table: vec![Node::NONE], spare: NIL, limit: u32::MAX }
    }

    /// Forgets all nodes but keeps their memory.
    pub(super) fn clear(&mut self) {
        self.table.clear();
        self.table.push(Node::NONE);
        self.spare = NIL;
    }

    /// Makes room for `blocks` blocks, so that taking nodes does not allocate memory.
    pub(super) fn reserve(&mut self, blocks: usize) {
        self.table.reserve((blocks.saturating_add(1)).saturating_sub(self.table.len()));
    }

    #[inline]
    pub(super) fn get(&self, index: u32) -> Option<&Node> {
        self.table.get(index as usize)
    }

    /// Whether the next two calls of [`take`](Self::take) can number their nodes.
    #[inline]
    pub(super) fn has_room_for_two(&self) -> bool {
        match (self.limit as usize).saturating_sub(self.table.len()) {
            0 => self.spare != NIL && self[self.spare].next != NIL,
            1 => self.spare != NIL,
            _ => true,
        }
    }

    /// A node to be overwritten.
    #[inline]
    pub(super) fn take(&mut self) -> u32 {
        let index = self.spare;
        if index == NIL {
            return self.grow();
        }
        self.spare = self[index].next;
        index
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        // Shorter than the limit, a u32: `has_room_for_two` was asked.
        let index = self.table.len() as u32;
        self.table.push(Node::NONE);
        index
    }

    /// Gives back the node of a free block that no longer exists.
    #[inline]
    pub(super) fn give(&mut self, index: u32) {
        self[index].next = self.spare;
        self.spare = index;
    }
}

#[cfg(test)]
impl Nodes {
    /// Nodes in the table, NIL and spare ones included.
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// How many nodes there can be before the table moves.
    pub(super) fn room(&self) -> usize {
        self.table.capacity()
    }

    pub(super) fn spares(&self) -> usize {
        let next = |&index: &u32| Some(self[index].next);
        std::iter::successors(Some(self.spare), next).take_while(|&index| index != NIL).count()
    }
}

impl Index<u32> for Nodes {
    type Output = Node;

    #[inline]
    fn index(&self, index: u32) -> &Node {
        &self.table[index as usize]
    }
}

impl IndexMut<u32> for Nodes {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut Node {
        &mut self.table[index as usize]
    }
}
