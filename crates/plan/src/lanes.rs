//! When bytes that several queues touch may be used again without making a queue wait.
//!
//! Queues ("lanes") run their steps in order, and one waits for another only where data passes:
//! a step after the writer of what it reads, and a writer after all who touched the bytes before.
//! Memory that is used again must not add to that. So a buffer is held until, in every lane that
//! may come next, only steps are left that are ordered after its last use anyway.

use std::collections::HashMap;

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
    after: Vec<u32>,
    start: Vec<u32>,
}

/// What happened to one range of bytes.
#[derive(Default)]
struct Cell {
    writer: Option<u32>,
    /// Per lane the last to read since.
    readers: Vec<u32>,
}

impl Waits {
    pub(crate) fn new(schedule: &Schedule, groups: &Groups, lanes: &Lanes) -> Waits {
        let steps = schedule.steps.len();
        if lanes.keys.len() < 2 {
            return Waits { after: Vec::new(), start: vec![0; steps + 1] };
        }
        let (cell_of, meets) = cells(schedule, groups);
        let mut state: Vec<Cell> = Vec::new();
        state.resize_with(meets.len(), Cell::default);
        let mut edges: Vec<(u32, u32)> = Vec::new();
        for (index, step) in schedule.steps.iter().enumerate() {
            let this = index as u32;
            let mut wait = |before: u32| {
                if before != this && lanes.of[before as usize] != lanes.of[index] {
                    edges.push((before, this));
                }
            };
            for (buffer, writes) in step.touches() {
                for &cell in &meets[cell_of[buffer] as usize] {
                    let cell = &state[cell as usize];
                    cell.writer.into_iter().for_each(&mut wait);
                    if writes {
                        cell.readers.iter().copied().for_each(&mut wait);
                    }
                }
            }
            for &buffer in &step.reads {
                let cell = &mut state[cell_of[buffer] as usize];
                let own = lanes.of[index];
                match cell.readers.iter_mut().find(|step| lanes.of[**step as usize] == own) {
                    Some(step) => *step = this,
                    None => cell.readers.push(this),
                }
            }
            for &buffer in &step.writes {
                let cell = &mut state[cell_of[buffer] as usize];
                cell.writer = Some(this);
                cell.readers.clear();
            }
        }
        edges.sort_unstable();
        edges.dedup();
        let mut start = vec![0u32; steps + 1];
        for &(before, _) in &edges {
            start[before as usize + 1] += 1;
        }
        for step in 0..steps {
            start[step + 1] += start[step];
        }
        Waits { after: edges.into_iter().map(|(_, after)| after).collect(), start }
    }

    pub(crate) fn after(&self, step: usize) -> &[u32] {
        &self.after[self.start[step] as usize..self.start[step + 1] as usize]
    }
}

/// The different ranges of each root: which one a buffer is, and which share bytes with which.
fn cells(schedule: &Schedule, groups: &Groups) -> (Vec<u32>, Vec<Vec<u32>>) {
    let mut ids: HashMap<(u32, u64, u64), u32> = HashMap::new();
    let mut of_root: HashMap<u32, Vec<(u64, u64, u32)>> = HashMap::new();
    let mut cell_of = Vec::with_capacity(schedule.buffers.len());
    for buffer in 0..schedule.buffers.len() {
        let (root, range) = (groups.root[buffer], groups.range(schedule, buffer));
        let next = ids.len() as u32;
        let id = *ids.entry((root, range.start, range.end)).or_insert_with(|| {
            of_root.entry(root).or_default().push((range.start, range.end, next));
            next
        });
        cell_of.push(id);
    }
    let mut meets = vec![Vec::new(); ids.len()];
    for cells in of_root.values() {
        for &(start, end, cell) in cells {
            if cells.len() > MAX_CELLS {
                meets[cell as usize].push(cell);
                continue;
            }
            let others = cells.iter().filter(|other| other.0 < end && start < other.1);
            meets[cell as usize].extend(others.map(|other| other.2));
        }
    }
    (cell_of, meets)
}
