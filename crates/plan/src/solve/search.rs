//! Depth-first search for a packing within a capacity.
//!
//! A valley is a run of sections at one floor between higher ones. Whatever starts at its floor
//! lies inside of it, so the branches at one of its sections are: one of the items that can start
//! there does, or none does and the floor rises to where the next one could be held up. Sections
//! that no remaining item connects are searched one after the other, and if one of the groups has
//! no packing, the decision that made the groups is the one to revise.

mod ahead;

use std::ops::Range;

use super::nogood::Nogoods;
use super::options::Allowance;
use super::state::{PLACED, State};

/// Steps between two looks at the limits.
const LOOK: u64 = 1 << 18;

/// What a search came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All items have an offset.
    Found,
    /// There is no packing.
    Refuted,
    /// The nodes were used up.
    Limit,
}

/// A group of sections that remains to be packed, and the group after it.
#[derive(Debug, Clone, Copy)]
struct Group {
    from: u32,
    to: u32,
    /// The frame whose decision made the group.
    owner: u32,
    /// Index of the next group plus one; 0 for none.
    next: u32,
}

/// A decision: which item is at the floor of a section.
#[derive(Debug)]
struct Frame {
    group: Group,
    key: u128,
    section: u32,
    /// The candidates in the list of choices: the next one, and the end.
    choice: u32,
    end: u32,
    /// Whether raising the floor has been tried.
    skipped: bool,
    mark: u32,
    placed: Option<u32>,
    /// Length of the list of groups before.
    groups: u32,
}

/// The search, with what it learns from one run to the next.
#[derive(Debug)]
pub(crate) struct Search<'a> {
    pub(crate) state: State<'a>,
    pub(crate) nogoods: Nogoods,
    /// Which of the candidates go first: smaller is earlier.
    pub(crate) rank: Vec<u32>,
    /// Whether candidates are tried in the order of the room they leave, rather than by rank.
    pub(crate) ahead: bool,
    /// Whether the fullest section is decided first and items that lean on a wall are tried
    /// first, and then by rank. Otherwise the section with the fewest branches, by rank alone.
    pub(crate) lean: bool,
    /// The sections that have no packing, if that is the outcome.
    pub(crate) refuted: Range<usize>,
    /// Whether it is refuted before anything is placed.
    hopeless: bool,
    /// Room for sorting.
    scores: Vec<(f64, u32)>,
    frames: Vec<Frame>,
    groups: Vec<Group>,
    choices: Vec<u32>,
    /// Nodes visited so far.
    pub(crate) nodes: u64,
}

