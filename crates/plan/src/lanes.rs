//! When bytes that several queues touch may be used again without making a queue wait.
//!
//! Queues ("lanes") run their steps in order, and one waits for another only where data passes:
//! a step after the writer of what it reads, and a writer after all who touched the bytes before.
//! Memory that is used again must not add to that. So a buffer is held until, in every lane that
//! may come next, only steps are left that are ordered after its last use anyway.

use crate::lists::{Chains, Lists};
use crate::schedule::groups::Groups;
use crate::{Lane, Schedule};

/// With more different ranges of one buffer than this, only touches of the same range are taken
/// as ordered: that holds bytes longer, and never too short.
const MAX_CELLS: usize = 64;

/// No step.
const NONE: u32 = u32::MAX;

/// Steps by lane and time.
#[derive(Debug, Clone)]
pub(crate) struct Lanes {
    /// Device and kind of each lane, in the order of first use.
    pub(crate) keys: Vec<(u32, Lane)>,
    /// The lane of each step.
    pub(crate) of: Vec<u32>,
    /// When each step runs: its index, or the rank of its level.
    pub(crate) time: Vec<u32>,
    /// Whether no other step of its lane runs at the same time.
    pub(crate) sole: Vec<bool>,
    /// One after the last time.
    pub(crate) times: u32,
}

impl Lanes {
    pub(crate) fn new(schedule: &Schedule) -> Lanes {
        let steps = &schedule.steps;
        let mut lanes = Lanes {
            keys: Vec::new(),
            of: Vec::with_capacity(steps.len()),
            time: Vec::with_capacity(steps.len()),
            sole: vec![true; steps.len()],
            times: 0,
        };
        // The last step of each lane so far.
        let mut last: Vec<u32> = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            let same = index > 0 && step.level.is_some() && step.level == steps[index - 1].level;
            lanes.times += u32::from(!same);
            let time = lanes.times - 1;
            let key = (step.device, step.lane);
            let lane = lanes.keys.iter().position(|&other| other == key).unwrap_or_else(|| {
                lanes.keys.push(key);
                last.push(NONE);
                lanes.keys.len() - 1
            });
            let before = std::mem::replace(&mut last[lane], index as u32);
            if before != NONE && lanes.time[before as usize] == time {
                lanes.sole[before as usize] = false;
                lanes.sole[index] = false;
            }
            lanes.of.push(lane as u32);
            lanes.time.push(time);
        }
        lanes
    }

    /// For each step, the time from which on all steps of `lane` are ordered after it.
    ///
    /// A step that is not alone in its level counts as done when its level is.
    pub(crate) fn ordered_after(&self, waits: &Waits, lane: usize) -> Vec<u32> {
        let lane = lane as u32;
        let steps = self.of.len();
        let end = (0..steps).rev().find(|&step| self.of[step] == lane);
        let end = end.map_or(0, |step| self.time[step] + 1);
        // From each step on, and from the end of each step's level on.
        let mut reach = vec![NONE; steps];
        let mut done = vec![NONE; steps];
        // Per lane: the level being gathered, its best, and the best of all later levels.
        let mut levels = vec![(NONE, NONE, NONE); self.keys.len()];
        for step in (0..steps).rev() {
            let (time, own) = (self.time[step], self.of[step]);
            let level = &mut levels[own as usize];
            if level.0 != time {
                *level = (time, NONE, level.1.min(level.2));
            }
            let later = level.2;
            let mut best = later;
            for &after in waits.after(step) {
                best = best.min(self.value(after as usize, lane, &reach));
            }
            reach[step] = best;
            done[step] = if self.sole[step] { best } else { later };
            level.1 = level.1.min(self.value(step, lane, &reach));
        }
        for time in &mut done {
            *time = (*time).min(end);
        }
        done
    }

    /// The time from which on all of `lane` is `step` or ordered after it.
    fn value(&self, step: usize, lane: u32, reach: &[u32]) -> u32 {
        let own = self.time[step] + u32::from(!self.sole[step]);
        if self.of[step] == lane { own.min(reach[step]) } else { reach[step] }
    }
}

/// Which steps of other lanes wait for a step, because of data.
#[derive(Debug)]
pub(crate) struct Waits {
    after: Lists,
}

