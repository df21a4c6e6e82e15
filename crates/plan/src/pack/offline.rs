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

/// An offset as it is kept: in four bytes as long as all of them fit, since the lists are most of
/// the memory that packing takes.
trait Kept: Copy + Default + Into<u64> {
    /// The offset, if it fits.
    fn keep(offset: u64) -> Option<Self>;
}

impl Kept for u32 {
    fn keep(offset: u64) -> Option<u32> {
        offset.try_into().ok()
    }
}

impl Kept for u64 {
    fn keep(offset: u64) -> Option<u64> {
        Some(offset)
    }
}

/// A placed item, as the walk sees it.
#[derive(Debug, Clone, Copy)]
struct Placed<N> {
    offset: N,
    end: N,
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
    let mut made = Placement { offsets: vec![0; core.len()], height: 0 };
    if core.fullest().1 > u64::from(u32::MAX / 2) {
        let mut tree = Tree::<u64>::new(core);
        tree.place(core, order, gap, &mut made, &mut more)?;
        more(tree.steps);
        return Some(made);
    }
    let mut tree = Tree::<u32>::new(core);
    let steps = match tree.place(core, order, gap, &mut made, &mut more)? {
        0 => tree.steps,
        left => {
            let mut tree = tree.widened();
            tree.place(core, &order[order.len() - left..], gap, &mut made, &mut more)?;
            tree.steps
        }
    };
    // It is done: whether there is more to spend does not matter.
    more(steps);
    Some(made)
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
struct Node<N> {
    /// Offset and end of what is there for all of the span. In ascending order; none touch.
    runs: Vec<(N, N)>,
    /// Where in [`Tree::parts`] its list starts.
    start: usize,
    /// How many of it are there.
    count: usize,
}

/// Placed items by span of time.
#[derive(Debug)]
struct Tree<N> {
    /// Node 1 holds all sections, nodes `2i` and `2i + 1` the halves of node `i`.
    nodes: Vec<Node<N>>,
    /// For every node what is there for a part of its span, sorted by offset. All of it is between
    /// the node's runs. How many there will be in the end is known, so no list ever moves.
    parts: Vec<Placed<N>>,
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
    wide: Vec<Placed<N>>,
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

impl<N: Kept> Tree<N> {
    fn new(core: &Core) -> Tree<N> {
        let spans = core.first.iter().zip(&core.last);
        let sum: u64 = spans.map(|(first, last)| u64::from(last - first)).sum();
        let mean = sum / (core.len() as u64).max(1);
        // Smaller leaves cost more to fill with what lives long than they save.
        let leaf = (mean / 2).max(16).next_power_of_two().ilog2();
        let whole = core.sections.max(1).next_power_of_two().ilog2();
        let leaf = leaf.min(whole).max(whole.saturating_sub(16));
        let depth = whole - leaf;
        let mut nodes: Vec<Node<N>> = vec![Node::default(); 2 << depth];
        let many = core.len() >= MANY;
        let (levels, entry) = if many { (FEWER_LEVELS, FAR_ENTRY) } else { (LEVELS, ENTRY) };
        let levels = levels.min(depth);
        // What is partial is the first or the last that an item touches.
        for (&first, &last) in core.first.iter().zip(&core.last) {
            for up in 0..=levels {
                let base = (1usize << depth) >> up;
                let (from, to) = (first >> (leaf + up), (last - 1) >> (leaf + up));
                for place in [Some(from), (to != from).then_some(to)].into_iter().flatten() {
                    if !covers(first, last, place, leaf + up) {
                        nodes[base + place as usize].start += 1;
                    }
                }
            }
        }
        let mut all = 0;
        for node in &mut nodes {
            all += std::mem::replace(&mut node.start, all);
        }
        let none = Placed { offset: N::default(), end: N::default(), first: 0, last: 0 };
        let parts = vec![none; all];
        Tree { nodes, parts, depth, leaf, levels, entry, steps: 0, wide: Vec::new() }
    }

    /// What is in a node for a part of its span.
    fn parts(&self, node: usize) -> &[Placed<N>] {
        let Node { start, count, .. } = self.nodes[node];
        &self.parts[start..start + count]
    }

    /// Adds what is in a node for a part of its span; how many entries had to move.
    fn add(&mut self, node: usize, placed: Placed<N>) -> usize {
        let offset = placed.offset.into();
        let at = self.parts(node).partition_point(|other| other.offset.into() < offset);
        let Node { start, count, .. } = &mut self.nodes[node];
        let list = &mut self.parts[*start..=*start + *count];
        list.copy_within(at..*count, at + 1);
        list[at] = placed;
        *count += 1;
        *count - at
    }

    /// Places items in the given order; how many are left from the first on whose end is too
    /// large to be kept. None if `more` says to stop.
    fn place(
        &mut self,
        core: &Core,
        order: &[u32],
        gap: Gap,
        made: &mut Placement,
        more: &mut impl FnMut(u64) -> bool,
    ) -> Option<usize> {
        for (place, &item) in order.iter().enumerate() {
            if self.steps >= LOOK && !more(std::mem::take(&mut self.steps)) {
                return None;
            }
            let index = item as usize;
            let before = self.steps;
            let offset = self.find(core, index, gap);
            let end = offset + core.size[index];
            let (Some(offset), Some(kept)) = (N::keep(offset), N::keep(end)) else {
                // Whoever goes on from here finds it again, and counts the steps.
                self.steps = before;
                return Some(order.len() - place);
            };
            made.offsets[index] = offset.into();
            made.height = made.height.max(end);
            let (first, last) = (core.first[index], core.last[index]);
            self.insert(Placed { offset, end: kept, first, last });
        }
        Some(0)
    }