impl<'a> Search<'a> {
    pub(crate) fn new(state: State<'a>) -> Search<'a> {
        let (items, sections) = (state.core.len(), state.core.sections);
        Search {
            state,
            nogoods: Nogoods::default(),
            rank: (0..items as u32).collect(),
            ahead: false,
            lean: false,
            hopeless: false,
            scores: Vec::new(),
            refuted: 0..sections,
            frames: Vec::new(),
            groups: Vec::new(),
            choices: Vec::new(),
            nodes: 0,
        }
    }

    /// Searches from the start for at most `limit` nodes.
    pub(crate) fn run(&mut self, limit: u64, allowance: &mut Allowance<'_>) -> Outcome {
        self.hopeless = self.hopeless || !self.state.settle();
        if self.hopeless {
            self.refuted = self.state.culprit..self.state.culprit + 1;
            return Outcome::Refuted;
        }
        self.frames.clear();
        self.groups.clear();
        self.choices.clear();
        let mark = self.state.mark();
        let end = self.nodes.saturating_add(limit);
        let sections = self.state.core.sections as u32;
        let all = Group { from: 0, to: sections, owner: u32::MAX, next: 0 };
        let outcome = self.descend(all, end, allowance);
        allowance.spend(std::mem::take(&mut self.state.steps));
        while let Some(frame) = self.frames.pop() {
            self.state.undo(frame.mark as usize, frame.placed.map(|item| item as usize));
        }
        debug_assert_eq!(mark, self.state.mark());
        outcome
    }

    fn descend(&mut self, all: Group, end: u64, allowance: &mut Allowance<'_>) -> Outcome {
        let mut todo = self.split(all, u32::MAX, 0);
        loop {
            // Open the next group, or go back to the decision that made it.
            let failed = if let Some(&group) =
                todo.checked_sub(1).and_then(|i| self.groups.get(i as usize))
            {
                self.nodes += 1;
                if self.nodes > end || self.is_spent(allowance) {
                    return Outcome::Limit;
                }
                self.refuted = group.from as usize..group.to as usize;
                if self.open(group) { None } else { Some(group.owner) }
            } else {
                return Outcome::Found;
            };
            let mut failed = failed;
            // Take the next branch of the frame on top, or of the owner of what failed.
            loop {
                if let Some(owner) = failed {
                    while self.frames.len() as u64 > u64::from(owner) + 1 {
                        self.close();
                    }
                    if owner == u32::MAX {
                        while !self.frames.is_empty() {
                            self.close();
                        }
                        return Outcome::Refuted;
                    }
                }
                match self.branch() {
                    Some(next) => {
                        todo = next;
                        break;
                    }
                    None => {
                        let Some(frame) = self.frames.last() else { return Outcome::Refuted };
                        self.nogoods.add(frame.key);
                        self.refuted = frame.group.from as usize..frame.group.to as usize;
                        failed = Some(frame.group.owner);
                    }
                }
            }
        }
    }

    /// Counts the steps since the last look, now and then.
    fn is_spent(&mut self, allowance: &mut Allowance<'_>) -> bool {
        if self.state.steps < LOOK {
            return false;
        }
        allowance.spend(std::mem::take(&mut self.state.steps));
        allowance.is_spent()
    }

    /// Splits a group into those that no remaining item connects; returns the first plus one.
    /// Items that are alone are given their offset at once.
    fn split(&mut self, group: Group, owner: u32, rest: u32) -> u32 {
        let core = self.state.core;
        let mut next = rest;
        let mut from = group.from;
        for section in group.from..group.to {
            if section + 1 < group.to && self.state.cross[section as usize] > 0 {
                continue;
            }
            let mut only = None;
            let mut count = 0;
            for item in core.starting(from as usize, section as usize + 1) {
                if self.state.low[item] != PLACED {
                    only = Some(item);
                    count += 1;
                }
            }
            match (count, only) {
                (1, Some(item)) => self.state.offset[item] = self.state.low[item],
                (0, _) => {}
                _ => {
                    self.groups.push(Group { from, to: section + 1, owner, next });
                    next = self.groups.len() as u32;
                }
            }
            from = section + 1;
        }
        next
    }

    /// Opens a frame for a group; false if the group is known to have no packing.
    fn open(&mut self, group: Group) -> bool {
        let key = Nogoods::key(&self.state, group.from as usize, group.to as usize);
        if self.nogoods.has(key) {
            return false;
        }
        self.state.steps += u64::from(group.to - group.from);
        let section = self.choose(group);
        let choice = self.choices.len() as u32;
        self.candidates(section);
        if self.ahead {
            self.look_ahead(group, choice as usize);
        } else {
            self.sort(group, section, choice as usize);
        }
        self.frames.push(Frame {
            group,
            key,
            section: section as u32,
            choice,
            end: self.choices.len() as u32,
            skipped: false,
            mark: self.state.mark() as u32,
            placed: None,
            groups: self.groups.len() as u32,
        });
        true
    }

    /// Sorts the choices from `choice` on by rank.
    fn sort(&mut self, group: Group, section: usize, choice: usize) {
        let (rank, state, lean) = (&self.rank, &self.state, self.lean);
        let floor = state.floor[section];
        let inside = group.from as usize..group.to as usize;
        // Sides of an item on which the valley goes on.
        let open =
            |section: usize| u32::from(inside.contains(&section) && state.floor[section] == floor);
        let order = |&item: &u32| {
            let span = state.core.span(item as usize);
            let open = if lean { open(span.start.wrapping_sub(1)) + open(span.end) } else { 0 };
            (open, rank[item as usize])
        };
        self.choices[choice..].sort_unstable_by_key(order);
    }

    /// Closes the frame on top.
    fn close(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.state.undo(frame.mark as usize, frame.placed.map(|item| item as usize));
            self.groups.truncate(frame.groups as usize);
            // The choices of the frame start where those of the frame below end.
            let end = self.frames.last().map_or(0, |below| below.end);
            self.choices.truncate(end as usize);
        }
    }

