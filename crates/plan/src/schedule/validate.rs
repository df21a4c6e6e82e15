//! Whether a schedule makes sense, in time proportional to its length (and a logarithm).

use std::collections::HashMap;

use super::coverage::Coverage;
use super::error::{MAX_COUNT, MAX_LANES, ScheduleError};
use super::groups::Groups;
use super::levels;
use crate::problem::MAX_TOTAL;
use crate::{BufferSpec, Schedule};

impl Schedule {
    /// Checks that the schedule makes sense: all indices exist, names differ, views lie inside
    /// of their bases, sizes add up, what is read has contents, levels are in order.
    ///
    /// # Errors
    ///
    /// [`ScheduleError`], for the first thing that is wrong.
    pub fn validate(&self) -> Result<(), ScheduleError> {
        self.groups().map(|_| ())
    }

    /// Validates, and gives what that found out about views.
    pub(crate) fn groups(&self) -> Result<Groups, ScheduleError> {
        self.check_counts()?;
        self.check_names()?;
        self.check_sizes()?;
        let groups = Groups::new(self)?;
        self.check_indices()?;
        levels::check(self, &groups)?;
        self.check_contents(&groups)?;
        Ok(groups)
    }

    fn check_counts(&self) -> Result<(), ScheduleError> {
        let touches = self.steps.iter().map(|step| step.reads.len() + step.writes.len()).sum();
        let hints = self.buffers.iter().map(|buffer| buffer.in_place.len()).sum();
        let counts = [
            ("buffers", self.buffers.len()),
            ("steps", self.steps.len()),
            ("reads and writes", touches),
            ("in-place hints", hints),
        ];
        for (what, count) in counts {
            if count > MAX_COUNT {
                return Err(ScheduleError::TooMany { what, count });
            }
        }
        let mut lanes: Vec<_> = Vec::new();
        for step in &self.steps {
            let lane = (step.device, step.lane);
            if !lanes.contains(&lane) {
                lanes.push(lane);
                if lanes.len() > MAX_LANES {
                    let step = step.name.clone();
                    return Err(ScheduleError::TooManyLanes { step, lanes: lanes.len() });
                }
            }
        }
        Ok(())
    }

    fn check_names(&self) -> Result<(), ScheduleError> {
        let mut names = HashMap::with_capacity(self.buffers.len());
        for (second, spec) in self.buffers.iter().enumerate() {
            if let Some(first) = names.insert(spec.name.as_str(), second) {
                return Err(ScheduleError::SameName { name: spec.name.clone(), first, second });
            }
        }
        Ok(())
    }

    fn check_sizes(&self) -> Result<(), ScheduleError> {
        let mut total = 0u64;
        for spec in &self.buffers {
            let &BufferSpec { bytes, align, .. } = spec;
            if !align.is_power_of_two() {
                return Err(ScheduleError::Align { buffer: spec.name.clone(), align });
            }
            if spec.view_of.is_some() {
                continue;
            }
            // Twice the alignment: once for a place that suits, once for a size rounded up.
            total = align
                .checked_mul(2)
                .and_then(|waste| bytes.checked_add(waste))
                .and_then(|most| total.checked_add(most))
                .filter(|&total| total <= MAX_TOTAL)
                .ok_or_else(|| ScheduleError::TooLarge { buffer: spec.name.clone(), bytes })?;
        }
        Ok(())
    }

    fn check_indices(&self) -> Result<(), ScheduleError> {
        let buffers = self.buffers.len();
        for spec in &self.buffers {
            if let Some(&other) = spec.in_place.iter().find(|&&other| other >= buffers) {
                let buffer = spec.name.clone();
                return Err(ScheduleError::NoSuchBase { buffer, other, buffers });
            }
        }
        for step in &self.steps {
            if let Some((buffer, _)) = step.touches().find(|&(buffer, _)| buffer >= buffers) {
                let step = step.name.clone();
                return Err(ScheduleError::NoSuchBuffer { step, buffer, buffers });
            }
        }
        Ok(())
    }

    fn check_contents(&self, groups: &Groups) -> Result<(), ScheduleError> {
        let mut coverage = Coverage::default();
        for (index, spec) in self.buffers.iter().enumerate() {
            if spec.input || spec.allocated || spec.partial || spec.disk {
                coverage.add(groups.root(index), groups.range(self, index));
            }
        }
        for step in &self.steps {
            for &buffer in &step.reads {
                if !coverage.has(groups.root(buffer), groups.range(self, buffer)) {
                    let buffer = self.buffers[buffer].name.clone();
                    return Err(ScheduleError::ReadBeforeWrite { step: step.name.clone(), buffer });
                }
            }
            for &buffer in &step.writes {
                let root = groups.root(buffer);
                if self.buffers[buffer].input || self.buffers[root].input {
                    let buffer = self.buffers[buffer].name.clone();
                    return Err(ScheduleError::WrittenInput { step: step.name.clone(), buffer });
                }
                coverage.add(root, groups.range(self, buffer));
            }
        }
        Ok(())
    }
}
