//! Whether a schedule fits into a number of bytes, and if not, who is in the way.

use std::ops::Range;

use crate::in_place::{matches, merge};
use crate::lifetimes::Lifetimes;
use crate::make::{by_key, finish, problem};
use crate::plan::{Arena, Plan, PlanError};
use crate::{Fit, Options, Packer, PlannerMode, Problem, Schedule, fit, lower_bound, plan};

/// Whether a schedule fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Capacity {
    /// It does, like this.
    Fits(Plan),
    /// It cannot.
    Impossible(Shortage),
    /// The budget ended before one or the other was certain.
    Unknown {
        /// The smallest plan that was found.
        best: Plan,
        /// Who needs most, and how much of it is certain.
        peak: Shortage,
    },
}

/// Who needs too much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortage {
    /// What all arenas need together at least.
    pub bytes: u64,
    /// When it is needed.
    pub times: Range<u64>,
    /// The step that runs then, by index: the first, if there are several.
    pub step: Option<usize>,
    /// The buffers that are in use then, the largest first.
    pub buffers: Vec<usize>,
}

/// Looks for a plan of `schedule` that takes at most `bytes` in all arenas together.
///
/// ```
/// use tenure_plan::{BufferSpec, Capacity, Options, Schedule, Step, capacity};
/// let schedule = Schedule {
///     buffers: vec![BufferSpec::new("a", 1024), BufferSpec::new("b", 512)],
///     steps: vec![Step::new("make", [], [0]), Step::new("use", [0], [1])],
/// };
/// let Capacity::Impossible(why) = capacity(&schedule, 1024, &Options::default())? else { panic!() };
/// assert_eq!((why.bytes, why.step, why.buffers), (1536, Some(1), vec![0, 1]));
/// assert!(matches!(capacity(&schedule, 1536, &Options::default())?, Capacity::Fits(_)));
/// # Ok::<(), tenure_plan::PlanError>(())
/// ```
///
/// # Errors
///
/// [`PlanError`], if the schedule makes no sense.
pub fn capacity(
    schedule: &Schedule,
    bytes: u64,
    options: &Options<'_>,
) -> Result<Capacity, PlanError> {
    let lifetimes = Lifetimes::new(schedule)?;
    let taken = matches(schedule, &lifetimes);
    let keys = by_key(&lifetimes.tenants);
    let (_, wholes) = merge(&lifetimes.tenants, &taken, u64::min, |_, _| true);
    let mut least = 0;
    let mut peak: Option<(u64, Problem)> = None;
    for &key in keys.keys() {
        let own: Vec<_> = wholes.iter().filter(|whole| whole.key == key).copied().collect();
        let problem = problem(&own)?;
        let bound = lower_bound(&problem);
        least += bound;
        if peak.as_ref().is_none_or(|(most, _)| bound > *most) {
            peak = Some((bound, problem));
        }
    }
    if least > bytes {
        return Ok(Capacity::Impossible(shortage(&lifetimes, peak.as_ref(), least)));
    }
    // Without in-place sharing and in one arena, whether it fits is one question.
    if let (Some((&key, _)), 1, true) =
        (keys.first_key_value(), keys.len(), wholes.len() == lifetimes.tenants.len())
    {
        let problem = problem(&lifetimes.tenants)?;
        let align = lifetimes.tenants.iter().map(|tenant| tenant.align).max().unwrap_or(1);
        let made = |packing: crate::Packing| {
            let crate::Packing { offsets, bytes, lower_bound, optimal } = packing;
            let (device, lane) = (key.device, key.lane);
            let arena = Arena { device, lane, bytes, align, lower_bound, optimal };
            let places: Vec<_> = offsets.into_iter().map(|offset| (0, offset)).collect();
            let mode = PlannerMode::Arena;
            finish(&lifetimes, mode, Some(Packer::Best), vec![arena], &places, lower_bound)
        };
        return Ok(match fit(&problem, bytes, options) {
            Fit::Fits(packing) => Capacity::Fits(made(packing)),
            Fit::Impossible(obstacle) => {
                let buffers = obstacle.items.iter().map(|&item| lifetimes.tenants[item].buffer);
                let buffers = by_size(&lifetimes, buffers.collect());
                let step = step_at(&lifetimes, obstacle.times.start);
                let (bytes, times) = (obstacle.bytes, obstacle.times);
                Capacity::Impossible(Shortage { bytes, times, step, buffers })
            }
            Fit::Unknown { best } => {
                let peak = shortage(&lifetimes, peak.as_ref(), least);
                Capacity::Unknown { best: made(best), peak }
            }
        });
    }
    let best = plan(schedule, PlannerMode::Arena, Packer::Best, options)?;
    let peak = |least| shortage(&lifetimes, peak.as_ref(), least);
    Ok(if best.bytes <= bytes {
        Capacity::Fits(best)
    } else if best.lower_bound > bytes {
        Capacity::Impossible(peak(best.lower_bound))
    } else {
        let peak = peak(best.lower_bound);
        Capacity::Unknown { best, peak }
    })
}

/// Who is in use at the peak of the arena that needs most.
fn shortage(lifetimes: &Lifetimes, peak: Option<&(u64, Problem)>, bytes: u64) -> Shortage {
    // What does not fit into one byte less than the bound is what makes the bound.
    let obstacle = peak.and_then(|(bound, problem)| {
        let options = Options { work: 0, ..Options::default() };
        match fit(problem, bound.checked_sub(1)?, &options) {
            Fit::Impossible(obstacle) => Some(obstacle),
            _ => None,
        }
    });
    let times = obstacle.map_or(0..0, |obstacle| obstacle.times);
    let alive = |tenant: &&crate::Tenant| tenant.lower < times.end && times.start < tenant.upper;
    let buffers = lifetimes.tenants.iter().filter(alive).map(|tenant| tenant.buffer).collect();
    let step = step_at(lifetimes, times.start).filter(|_| !times.is_empty());
    Shortage { bytes, step, buffers: by_size(lifetimes, buffers), times }
}

/// The first step at a time.
fn step_at(lifetimes: &Lifetimes, time: u64) -> Option<usize> {
    let step = lifetimes.lanes.time.partition_point(|&other| u64::from(other) < time);
    (step < lifetimes.lanes.time.len()).then_some(step)
}

fn by_size(lifetimes: &Lifetimes, mut buffers: Vec<usize>) -> Vec<usize> {
    let bytes = |buffer: usize| match lifetimes.tenant(buffer) {
        Some(Ok((tenant, _))) => tenant.bytes,
        _ => 0,
    };
    buffers.sort_by_key(|&buffer| (std::cmp::Reverse(bytes(buffer)), buffer));
    buffers
}
