//! One item after the other, in any order, each into a gap between those that are placed.
//!
//! For every item the placed ones are walked in the order of their offsets. They are kept in a
//! binary tree over time: a node knows all placed items that touch its span, and an item looks
//! only at the smallest node that holds its lifetime.

use crate::solve::core::Core;

/// Which gap an item takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gap {
    /// The lowest that holds it.
    First,
    /// The smallest that holds it.
    Best,
}

/// A placed item, as the walk sees it.
#[derive(Debug, Clone, Copy)]
struct Placed {
    offset: u64,
    end: u64,
    first: u32,
    last: u32,
}

/// Where all items went, in units.
#[derive(Debug, Clone)]
pub(crate) struct Placement {
    /// By the core's order.
    pub(crate) offsets: Vec<u64>,
    /// The largest end.
    pub(crate) height: u64,
    /// How many placed items were looked at.
    pub(crate) steps: u64,
}

/// Places the items of `core` in the given order.
pub(crate) fn place(core: &Core, order: &[u32], gap: Gap) -> Placement {
    let mut tree = Tree::new(core.sections, core.len());
    let mut offsets = vec![0; core.len()];
    let mut height = 0;
    for &item in order {
        let index = item as usize;
        let offset = tree.find(core, index, gap);
        offsets[index] = offset;
        let end = offset + core.size[index];
        height = height.max(end);
        tree.insert(Placed { offset, end, first: core.first[index], last: core.last[index] });
    }
    Placement { offsets, height, steps: tree.steps }
}

/// Placed items by span of time, sorted by offset in each.
#[derive(Debug)]
struct Tree {
    /// Node 1 holds all sections, nodes `2i` and `2i + 1` the halves of node `i`.
    nodes: Vec<Vec<Placed>>,
    /// Levels below the root.
    depth: u32,
    /// Sections in a leaf, as a power of two.
    leaf: u32,
    /// Placed items looked at so far.
    steps: u64,
}

impl Tree {
    fn new(sections: usize, items: usize) -> Tree {
        // More leaves cost more to fill with what lives long than they save.
        let depth = (items / 1024).max(1).ilog2().min(5);
        let whole = sections.max(1).next_power_of_two().ilog2();
        let depth = depth.min(whole);
        Tree { nodes: vec![Vec::new(); 2 << depth], depth, leaf: whole - depth, steps: 0 }
    }

    /// The smallest node that holds the sections `first..last`.
    fn node(&self, first: u32, last: u32) -> usize {
        let (first, last) = (first >> self.leaf, (last - 1) >> self.leaf);
        let apart = 32 - (first ^ last).leading_zeros();
        ((1usize << self.depth) + first as usize) >> apart
    }

    fn insert(&mut self, placed: Placed) {
        let (first, last) = (placed.first >> self.leaf, (placed.last - 1) >> self.leaf);
        for up in 0..=self.depth {
            let base = (1usize << self.depth) >> up;
            for node in base + (first as usize >> up)..=base + (last as usize >> up) {
                let list = &mut self.nodes[node];
                let at = list.partition_point(|other| other.offset < placed.offset);
                list.insert(at, placed);
            }
        }
    }

    fn find(&mut self, core: &Core, item: usize, gap: Gap) -> u64 {
        let (first, last, size) = (core.first[item], core.last[item], core.size[item]);
        // Where what was walked over ends, and the best gap so far.
        let mut top = 0;
        let mut best = (u64::MAX, 0);
        let node = &self.nodes[self.node(first, last)];
        for (step, other) in node.iter().enumerate() {
            if other.first >= last || first >= other.last {
                continue;
            }
            if other.offset > top {
                let start = core.align_up(item, top);
                if start + size <= other.offset {
                    if gap == Gap::First {
                        self.steps += step as u64;
                        return start;
                    }
                    best = best.min((other.offset - top, start));
                }
            }
            top = top.max(other.end);
        }
        self.steps += node.len() as u64 + 16;
        if best.0 == u64::MAX { core.align_up(item, top) } else { best.1 }
    }
}
