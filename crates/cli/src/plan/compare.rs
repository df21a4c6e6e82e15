//! Plans in every mode and by every packer.

use std::time::Instant;

use tenure::plan::{
    Capacity, Options, Packer, Plan, PlannerMode, Reorder, Reordered, Schedule, Shortage, capacity,
    plan, reorder,
};

use super::Problem;
use super::pools::Use;
use super::progress::Search;
use super::source::Source;
use crate::units;

/// Which modes and packers to compare.
pub(super) struct Wanted(Vec<(PlannerMode, Packer)>);

/// One plan and what it took.
pub(super) struct Made {
    pub(super) plan: Plan,
    pub(super) seconds: f64,
    /// Whether its search was ended by the user.
    pub(super) stopped: bool,
    pub(super) how: How,
}

/// What a plan was made for.
pub(super) enum How {
    /// A mode, as small as can be.
    Mode,
    /// Several memories.
    Pools(Vec<Use>),
    /// A schedule that has changed: how many buffers moved, and whether all were placed anew.
    Kept { moved: usize, anew: bool },
}

impl Made {
    /// What the plan is called: its mode, or what was asked for instead.
    pub(super) fn mode(&self) -> &'static str {
        match self.how {
            How::Mode => self.plan.mode.name(),
            How::Pools(_) => "pools",
            How::Kept { .. } => "kept",
        }
    }

    /// Whether more time could have made it smaller.
    fn searched(&self) -> bool {
        self.plan.packer == Some(Packer::Best)
    }
}

/// All plans, in the order in which they were asked for.
pub(super) struct Results {
    pub(super) made: Vec<Made>,
    /// Index of the smallest.
    pub(super) winner: usize,
}

impl Wanted {
    /// What the command line says, else the environment, else all.
    pub(super) fn new(modes: &[PlannerMode], packers: &[Packer]) -> Result<Wanted, Problem> {
        let said = PlannerMode::from_environment().map_err(Problem::Environment)?;
        let modes = match (modes, said) {
            ([], Some(mode)) => vec![mode],
            ([], None) => PlannerMode::ALL.to_vec(),
            (modes, _) => modes.to_vec(),
        };
        let packers = if packers.is_empty() { &Packer::ALL[..] } else { packers };
        let pairs = modes.into_iter().flat_map(|mode| {
            // Other modes do not pack.
            let packers = if mode == PlannerMode::Arena { packers } else { &[Packer::Best][..] };
            packers.iter().map(move |packer| (mode, *packer))
        });
        Ok(Wanted(pairs.collect()))
    }
}

impl Results {
    pub(super) fn winner(&self) -> Option<&Plan> {
        self.made.get(self.winner).map(|made| &made.plan)
    }

    /// Adds a plan that was asked for by more than its mode, which makes it the one to take.
    pub(super) fn add(
        &mut self,
        search: &Search,
        make: impl FnOnce() -> Result<(Plan, How), Problem>,
    ) -> Result<(), Problem> {
        self.made.push(timed(search, make)?);
        self.winner = self.made.len() - 1;
        Ok(())
    }

    /// Whether a search was ended before its answer was certain.
    pub(super) fn is_cut_short(&self) -> bool {
        self.made.iter().any(|made| made.stopped && !made.plan.optimal && made.searched())
    }
}

fn timed(
    search: &Search,
    make: impl FnOnce() -> Result<(Plan, How), Problem>,
) -> Result<Made, Problem> {
    let before = Instant::now();
    let (plan, how) = make()?;
    let seconds = before.elapsed().as_secs_f64();
    Ok(Made { plan, seconds, stopped: search.was_stopped(), how })
}

/// Makes all plans.
pub(super) fn compare(
    source: &Source,
    wanted: &Wanted,
    search: &Search,
) -> Result<Results, Problem> {
    let mut made = vec![];
    for &(mode, packer) in &wanted.0 {
        made.push(timed(search, || {
            let plan = search.run(|options| source.plan(mode, packer, options))?;
            Ok((plan, How::Mode))
        })?);
    }
    // Of equals the last, which is by the packer that packs best.
    let key = |(_, made): &(usize, &Made)| (made.plan.bytes, !made.plan.optimal);
    let winner = made.iter().enumerate().rev().min_by_key(key).map_or(0, |(index, _)| index);
    Ok(Results { made, winner })
}