    /// The section to decide next: in a valley, with few branches.
    fn choose(&self, group: Group) -> usize {
        let state = &self.state;
        let mut best = (u64::MAX, u64::MAX, group.from as usize);
        let mut from = group.from as usize;
        let end = group.to as usize;
        let mut left_higher = true;
        while from < end {
            let floor = state.floor[from];
            let mut to = from + 1;
            let mut tight = from;
            while to < end && state.floor[to] == floor {
                if state.rest[to] > state.rest[tight] {
                    tight = to;
                }
                to += 1;
            }
            let right_higher = to == end || state.floor[to] > floor;
            if left_higher && right_higher {
                let slack = state.capacity - floor - state.rest[tight];
                let mut branches = u64::from(slack > 0);
                for &item in self.state.members.of(tight) {
                    branches += u64::from(state.low[item as usize] == floor);
                }
                let key = if self.lean { (slack, branches) } else { (branches, slack) };
                best = best.min((key.0, key.1, tight));
            }
            left_higher = to < end && state.floor[to] < floor;
            from = to;
        }
        best.2
    }

    /// Lists the items that can start at the floor of a section, one of each set of twins.
    fn candidates(&mut self, section: usize) {
        let state = &self.state;
        let floor = state.floor[section];
        for &item in state.members.of(section) {
            let index = item as usize;
            if state.low[index] != floor {
                continue;
            }
            if state.core.twin[index] && state.low[index - 1] == floor {
                continue;
            }
            self.choices.push(item);
        }
    }

    /// Takes the next branch of the frame on top that is not refuted at once; returns the first
    /// of the groups to do, plus one.
    fn branch(&mut self) -> Option<u32> {
        loop {
            let owner = self.frames.len() as u32 - 1;
            let frame = self.frames.last_mut()?;
            self.state.undo(frame.mark as usize, frame.placed.take().map(|item| item as usize));
            self.groups.truncate(frame.groups as usize);
            let (group, section) = (frame.group, frame.section as usize);
            let alive = if frame.choice < frame.end {
                let item = self.choices[frame.choice as usize];
                frame.choice += 1;
                frame.placed = Some(item);
                self.nodes += 1;
                self.state.place(item as usize);
                self.state.settle()
            } else if !frame.skipped {
                frame.skipped = true;
                self.nodes += 1;
                self.skip(section, group) && self.state.settle()
            } else {
                return None;
            };
            if alive {
                return Some(self.split(group, owner, group.next));
            }
        }
    }

    /// Decides that nothing starts at the floor of a section; false if that cannot be.
    ///
    /// Take a packing in which nothing can be lowered. What is lowest in the section, of what
    /// remains, is either as low as it can be or on top of an item that is not in the section.
    fn skip(&mut self, section: usize, group: Group) -> bool {
        let (core, members) = (self.state.core, self.state.members);
        let floor = self.state.floor[section];
        let mut next = PLACED;
        for &item in members.of(section) {
            let low = self.state.low[item as usize];
            if low > floor {
                next = next.min(low);
            }
        }
        // The sections of the valley, left and right of this one.
        let (mut from, mut to) = (section, section + 1);
        while from > group.from as usize && self.state.floor[from - 1] == floor {
            from -= 1;
        }
        while to < group.to as usize && self.state.floor[to] == floor {
            to += 1;
        }
        for other in (from..section).chain(section + 1..to) {
            for &item in members.of(other) {
                let index = item as usize;
                let low = self.state.low[index];
                if low != PLACED && !core.span(index).contains(&section) {
                    next = next.min(low + core.size[index]);
                }
            }
        }
        if next == PLACED || !self.state.fits(section, next) {
            return false;
        }
        for &item in members.of(section) {
            let index = item as usize;
            if self.state.low[index] == floor {
                let low = core.align_up(index, next);
                self.state.raise(index, low);
            }
        }
        true
    }
}