impl Waits {
    /// `certain` are the buffers that certainly have bytes, if sizes and offsets can be smaller
    /// than they are here: then only touches of one of these themselves are taken as ordered.
    pub(crate) fn new(
        schedule: &Schedule,
        groups: &Groups,
        lanes: &Lanes,
        certain: Option<&[bool]>,
    ) -> Waits {
        let steps = schedule.steps.len();
        if lanes.keys.len() < 2 {
            return Waits { after: Lists::of_pairs(steps, Vec::new()) };
        }
        let cells = Cells::new(schedule, groups, certain);
        // The last to write each range, and per lane the last to read it since.
        let mut writer = vec![NONE; cells.len()];
        let mut readers = Chains::new(cells.len());
        let mut edges: Vec<(u32, u32)> = Vec::new();
        // Whom one step waits for: of many views of one buffer, often the same.
        let mut before: Vec<u32> = Vec::new();
        for (index, step) in schedule.steps.iter().enumerate() {
            let (this, own) = (index as u32, lanes.of[index]);
            for (buffer, writes) in step.touches() {
                for cell in cells.meeting(cells.of(buffer)) {
                    before.extend(Some(writer[cell]).filter(|&step| step != NONE));
                    if writes {
                        before.extend(readers.of(cell));
                    }
                }
            }
            before.sort_unstable();
            before.dedup();
            let others = before.drain(..).filter(|&step| lanes.of[step as usize] != own);
            edges.extend(others.map(|step| (step, this)));
            for &buffer in &step.reads {
                readers.put(cells.of(buffer), this, |step| lanes.of[step as usize] == own);
            }
            for &buffer in &step.writes {
                let cell = cells.of(buffer);
                writer[cell] = this;
                readers.clear(cell);
            }
        }
        drop((cells, writer, readers));
        Waits { after: Lists::of_pairs(steps, edges) }
    }

    pub(crate) fn after(&self, step: usize) -> &[u32] {
        self.after.of(step)
    }

    /// For each step, whom it waits for.
    pub(crate) fn before(&self) -> Lists {
        self.after.inverted()
    }
}

/// The different ranges of each root: which one a buffer is, and which share bytes with which.
struct Cells<'a> {
    schedule: &'a Schedule,
    groups: &'a Groups,
    /// If there is a list of buffers with bytes, each buffer is a range of its own.
    certain: Option<&'a [bool]>,
    /// The range of each buffer.
    of: Vec<u32>,
    /// A buffer of each range. Those of a root are side by side.
    buffer: Vec<u32>,
}

impl<'a> Cells<'a> {
    fn new(schedule: &'a Schedule, groups: &'a Groups, certain: Option<&'a [bool]>) -> Cells<'a> {
        let mut cells = Cells { schedule, groups, certain, of: Vec::new(), buffer: Vec::new() };
        if certain.is_some() {
            return cells;
        }
        let key = |buffer: u32| {
            let range = groups.range(schedule, buffer as usize);
            (groups.root[buffer as usize], range.start, range.end)
        };
        let mut order: Vec<u32> = (0..schedule.buffers.len() as u32).collect();
        order.sort_unstable_by_key(|&buffer| (key(buffer), buffer));
        cells.of = vec![0; order.len()];
        let mut count = 0;
        for at in 0..order.len() {
            let buffer = order[at];
            if at == 0 || key(order[count - 1]) != key(buffer) {
                order[count] = buffer;
                count += 1;
            }
            cells.of[buffer as usize] = count as u32 - 1;
        }
        order.truncate(count);
        cells.buffer = order;
        cells
    }

    /// How many there are.
    fn len(&self) -> usize {
        self.certain.map_or(self.buffer.len(), <[bool]>::len)
    }

    /// The one of a buffer.
    fn of(&self, buffer: usize) -> usize {
        if self.certain.is_some() { buffer } else { self.of[buffer] as usize }
    }

    /// Those that share bytes with one.
    fn meeting(&self, cell: usize) -> impl Iterator<Item = usize> {
        let (from, to, all) = match self.certain {
            Some(certain) => (cell, cell + usize::from(certain[cell]), true),
            None => {
                let (below, above) = self.beside(cell);
                let many = below + 1 + above > MAX_CELLS;
                if many { (cell, cell + 1, true) } else { (cell - below, cell + above + 1, false) }
            }
        };
        let range = move |cell: usize| self.groups.range(self.schedule, self.buffer[cell] as usize);
        (from..to).filter(move |&other| {
            all || {
                let (one, other) = (range(cell), range(other));
                one.start.max(other.start) < one.end.min(other.end)
            }
        })
    }

    /// How many others of the same root are below and above one; counted up to the limit.
    fn beside(&self, cell: usize) -> (usize, usize) {
        let root = |cell: usize| self.groups.root[self.buffer[cell] as usize];
        let own = root(cell);
        let same = |other: &usize| root(*other) == own;
        let below = (0..cell).rev().take(MAX_CELLS).take_while(same).count();
        let above = (cell + 1..self.buffer.len()).take(MAX_CELLS).take_while(same).count();
        (below, above)
    }
}
