//! A partial packing, built from below, and what follows from it.
//!
//! For every item that is not placed there is the lowest offset it can still have, for every
//! section the lowest offset at which something can still start in it (its floor): no less than
//! the least of its items. A section whose floor and remaining sizes exceed the capacity refutes
//! the partial packing. All changes are on a trail, so they can be taken back.

use super::core::{Core, Members};

/// The lowest offset of items that are placed: above all others.
pub(crate) const PLACED: u64 = u64::MAX;

/// A partial packing of a [`Core`] within a capacity.
#[derive(Debug)]
pub(crate) struct State<'a> {
    pub(crate) core: &'a Core,
    pub(crate) members: &'a Members,
    pub(crate) capacity: u64,
    /// The lowest offset each item can have; [`PLACED`] if it has one.
    pub(crate) low: Vec<u64>,
    /// Where the placed items are.
    pub(crate) offset: Vec<u64>,
    /// The lowest offset at which an item of the section can start.
    pub(crate) floor: Vec<u64>,
    /// Sum of the sizes in the section that are not placed.
    pub(crate) rest: Vec<u64>,
    /// How many items that are not placed are in both this section and the next.
    pub(crate) cross: Vec<u32>,
    /// Old values: of `low` for indices below the number of items, of `floor` above.
    trail: Vec<(u32, u64)>,
    /// Sections whose floor may have to rise.
    dirty: Vec<u32>,
    /// Whether a section is among them.
    is_dirty: Vec<bool>,
    /// The section that refuted last.
    pub(crate) culprit: usize,
    /// By how much the capacity was exceeded at least, whenever it was.
    pub(crate) excess: u64,
    /// Steps of the inner loop since someone counted.
    pub(crate) steps: u64,
}

impl<'a> State<'a> {
    /// Nothing placed yet. Call [`settle`](Self::settle) before anything else.
    pub(crate) fn new(core: &'a Core, members: &'a Members, capacity: u64) -> State<'a> {
        let mut rest = vec![0; core.sections];
        let mut cross = vec![0; core.sections];
        for item in 0..core.len() {
            for section in core.span(item) {
                rest[section] += core.size[item];
                cross[section] += u32::from(section + 1 < core.last[item] as usize);
            }
        }
        State {
            core,
            members,
            capacity,
            low: vec![0; core.len()],
            offset: vec![0; core.len()],
            floor: vec![0; core.sections],
            rest,
            cross,
            trail: Vec::new(),
            dirty: (0..core.sections as u32).collect(),
            is_dirty: vec![true; core.sections],
            culprit: 0,
            excess: u64::MAX,
            steps: 0,
        }
    }

    /// How far the trail goes, for [`undo`](Self::undo).
    pub(crate) fn mark(&self) -> usize {
        self.trail.len()
    }

    /// Puts an item at the lowest offset it can have. Call [`settle`](Self::settle) next.
    pub(crate) fn place(&mut self, item: usize) {
        let offset = self.low[item];
        self.trail.push((item as u32, offset));
        self.low[item] = PLACED;
        self.offset[item] = offset;
        let size = self.core.size[item];
        for section in self.core.span(item) {
            self.rest[section] -= size;
            self.set_floor(section, offset + size);
            self.touch(section);
        }
        for section in self.core.first[item]..self.core.last[item] - 1 {
            self.cross[section as usize] -= 1;
        }
    }

    /// Says that an item is at `low` or above. Call [`settle`](Self::settle) next.
    pub(crate) fn raise(&mut self, item: usize, low: u64) {
        let old = std::mem::replace(&mut self.low[item], low);
        self.trail.push((item as u32, old));
        for section in self.core.span(item) {
            // Elsewhere another item keeps the floor where it is.
            if self.floor[section] == old {
                self.touch(section);
            }
        }
    }

    fn set_floor(&mut self, section: usize, floor: u64) {
        let old = std::mem::replace(&mut self.floor[section], floor);
        self.trail.push(((self.core.len() + section) as u32, old));
    }

    fn touch(&mut self, section: usize) {
        if !std::mem::replace(&mut self.is_dirty[section], true) {
            self.dirty.push(section as u32);
        }
    }

    /// Draws all conclusions; false if there is no packing within the capacity.
    pub(crate) fn settle(&mut self) -> bool {
        let core = self.core;
        while let Some(section) = self.dirty.pop() {
            let section = section as usize;
            self.is_dirty[section] = false;
            let floor = self.floor[section];
            let mut least = PLACED;
            let members = self.members.of(section);
            self.steps += members.len() as u64 + 8;
            for &item in members {
                let item = item as usize;
                let mut low = self.low[item];
                if low < floor {
                    low = core.align_up(item, floor);
                    self.raise(item, low);
                }
                least = least.min(low);
            }
            if least == PLACED {
                continue;
            }
            if least > floor {
                self.set_floor(section, least);
            }
            if !self.fits(section, least) {
                for section in self.dirty.drain(..) {
                    self.is_dirty[section as usize] = false;
                }
                return false;
            }
        }
        true
    }

    /// Whether what remains in a section can start at `floor`.
    pub(crate) fn fits(&mut self, section: usize, floor: u64) -> bool {
        let end = floor.saturating_add(self.rest[section]);
        if end <= self.capacity {
            return true;
        }
        self.culprit = section;
        self.excess = self.excess.min(end - self.capacity);
        false
    }

    /// Takes back everything since `mark`; `placed` is the item placed since, if any.
    pub(crate) fn undo(&mut self, mark: usize, placed: Option<usize>) {
        let items = self.core.len();
        while self.trail.len() > mark {
            let Some((index, old)) = self.trail.pop() else { break };
            let index = index as usize;
            if index < items {
                self.low[index] = old;
            } else {
                self.floor[index - items] = old;
            }
        }
        if let Some(item) = placed {
            let size = self.core.size[item];
            for section in self.core.span(item) {
                self.rest[section] += size;
            }
            for section in self.core.first[item]..self.core.last[item] - 1 {
                self.cross[section as usize] += 1;
            }
        }
    }
}
