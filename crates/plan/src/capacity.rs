//! Whether a schedule fits into a number of bytes, and if not, who is in the way.

use std::ops::Range;

use crate::in_place::{matches, merge};
use crate::lifetimes::{ArenaKey, Lifetimes, Tenant};
use crate::lists::Lists;
use crate::make::{by_key, finish, problem};
use crate::plan::{Arena, Plan, PlanError};
use crate::{
    Fit, Obstacle, Options, Packer, Packing, PlannerMode, Problem, Schedule, fit, lower_bound, plan,
};

/// Whether a schedule fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Capacity {
    /// It does, like this.
    Fits(Plan),
    /// It cannot.
    Impossible(Shortage),
    /// Neither is certain: the budget ended, or only some in-place sharing might be enough.
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
    /// When it is needed: with several arenas, when the one that needs most does.
    pub times: Range<u64>,
    /// The step that runs then, by index: the first, if there are several.
    pub step: Option<usize>,
    /// The buffers that are in use then, the largest first.
    pub buffers: Vec<usize>,
    /// Buffers of the arena that needs most, the largest first, that are too many already for
    /// what the others leave of the capacity. As few as were found at little cost; none if it is
    /// not certain that there is a shortage. Where buffers share in place, all who do are named.
    pub too_many: Vec<usize>,
}

/// Looks for a plan of `schedule` that takes at most `bytes` in all arenas together.
///
/// [`Capacity::Fits`] comes with the plan and [`Capacity::Impossible`] is proven. What could not be
/// decided is [`Capacity::Unknown`]: if the budget ends, and where buffers share in place and
/// neither all nor none of that is enough.
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
    let needs = Needs::new(schedule)?;
    if needs.least > bytes {
        return Ok(Capacity::Impossible(needs.shortage(needs.least, Some(bytes))));
    }
    // Without in-place sharing and in one arena, whether it fits is one question.
    if needs.apart && needs.arenas.len() == 1 {
        return needs.in_one(schedule, bytes, options);
    }
    // Several arenas: the sum of what each needs at least, which is exact for those without
    // in-place sharing if the budget is enough. With it, who shares is a choice of its own, of
    // which two are tried, and the bound is that of the best choice there could be.
    // What is known so far takes memory, and is made again where it is asked for.
    drop(needs);
    let best = plan(schedule, PlannerMode::Arena, Packer::Best, options)?;
    if best.bytes <= bytes {
        return Ok(Capacity::Fits(best));
    }
    let needs = Needs::new(schedule)?;
    Ok(if best.lower_bound > bytes {
        Capacity::Impossible(needs.shortage(best.lower_bound, Some(bytes)))
    } else {
        let peak = needs.shortage(best.lower_bound, None);
        Capacity::Unknown { best, peak }
    })
}

/// What each arena needs at least, whoever shares in place.
struct Needs {
    lifetimes: Lifetimes,
    arenas: Vec<Need>,
    least: u64,
    /// Whether nobody shares in place.
    apart: bool,
}

/// What one arena needs at least.
struct Need {
    key: ArenaKey,
    /// Its tenants, those that may share in place as one.
    problem: Problem,
    /// Its tenants.
    members: Vec<u32>,
    /// The item of each.
    whole_of: Vec<u32>,
    bound: u64,
}

impl Needs {
    fn new(schedule: &Schedule) -> Result<Needs, PlanError> {
        let mut lifetimes = Lifetimes::new(schedule)?;
        let taken = matches(schedule, &lifetimes);
        // The search needs the memory more.
        lifetimes.touches = Lists::default();
        let (mut arenas, mut least) = (Vec::new(), 0);
        for (key, members) in by_key(&lifetimes.tenants) {
            let tenants = &lifetimes.tenants;
            let (whole_of, wholes) = merge(tenants, &members, &taken, u64::min, |_, _| true);
            let problem = problem(tenants, wholes)?;
            let bound = lower_bound(&problem);
            least += bound;
            arenas.push(Need { key, problem, members, whole_of, bound });
        }
        Ok(Needs { lifetimes, arenas, least, apart: taken.iter().all(Option::is_none) })
    }

