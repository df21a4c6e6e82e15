//! Steps that run at the same time must not disturb each other.

use super::error::ScheduleError;
use super::groups::Groups;
use crate::Schedule;

/// One touch: root, first byte, one after the last, step, whether it writes, the buffer.
type Touch = (u32, u64, u64, u32, bool, u32);

/// Checks that levels are complete and never fall, and that no step writes what another of its
/// level touches.
pub(crate) fn check(schedule: &Schedule, groups: &Groups) -> Result<(), ScheduleError> {
    let steps = &schedule.steps;
    let mut start = 0;
    for (index, step) in steps.iter().enumerate() {
        let first = &steps[start];
        if step.level.is_some() != first.level.is_some() {
            let has = step.level.is_some();
            return Err(ScheduleError::MixedLevels { step: step.name.clone(), has });
        }
        let (Some(level), Some(before)) = (step.level, first.level) else { continue };
        if level < before {
            return Err(ScheduleError::LevelOrder { step: step.name.clone(), level, before });
        }
        if level > before {
            conflict(schedule, groups, start..index, before)?;
            start = index;
        }
    }
    match steps.get(start).and_then(|step| step.level) {
        Some(level) => conflict(schedule, groups, start..steps.len(), level),
        None => Ok(()),
    }
}

/// The furthest end of a touch, and the furthest of another step.
#[derive(Clone, Copy, Default)]
struct Reach {
    best: (u64, u32),
    other: (u64, u32),
}

impl Reach {
    fn add(&mut self, end: u64, step: u32) {
        if step == self.best.1 && self.best.0 > 0 {
            self.best.0 = self.best.0.max(end);
        } else if end > self.best.0 {
            (self.other, self.best) = (self.best, (end, step));
        } else if end > self.other.0 {
            self.other = (end, step);
        }
    }

    /// A step other than `step` that reaches beyond `start`.
    fn beyond(&self, start: u64, step: u32) -> Option<u32> {
        let (end, owner) = if self.best.1 == step { self.other } else { self.best };
        (end > start && owner != step).then_some(owner)
    }
}

fn conflict(
    schedule: &Schedule,
    groups: &Groups,
    range: std::ops::Range<usize>,
    level: u32,
) -> Result<(), ScheduleError> {
    if range.len() < 2 {
        return Ok(());
    }
    let mut touches: Vec<Touch> = Vec::new();
    for index in range {
        for (buffer, writes) in schedule.steps[index].touches() {
            let bytes = groups.range(schedule, buffer);
            if !bytes.is_empty() {
                let root = groups.root[buffer];
                touches.push((root, bytes.start, bytes.end, index as u32, writes, buffer as u32));
            }
        }
    }
    touches.sort_unstable();
    let (mut all, mut written) = (Reach::default(), Reach::default());
    let mut current = None;
    for (root, start, end, step, writes, buffer) in touches {
        if current != Some(root) {
            (all, written) = (Reach::default(), Reach::default());
            current = Some(root);
        }
        let reach = if writes { &all } else { &written };
        if let Some(other) = reach.beyond(start, step) {
            let (first, second) = (step.min(other) as usize, step.max(other) as usize);
            return Err(ScheduleError::LevelConflict {
                first: schedule.steps[first].name.clone(),
                second: schedule.steps[second].name.clone(),
                level,
                buffer: schedule.buffers[buffer as usize].name.clone(),
            });
        }
        all.add(end, step);
        if writes {
            written.add(end, step);
        }
    }
    Ok(())
}
