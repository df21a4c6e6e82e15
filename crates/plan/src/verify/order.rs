//! Whether steps of several lanes are in order, seen from the later one.

use super::VerifyError;
use crate::Schedule;
use crate::lanes::{Lanes, Waits};
use crate::lists::Lists;
use crate::schedule::groups::Groups;

/// One buffer follows another on a byte: all steps of `first` must come before all of `second`.
/// In place they share `step`, which then is between the others of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Demand {
    pub(super) first: usize,
    pub(super) second: usize,
    pub(super) step: Option<u32>,
}

/// The order of steps.
pub(super) struct Order {
    lanes: Lanes,
    /// Per root, the steps that touch it, in order.
    steps: Lists,
    /// Those of them that touch bytes: nobody waits for a view without any.
    touching: Lists,
}

impl Order {
    pub(super) fn new(schedule: &Schedule, groups: &Groups) -> Order {
        let steps = groups.touches(schedule, |_| true);
        let touching = groups.touches(schedule, |spec| spec.bytes > 0);
        Order { lanes: Lanes::new(schedule), steps, touching }
    }

    pub(super) fn steps(&self, root: usize) -> &[u32] {
        self.steps.of(root)
    }

    pub(super) fn time(&self, step: u32) -> u32 {
        self.lanes.time[step as usize]
    }

    /// Checks what time alone does not show: demands between buffers of several lanes.
    pub(super) fn check(
        &self,
        schedule: &Schedule,
        groups: &Groups,
        demands: &[Demand],
    ) -> Result<(), VerifyError> {
        let lane = |step: &u32| self.lanes.of[*step as usize];
        let across = |demand: &&Demand| {
            let mut all = self.steps(demand.first).iter().chain(self.steps(demand.second));
            let one = all.next().map(lane);
            all.any(|step| Some(lane(step)) != one)
        };
        let demands: Vec<&Demand> = demands.iter().filter(across).collect();
        if demands.is_empty() {
            return Ok(());
        }
        let before = Waits::new(schedule, groups, &self.lanes, None).before();
        for lane in 0..self.lanes.keys.len() as u32 {
            let clock = self.clock(&before, lane);
            for demand in &demands {
                if !self.holds(demand, lane, &clock) {
                    let name = |buffer: usize| schedule.buffers[buffer].name.clone();
                    let (first, second) = (name(demand.first), name(demand.second));
                    return Err(VerifyError::Unordered { first, second });
                }
            }
        }
        Ok(())
    }

    /// For each step, the time before which all steps of `lane` are known to be done.
    fn clock(&self, before: &Lists, lane: u32) -> Vec<u32> {
        let Lanes { of, time, sole, keys, .. } = &self.lanes;
        let mut clock = vec![0u32; of.len()];
        // Per lane: the time being looked at, the best of it, and the best of all before.
        let mut past = vec![(0u32, 0u32, 0u32); keys.len()];
        for step in 0..of.len() {
            let known = |other: usize, clock: &[u32]| {
                let own = time[other] + u32::from(sole[other]);
                if of[other] == lane { own.max(clock[other]) } else { clock[other] }
            };
            let level = &mut past[of[step] as usize];
            if level.0 != time[step] {
                *level = (time[step], 0, level.1.max(level.2));
            }
            let mut best = if of[step] == lane { time[step] } else { level.2 };
            for &other in before.of(step) {
                best = best.max(known(other as usize, &clock));
            }
            clock[step] = best;
            level.1 = level.1.max(known(step, &clock));
        }
        clock
    }

    /// Whether all steps of one in `lane` are done before any step of the other.
    fn holds(&self, demand: &Demand, lane: u32, clock: &[u32]) -> bool {
        let (first, second) = (self.steps(demand.first), self.steps(demand.second));
        let need = |steps: &[u32]| {
            let own = steps.iter().filter(|&&step| self.lanes.of[step as usize] == lane);
            own.map(|&step| self.time(step) + 1).max().unwrap_or(0)
        };
        let has = |steps: &[u32]| {
            steps.iter().map(|&step| clock[step as usize]).min().unwrap_or(u32::MAX)
        };
        match demand.step {
            None => has(second) >= need(first),
            // The step is the last of one and the first of the other.
            Some(step) => {
                let later = self.touching.of(demand.second).iter();
                let later: Vec<u32> = later.copied().filter(|&other| other != step).collect();
                has(&[step]) >= need(&first[..first.len() - 1])
                    && has(&later) >= self.done(step, lane)
            }
        }
    }

    /// What a clock must show for `step` to be done; of a step that is not alone in its level
    /// that cannot be seen, so those who wait for it by data are trusted.
    fn done(&self, step: u32, lane: u32) -> u32 {
        let at = step as usize;
        if self.lanes.of[at] != lane || !self.lanes.sole[at] { 0 } else { self.time(step) + 1 }
    }
}