    fn insert(&mut self, placed: Placed<N>) {
        let (first, last) = (placed.first >> self.leaf, (placed.last - 1) >> self.leaf);
        for up in 0..=self.levels {
            let base = (1usize << self.depth) >> up;
            let width = self.leaf + up;
            for place in first >> up..=last >> up {
                let node = base + place as usize;
                let moved = if covers(placed.first, placed.last, place, width) {
                    self.nodes[node].cover(placed.offset, placed.end)
                } else {
                    self.add(node, placed)
                };
                self.steps += self.entry + (moved / MOVES) as u64;
            }
        }
    }

    fn find(&mut self, core: &Core, item: usize, gap: Gap) -> u64 {
        let (first, last, size) = (core.first[item], core.last[item], core.size[item]);
        let mask = core.mask(item);
        let (best, done, steps) = (None, false, 16);
        let mut walk = Walk { first, last, size, mask, gap, top: 0, best, done, steps };
        let (from, to) = (first >> self.leaf, (last - 1) >> self.leaf);
        let apart = 32 - (from ^ to).leading_zeros();
        if apart <= self.levels {
            let node = ((1usize << self.depth) + from as usize) >> apart;
            walk.node(&self.nodes[node].runs, self.parts(node));
        } else {
            // No node holds the lifetime: what several hold is gathered.
            let base = (1usize << self.depth) >> self.levels;
            let nodes = base + (from as usize >> self.levels)..=base + (to as usize >> self.levels);
            self.wide.clear();
            for Node { runs, start, count } in &self.nodes[nodes] {
                let parts = &self.parts[*start..*start + *count];
                let run = |&(offset, end): &(N, N)| Placed { offset, end, first, last };
                self.wide.extend(runs.iter().map(run));
                self.wide.extend(parts.iter().filter(|other| walk.meets(other)));
                walk.steps += (runs.len() + parts.len()) as u64;
            }
            // Every node's are in order already, which this sort makes use of.
            self.wide.sort_by_key(|other| other.offset.into());
            walk.steps += 2 * self.wide.len() as u64;
            walk.parts(&self.wide, u64::MAX);
        }
        self.steps += walk.steps;
        walk.best.map_or_else(|| core.align_up(item, walk.top), |(_, start)| start)
    }
}

impl Tree<u32> {
    /// The same with room for larger offsets.
    fn widened(self) -> Tree<u64> {
        let wide = |placed: Placed<u32>| {
            let Placed { offset, end, first, last } = placed;
            Placed { offset: offset.into(), end: end.into(), first, last }
        };
        let node = |node: Node<u32>| Node {
            runs: node.runs.into_iter().map(|(from, to)| (from.into(), to.into())).collect(),
            start: node.start,
            count: node.count,
        };
        let Tree { nodes, parts, depth, leaf, levels, entry, steps, wide: _ } = self;
        let nodes = nodes.into_iter().map(node).collect();
        let parts = parts.into_iter().map(wide).collect();
        Tree { nodes, parts, depth, leaf, levels, entry, steps, wide: Vec::new() }
    }
}

/// Whether `first..last` has all of a node's span of `1 << width` sections.
fn covers(first: u32, last: u32, place: u32, width: u32) -> bool {
    let (from, to) = (u64::from(place) << width, u64::from(place + 1) << width);
    u64::from(first) <= from && to <= u64::from(last)
}

impl<N: Kept> Node<N> {
    /// Adds what is there for all of the span; how many entries had to move.
    fn cover(&mut self, offset: N, end: N) -> usize {
        let at = self.runs.partition_point(|run| run.0.into() < offset.into());
        let above = self.runs.get(at).is_some_and(|run| run.0.into() == end.into());
        let below = at > 0 && self.runs[at - 1].1.into() == offset.into();
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
    fn meets<N>(&self, other: &Placed<N>) -> bool {
        other.first < self.last && self.first < other.last
    }

    /// Walks over what is in a node, until there is no better gap to find.
    fn node<N: Kept>(&mut self, runs: &[(N, N)], mut parts: &[Placed<N>]) {
        let starts_below = |other: &Placed<N>, limit: u64| other.offset.into() < limit;
        for &(offset, end) in runs {
            let offset = offset.into();
            self.steps += 1;
            if offset.saturating_sub(self.top) >= self.size {
                // What is below the run before was skipped.
                if parts.first().is_some_and(|other| starts_below(other, self.top)) {
                    parts = &parts[parts.partition_point(|other| starts_below(other, self.top))..];
                    self.steps += 4;
                }
                let here = self.parts(parts, offset);
                self.close(offset);
                if self.done {
                    return;
                }
                parts = &parts[here..];
            }
            self.top = end.into();
        }
        let rest = parts.partition_point(|other| starts_below(other, self.top));
        self.parts(&parts[rest..], u64::MAX);
    }

    /// Walks over those that start below `limit`; how many there are, if all were of interest.
    fn parts<N: Kept>(&mut self, parts: &[Placed<N>], limit: u64) -> usize {
        let mut count = 0;
        for other in parts {
            let offset = other.offset.into();
            if self.done || offset >= limit {
                break;
            }
            count += 1;
            if self.meets(other) {
                self.close(offset);
                self.top = self.top.max(other.end.into());
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