/// What the smallest number would take with a plan of its own, if sizes depend on one.
pub(super) fn alone(source: &Source, search: &Search) -> Result<Option<u64>, Problem> {
    let Some(smallest) = source.smallest() else { return Ok(None) };
    let smallest = smallest?;
    let make = |options: &Options<'_>| plan(&smallest, PlannerMode::Arena, Packer::Best, options);
    Ok(Some(search.run(make)?.bytes))
}

/// The schedule in an order with a lower peak, if there is one.
pub(super) fn reordered(schedule: &Schedule, search: &Search) -> Result<Reordered, Problem> {
    Ok(search.run(|options| reorder(schedule, Reorder::default(), options))?)
}

/// Whether a schedule fits, and into what.
pub(super) struct Fits {
    capacity: u64,
    answer: Capacity,
}

/// Asks whether the schedule fits.
pub(super) fn fits(schedule: &Schedule, bytes: u64, search: &Search) -> Result<Fits, Problem> {
    let answer = search.run(|options| capacity(schedule, bytes, options))?;
    Ok(Fits { capacity: bytes, answer })
}

/// How many of those in the way are named.
const NAMED: usize = 5;

impl Fits {
    pub(super) fn plan(&self) -> Option<&Plan> {
        match &self.answer {
            Capacity::Fits(plan) => Some(plan),
            _ => None,
        }
    }

    pub(super) fn is_certain_to_fit(&self) -> bool {
        matches!(self.answer, Capacity::Fits(_))
    }

    pub(super) fn is_unknown(&self) -> bool {
        matches!(self.answer, Capacity::Unknown { .. })
    }

    /// The answer as a sentence.
    pub(super) fn words(&self, schedule: &Schedule) -> String {
        let capacity = size(self.capacity);
        match &self.answer {
            Capacity::Fits(plan) => format!("fits into {capacity}: takes {}", size(plan.bytes)),
            Capacity::Impossible(shortage) => {
                let needs = size(shortage.bytes);
                format!(
                    "does not fit into {capacity}: {needs} are needed {}{}",
                    who(schedule, shortage),
                    too_many(schedule, shortage)
                )
            }
            Capacity::Unknown { best, peak } => format!(
                "not known to fit into {capacity}: the smallest plan found takes {}; give the \
                 search more --time, or make room {}",
                size(best.bytes),
                who(schedule, peak)
            ),
        }
    }
}

fn size(bytes: u64) -> String {
    format!("{bytes} bytes ({})", units::bytes(bytes))
}

/// When most is needed, and by whom.
fn who(schedule: &Schedule, shortage: &Shortage) -> String {
    let when = shortage.step.and_then(|step| schedule.steps.get(step));
    let when = when.map_or_else(
        || format!("at time {}", shortage.times.start),
        |step| format!("at step {:?}", step.name),
    );
    format!("{when} by {}", names(schedule, &shortage.buffers))
}

/// Who is too much without the others, where those are not all that were named before.
fn too_many(schedule: &Schedule, shortage: &Shortage) -> String {
    let Shortage { buffers, too_many, .. } = shortage;
    if too_many.is_empty() || too_many == buffers {
        return String::new();
    }
    let are = if too_many.len() == 1 { "is" } else { "are" };
    format!("; {} {are} too much already", names(schedule, too_many))
}

/// Some buffers with their sizes, and how many more there are.
fn names(schedule: &Schedule, buffers: &[usize]) -> String {
    let named = buffers.iter().take(NAMED).filter_map(|&index| {
        let spec = schedule.buffers.get(index)?;
        Some(format!("{:?} ({})", spec.name, units::bytes(spec.bytes)))
    });
    let mut names: Vec<String> = named.collect();
    if buffers.len() > NAMED {
        names.push(format!("{} more", buffers.len() - NAMED));
    }
    names.join(", ")
}
