//! One item after the other, in any order, each into a gap between those that are placed.
//!
//! For every item the placed ones are walked in the order of their offsets. They are kept in a
//! binary tree over time: a node knows all placed items that touch its span, and an item looks
//! only at the smallest node that holds its lifetime. What is there for all of a node's span is
//! in the way of all who look at it: it is kept as runs without gaps, and what is between two
//! runs is skipped where it is too small.

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
}

/// Steps between two looks at whether to go on.
const LOOK: u64 = 1 << 16;

/// Places the items of `core` in the given order. `more` is told the steps since it was last
/// asked, and whether to go on is its answer: if not, there is no placement.
pub(crate) fn place(
    core: &Core,
    order: &[u32],
    gap: Gap,
    mut more: impl FnMut(u64) -> bool,
) -> Option<Placement> {
    let mut tree = Tree::new(core);
    let mut offsets = vec![0; core.len()];
    let mut height = 0;
    for &item in order {
        if tree.steps >= LOOK && !more(std::mem::take(&mut tree.steps)) {
            return None;
        }
        let index = item as usize;
        let offset = tree.find(core, index, gap);
        offsets[index] = offset;
        let end = offset + core.size[index];
        height = height.max(end);
        tree.insert(Placed { offset, end, first: core.first[index], last: core.last[index] });
    }
    // It is done: whether there is more to spend does not matter.
    more(tree.steps);
    Some(Placement { offsets, height })
}

/// Levels of the tree that have lists, above the leaves.
const LEVELS: u32 = 6;

/// The same for very many items: filling the lists takes longer than looking at them.
const FEWER_LEVELS: u32 = 2;

/// From how many items on there are very many.
const MANY: usize = 1 << 16;

/// Steps that finding the place in a list is worth.
const ENTRY: u64 = 16;

/// The same for very many items: the lists are too many for the processor's caches.
const FAR_ENTRY: u64 = 64;

/// Moving so many entries of a list to make room for another is a step.
const MOVES: usize = 8;

/// What is in a span of time.
#[derive(Debug, Clone, Default)]
struct Node {
    /// Offset and end of what is there for all of the span. In ascending order; none touch.
    runs: Vec<(u64, u64)>,
    /// What is there for a part of it, sorted by offset. All of it is between runs.
    parts: Vec<Placed>,
}

/// Placed items by span of time.
#[derive(Debug)]
struct Tree {
    /// Node 1 holds all sections, nodes `2i` and `2i + 1` the halves of node `i`.
    nodes: Vec<Node>,
    /// Levels below the root.
    depth: u32,
    /// Sections in a leaf, as a power of two.
    leaf: u32,
    /// Levels that have lists, above the leaves.
    levels: u32,
    /// Steps that an entry into a list is worth.
    entry: u64,
    /// Placed items looked at since someone asked, and what else took as long.
    steps: u64,
    /// Room for a list that no node has.
    wide: Vec<Placed>,
}

/// The walk over what is in an item's way.
struct Walk {
    first: u32,
    last: u32,
    size: u64,
    mask: u64,
    gap: Gap,
    /// Where what was walked over ends.
    top: u64,
    /// Size and start of the best gap so far.
    best: Option<(u64, u64)>,
    /// Whether no gap can be better.
    done: bool,
    steps: u64,
}

impl Tree {
    fn new(core: &Core) -> Tree {
        let spans = core.first.iter().zip(&core.last);
        let sum: u64 = spans.map(|(first, last)| u64::from(last - first)).sum();
        let mean = sum / (core.len() as u64).max(1);
        // Smaller leaves cost more to fill with what lives long than they save.
        let leaf = (mean / 2).max(16).next_power_of_two().ilog2();
        let whole = core.sections.max(1).next_power_of_two().ilog2();
        let leaf = leaf.min(whole).max(whole.saturating_sub(16));
        let depth = whole - leaf;
        let nodes = vec![Node::default(); 2 << depth];
        let many = core.len() >= MANY;
        let (levels, entry) = if many { (FEWER_LEVELS, FAR_ENTRY) } else { (LEVELS, ENTRY) };
        let levels = levels.min(depth);
        Tree { nodes, depth, leaf, levels, entry, steps: 0, wide: Vec::new() }
    }

    fn insert(&mut self, placed: Placed) {
        let (first, last) = (placed.first >> self.leaf, (placed.last - 1) >> self.leaf);
        for up in 0..=self.levels {
            let base = (1usize << self.depth) >> up;
            let width = self.leaf + up;
            for place in first >> up..=last >> up {
                let node = &mut self.nodes[base + place as usize];
                let from = u64::from(place) << width;
                let to = u64::from(place + 1) << width;
                let moved = if u64::from(placed.first) <= from && to <= u64::from(placed.last) {
                    node.cover(placed.offset, placed.end)
                } else {
                    node.add(placed)
                };
                self.steps += self.entry + (moved / MOVES) as u64;
            }
        }
    }

