//! What is planned: a schedule, and how its sizes depend on a number if they do.

use std::collections::BTreeMap;
use std::path::Path;

use tenure::models::{Graph, Node};
use tenure::plan::{
    Bytes, Dynamic, Options, Packer, Plan, PlanError, PlannerMode, Schedule, SizeError, plan,
};

use super::Problem;
use super::dim::Dim;
use crate::units;

/// A schedule, or one for each value of a number.
pub(super) struct Source {
    /// That of the largest number.
    pub(super) schedule: Schedule,
    dynamic: Option<Dynamic>,
    /// Several dimensions with ranges: the schedule has the largest sizes of all.
    several: Vec<Dim>,
}

impl Source {
    pub(super) fn fixed(schedule: Schedule) -> Result<Source, Problem> {
        schedule.validate().map_err(PlanError::from)?;
        Ok(Source { schedule, dynamic: None, several: vec![] })
    }

    /// Sizes that depend on a number, of which the command line may name a value or a range.
    pub(super) fn dynamic(mut dynamic: Dynamic, dims: &[Dim]) -> Result<Source, Problem> {
        for Dim { name, min, max } in dims {
            if *name != dynamic.variable {
                let (name, has) = (name.clone(), dynamic.variable);
                return Err(Problem::OtherVariable { name, has });
            }
            // Both must be announced; the error names those that are.
            dynamic.at(*min)?;
            dynamic.at(*max)?;
            (dynamic.min, dynamic.max) = (*min, *max);
        }
        let schedule = dynamic.at(dynamic.max)?;
        let dynamic = Some(dynamic).filter(|dynamic| dynamic.min < dynamic.max);
        Ok(Source { schedule, dynamic, several: vec![] })
    }

    /// A model of which some dimensions have ranges. `read` gives the graph for values.
    pub(super) fn ranged(
        path: &Path,
        dims: &[Dim],
        read: impl Fn(&BTreeMap<String, u64>) -> Result<Graph, Problem>,
    ) -> Result<Source, Problem> {
        let at = |value: &dyn Fn(&Dim) -> u64| {
            read(&dims.iter().map(|dim| (dim.name.clone(), value(dim))).collect())
        };
        let largest = at(&|dim| dim.max)?;
        let mut ranges = dims.iter().filter(|dim| dim.is_range());
        let Some(range) = ranges.next() else { return Source::fixed(largest.schedule()) };
        let smallest = at(&|dim| dim.min)?;
        alike(path, &smallest, &largest)?;
        let schedule = largest.schedule();
        if ranges.next().is_some() {
            let several = dims.iter().filter(|dim| dim.is_range()).cloned().collect();
            return Ok(Source { several, ..Source::fixed(schedule)? });
        }
        let between = at(&|dim| dim.min + (dim.max - dim.min) / 2)?;
        alike(path, &between, &largest)?;
        let sizes = |graph: &Graph| -> Vec<u64> {
            graph.schedule().buffers.iter().map(|spec| spec.bytes).collect()
        };
        let (low, middle) = (sizes(&smallest), sizes(&between));
        let mut bytes = vec![];
        for (index, spec) in schedule.buffers.iter().enumerate() {
            let ends = (low[index], spec.bytes);
            let line = line(range, ends).filter(|line| {
                line.at(range.min + (range.max - range.min) / 2) == Some(middle[index])
            });
            if let Some(line) = line {
                bytes.push((index, line));
            }
        }
        let Dim { name, min, max } = range.clone();
        let dynamic = Dynamic { schedule, variable: name, min, max, bytes, offsets: vec![] };
        Source::dynamic(dynamic, &[])
    }

    /// A plan that holds for every number.
    pub(super) fn plan(
        &self,
        mode: PlannerMode,
        packer: Packer,
        options: &Options<'_>,
    ) -> Result<Plan, Problem> {
        Ok(match &self.dynamic {
            Some(dynamic) => dynamic.plan(mode, packer, options)?,
            None => plan(&self.schedule, mode, packer, options)?,
        })
    }

    /// What the plan is good for, in words, if that is more than one value. `alone` is what the
    /// smallest number would take with a plan of its own.
    pub(super) fn range(&self, alone: Option<u64>) -> Option<String> {
        if let (Some(dynamic), Some(alone)) = (&self.dynamic, alone) {
            let Dynamic { variable, min, max, .. } = dynamic;
            let (grow, alone) = (self.grow(), units::bytes(alone));
            return Some(format!(
                "{variable} {min} to {max}: one plan for all, {grow} sizes grow with it; \
                 {variable} {min} alone would take {alone}"
            ));
        }
        let ranges =
            self.several.iter().map(|Dim { name, min, max }| format!("{name} {min} to {max}"));
        let ranges: Vec<String> = ranges.collect();
        (!ranges.is_empty()).then(|| format!("{}: one plan for all", ranges.join(", ")))
    }

    /// The schedule of the smallest number, if sizes depend on one.
    pub(super) fn smallest(&self) -> Option<Result<Schedule, SizeError>> {
        self.dynamic.as_ref().map(|dynamic| dynamic.at(dynamic.min))
    }

    /// How many sizes are affine in the number.
    fn grow(&self) -> usize {
        let grows = |(_, bytes): &&(usize, Bytes)| matches!(bytes, Bytes::Affine { per: 1.., .. });
        self.dynamic.as_ref().map_or(0, |dynamic| dynamic.bytes.iter().filter(grows).count())
    }

    /// Whether what holds for the largest number holds for all: with several lanes, a buffer that
    /// is empty for a small number makes no lane wait.
    pub(super) fn is_one_lane(&self) -> bool {
        let lane = |step: &tenure::plan::Step| (step.device, step.lane);
        let mut lanes = self.schedule.steps.iter().map(lane);
        let first = lanes.next();
        self.dynamic.is_none() || lanes.all(|lane| Some(lane) == first)
    }
}

/// The size as an affine function, if it can be one.
fn line(range: &Dim, (low, high): (u64, u64)) -> Option<Bytes> {
    let (rise, run) = (high.checked_sub(low)?, range.max - range.min);
    if rise % run != 0 {
        return None;
    }
    let per = rise / run;
    let base = low.checked_sub(per.checked_mul(range.min)?)?;
    Some(if per == 0 { Bytes::Fixed(base) } else { Bytes::Affine { base, per } })
}

/// Whether a step of the larger graph is one of the smaller. That may share more, not less.
fn serves(small: &Node, large: &Node) -> bool {
    (&small.name, &small.op, &small.inputs, &small.outputs)
        == (&large.name, &large.op, &large.inputs, &large.outputs)
        && large.alias.iter().all(|pair| small.alias.contains(pair))
        && large.in_place.iter().all(|pair| small.in_place.contains(pair))
}

/// Whether a plan of the larger graph is one of the smaller: the same steps on the same tensors,
/// none of which is larger.
fn alike(path: &Path, small: &Graph, large: &Graph) -> Result<(), Problem> {
    let path = || path.to_owned();
    let same = small.nodes.len() == large.nodes.len()
        && small.nodes.iter().zip(&large.nodes).all(|(small, large)| serves(small, large))
        && (&small.inputs, &small.outputs) == (&large.inputs, &large.outputs)
        && small.tensors.len() == large.tensors.len();
    if !same {
        return Err(Problem::OtherGraph { path: path() });
    }
    for (one, other) in small.tensors.iter().zip(&large.tensors) {
        if one.bytes > other.bytes {
            let (tensor, small, large) = (other.name.clone(), one.bytes, other.bytes);
            return Err(Problem::Shrinks { path: path(), tensor, small, large });
        }
    }
    Ok(())
}