    /// Whether everything fits into one arena, where nobody shares in place.
    fn in_one(
        mut self,
        schedule: &Schedule,
        bytes: u64,
        options: &Options<'_>,
    ) -> Result<Capacity, PlanError> {
        let arenas = self.arenas.drain(..).next();
        let Some(Need { key, problem, whole_of, .. }) = arenas else {
            return Ok(Capacity::Impossible(self.shortage(self.least, None)));
        };
        // What the search has no use for is made again where it is asked for.
        let Lifetimes { tenants, parts, .. } = self.lifetimes;
        let align = tenants.iter().map(|tenant| tenant.align).max().unwrap_or(1);
        drop(tenants);
        let answer = fit(&problem, bytes, options);
        drop(problem);
        let made = |packing: Packing| {
            let Packing { offsets, bytes, lower_bound, optimal } = packing;
            let ArenaKey { device, lane } = key;
            let arena = Arena { device, lane, bytes, align, lower_bound, optimal };
            let place = |&whole: &u32| (0, offsets[whole as usize]);
            let places: Vec<(usize, u64)> = whole_of.iter().map(place).collect();
            let mode = PlannerMode::Arena;
            finish(&parts, mode, Some(Packer::Best), vec![arena], &places, lower_bound)
        };
        Ok(match answer {
            Fit::Fits(packing) => Capacity::Fits(made(packing)),
            Fit::Impossible(obstacle) => {
                drop((parts, whole_of));
                Capacity::Impossible(Needs::new(schedule)?.refused(&obstacle))
            }
            Fit::Unknown { best } => {
                let best = made(best);
                drop((parts, whole_of));
                let needs = Needs::new(schedule)?;
                Capacity::Unknown { best, peak: needs.shortage(needs.least, None) }
            }
        })
    }

    /// Who is in use when the arena that needs most does; and if the capacity is known to be too
    /// small, who of them is too much for what the other arenas leave.
    fn shortage(&self, bytes: u64, capacity: Option<u64>) -> Shortage {
        let most = self.arenas.iter().rev().max_by_key(|need| need.bound);
        // What does not fit into one byte less than the bound is what makes the bound.
        let against = |need: &Need, room: u64| {
            let options = Options { work: 0, ..Options::default() };
            match fit(&need.problem, room, &options) {
                Fit::Impossible(obstacle) => Some(obstacle),
                _ => None,
            }
        };
        let peak = most.and_then(|need| against(need, need.bound.checked_sub(1)?));
        let times = peak.map_or(0..0, |peak| peak.times);
        let alive = |tenant: &&Tenant| tenant.lower < times.end && times.start < tenant.upper;
        let buffers = self.lifetimes.tenants.iter().filter(alive).map(|tenant| tenant.buffer);
        let too_many = most.zip(capacity).and_then(|(need, capacity)| {
            let others = self.least - need.bound;
            Some(self.buffers(need, &against(need, capacity.saturating_sub(others))?))
        });
        Shortage {
            bytes,
            step: self.step_at(times.start).filter(|_| !times.is_empty()),
            buffers: self.by_size(buffers.collect()),
            too_many: too_many.unwrap_or_default(),
            times,
        }
    }

    /// Who is in the way in the only arena.
    fn refused(&self, obstacle: &Obstacle) -> Shortage {
        let need = self.arenas.first();
        let too_many = need.map(|need| self.buffers(need, obstacle)).unwrap_or_default();
        let (bytes, times) = (obstacle.least, obstacle.times.clone());
        Shortage {
            bytes,
            step: self.step_at(times.start),
            times,
            buffers: too_many.clone(),
            too_many,
        }
    }

    /// The buffers of an obstacle's items.
    fn buffers(&self, need: &Need, obstacle: &Obstacle) -> Vec<usize> {
        let mut in_the_way = vec![false; need.problem.items().len()];
        obstacle.items.iter().for_each(|&item| in_the_way[item] = true);
        let members = need.members.iter().zip(&need.whole_of);
        let tenants = members.filter(|&(_, &whole)| in_the_way[whole as usize]);
        let buffers = tenants.map(|(&tenant, _)| self.lifetimes.tenants[tenant as usize].buffer);
        self.by_size(buffers.collect())
    }

    /// The first step at a time.
    fn step_at(&self, time: u64) -> Option<usize> {
        let times = &self.lifetimes.lanes.time;
        let step = times.partition_point(|&other| u64::from(other) < time);
        (step < times.len()).then_some(step)
    }

    fn by_size(&self, mut buffers: Vec<usize>) -> Vec<usize> {
        let bytes = |buffer: usize| match self.lifetimes.tenant(buffer) {
            Some(Ok((tenant, _))) => tenant.bytes,
            _ => 0,
        };
        buffers.sort_by_key(|&buffer| (std::cmp::Reverse(bytes(buffer)), buffer));
        buffers
    }
}