    fn find(&mut self, core: &Core, item: usize, gap: Gap) -> u64 {
        let (first, last, size) = (core.first[item], core.last[item], core.size[item]);
        let mask = core.align[item] - 1;
        let (best, done, steps) = (None, false, 16);
        let mut walk = Walk { first, last, size, mask, gap, top: 0, best, done, steps };
        let (from, to) = (first >> self.leaf, (last - 1) >> self.leaf);
        let apart = 32 - (from ^ to).leading_zeros();
        if apart <= self.levels {
            walk.node(&self.nodes[((1usize << self.depth) + from as usize) >> apart]);
        } else {
            // No node holds the lifetime: what several hold is gathered.
            let base = (1usize << self.depth) >> self.levels;
            let nodes = base + (from as usize >> self.levels)..=base + (to as usize >> self.levels);
            self.wide.clear();
            for node in &self.nodes[nodes] {
                let runs = node.runs.iter();
                self.wide.extend(runs.map(|&(offset, end)| Placed { offset, end, first, last }));
                self.wide.extend(node.parts.iter().filter(|other| walk.meets(other)));
                walk.steps += (node.runs.len() + node.parts.len()) as u64;
            }
            // Every node's are in order already, which this sort makes use of.
            self.wide.sort_by_key(|other| other.offset);
            walk.steps += 2 * self.wide.len() as u64;
            walk.parts(&self.wide, u64::MAX);
        }
        self.steps += walk.steps;
        walk.best.map_or_else(|| core.align_up(item, walk.top), |(_, start)| start)
    }
}

impl Node {
    /// Adds what is there for a part of the span; how many entries had to move.
    fn add(&mut self, placed: Placed) -> usize {
        let at = self.parts.partition_point(|other| other.offset < placed.offset);
        self.parts.insert(at, placed);
        self.parts.len() - at
    }

    /// Adds what is there for all of the span; how many entries had to move.
    fn cover(&mut self, offset: u64, end: u64) -> usize {
        let at = self.runs.partition_point(|run| run.0 < offset);
        let above = self.runs.get(at).is_some_and(|run| run.0 == end);
        let below = at > 0 && self.runs[at - 1].1 == offset;
        match (below, above) {
            (true, true) => self.runs[at - 1].1 = self.runs.remove(at).1,
            (true, false) => self.runs[at - 1].1 = end,
            (false, true) => self.runs[at].0 = offset,
            (false, false) => self.runs.insert(at, (offset, end)),
        }
        if below == above { self.runs.len() - at } else { 0 }
    }
}

impl Walk {
    fn meets(&self, other: &Placed) -> bool {
        other.first < self.last && self.first < other.last
    }

    /// Walks over what is in a node, until there is no better gap to find.
    fn node(&mut self, node: &Node) {
        let mut parts = &node.parts[..];
        for &(offset, end) in &node.runs {
            self.steps += 1;
            if offset.saturating_sub(self.top) >= self.size {
                // What is below the run before was skipped.
                if parts.first().is_some_and(|other| other.offset < self.top) {
                    parts = &parts[parts.partition_point(|other| other.offset < self.top)..];
                    self.steps += 4;
                }
                let here = self.parts(parts, offset);
                self.close(offset);
                if self.done {
                    return;
                }
                parts = &parts[here..];
            }
            self.top = end;
        }
        self.parts(&parts[parts.partition_point(|other| other.offset < self.top)..], u64::MAX);
    }

    /// Walks over those that start below `limit`; how many there are, if all were of interest.
    fn parts(&mut self, parts: &[Placed], limit: u64) -> usize {
        let mut count = 0;
        for other in parts {
            if self.done || other.offset >= limit {
                break;
            }
            count += 1;
            if self.meets(other) {
                self.close(other.offset);
                self.top = self.top.max(other.end);
            }
        }
        self.steps += count as u64;
        count
    }

    /// Looks at the gap from the top to `offset`.
    fn close(&mut self, offset: u64) {
        let start = (self.top + self.mask) & !self.mask;
        if self.done || start + self.size > offset {
            return;
        }
        let gap = offset - self.top;
        if self.best.is_none_or(|best| gap < best.0) {
            self.best = Some((gap, start));
        }
        // Nothing is smaller than what it fills.
        self.done = self.gap == Gap::First || gap == self.size;
    }
}

#[cfg(test)]
mod tests;
