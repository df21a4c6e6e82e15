//! From a schedule to a plan, in each mode.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::in_place::{matches, merge};
use crate::lifetimes::{ArenaKey, Lifetimes, Tenant};
use crate::plan::{Arena, Placement, Plan, PlanError};
use crate::{Item, Options, Packer, Packing, PlannerMode, Problem, Schedule, lower_bound};

/// Decides which buffers of `schedule` share memory.
///
/// ```
/// use tenure_plan::{BufferSpec, Options, Packer, PlannerMode, Schedule, Step, plan, verify};
/// let schedule = Schedule {
///     buffers: vec![
///         BufferSpec { input: true, ..BufferSpec::new("x", 1024) },
///         BufferSpec::new("a", 4096),
///         BufferSpec::new("b", 2048),
///         BufferSpec::new("c", 4096),
///         BufferSpec { output: true, ..BufferSpec::new("y", 1024) },
///     ],
///     steps: vec![
///         Step::new("one", [0], [1]),
///         Step::new("two", [1], [2]),
///         Step::new("three", [2], [3]),
///         Step::new("four", [3], [4]),
///     ],
/// };
/// let plan = plan(&schedule, PlannerMode::Arena, Packer::Best, &Options::default())?;
/// assert_eq!((plan.bytes, plan.optimal), (4096 + 2048, true));
/// assert_eq!(plan.place(1), plan.place(3));
/// assert_eq!(verify(&schedule, &plan), Ok(()));
/// # Ok::<(), tenure_plan::PlanError>(())
/// ```
///
/// `packer` and `options` concern [`PlannerMode::Arena`] only. The budget holds for all arenas
/// together in time, and for each in work.
///
/// # Errors
///
/// [`PlanError`], if the schedule makes no sense.
pub fn plan(
    schedule: &Schedule,
    mode: PlannerMode,
    packer: Packer,
    options: &Options<'_>,
) -> Result<Plan, PlanError> {
    let lifetimes = Lifetimes::new(schedule)?;
    let taken = matches(schedule, &lifetimes);
    let (places, arenas, lower_bound) = match mode {
        PlannerMode::Disabled => disabled(&lifetimes, &taken)?,
        PlannerMode::Remap => remap(&lifetimes, &taken)?,
        PlannerMode::Arena => arena(&lifetimes, &taken, packer, options)?,
    };
    let packer = (mode == PlannerMode::Arena).then_some(packer);
    Ok(finish(&lifetimes, mode, packer, arenas, &places, lower_bound))
}

/// Arena and offset of each tenant, the arenas, and what no plan is smaller than.
type Made = (Vec<(usize, u64)>, Vec<Arena>, u64);

/// The plan of places for tenants.
pub(crate) fn finish(
    lifetimes: &Lifetimes,
    mode: PlannerMode,
    packer: Option<Packer>,
    arenas: Vec<Arena>,
    places: &[(usize, u64)],
    lower_bound: u64,
) -> Plan {
    let placements = lifetimes.part.iter().map(|part| match *part {
        Err(reason) => Placement::Excluded(reason),
        Ok((tenant, offset)) => {
            let (arena, start) = places[tenant as usize];
            Placement::At { arena, offset: start + offset }
        }
    });
    let placements = placements.collect();
    let bytes = arenas.iter().map(|arena| arena.bytes).sum();
    let optimal = bytes == lower_bound;
    Plan { mode, packer, arenas, placements, bytes, lower_bound, optimal }
}

/// Memory of its own for each.
fn disabled(lifetimes: &Lifetimes, taken: &[Option<u32>]) -> Result<Made, PlanError> {
    let own = |tenant: &Tenant| allocation(tenant, rounded(tenant), tenant.align);
    let arenas: Vec<Arena> = lifetimes.tenants.iter().map(own).collect();
    let places = (0..arenas.len()).map(|arena| (arena, 0)).collect();
    Ok((places, arenas, least(lifetimes, taken)?))
}

/// One allocation for buffers of a class that are not in use at the same time. Giving each the
/// allocation that was free first takes as few as are in use at once.
fn remap(lifetimes: &Lifetimes, taken: &[Option<u32>]) -> Result<Made, PlanError> {
    let class = |tenant: &Tenant| (tenant.key, tenant.dtype, rounded(tenant));
    let alike = |giver: &Tenant, taker: &Tenant| class(giver) == class(taker);
    let (whole_of, wholes) = merge(&lifetimes.tenants, taken, u64::max, alike);
    let mut classes: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (index, whole) in wholes.iter().enumerate() {
        classes.entry(class(whole)).or_default().push(index);
    }
    let mut arenas: Vec<Arena> = Vec::new();
    let mut arena_of = vec![0; wholes.len()];
    for ((_, _, bytes), mut members) in classes {
        members.sort_by_key(|&index| wholes[index].lower);
        // Allocations by the time at which they are free.
        let mut free: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for index in members {
            let whole = &wholes[index];
            let arena = match free.first_entry() {
                Some(mut first) if *first.key() <= whole.lower => {
                    let arena = first.get_mut().pop();
                    if first.get().is_empty() {
                        first.remove();
                    }
                    arena
                }
                _ => None,
            };
            let arena = arena.unwrap_or_else(|| {
                arenas.push(allocation(whole, bytes, whole.align));
                arenas.len() - 1
            });
            arenas[arena].align = arenas[arena].align.max(whole.align);
            arena_of[index] = arena;
            free.entry(whole.upper).or_default().push(arena);
        }
    }
    let places = whole_of.iter().map(|&whole| (arena_of[whole as usize], 0)).collect();
    Ok((places, arenas, least(lifetimes, taken)?))
}

/// One arena for all of a key.
fn arena(
    lifetimes: &Lifetimes,
    taken: &[Option<u32>],
    packer: Packer,
    options: &Options<'_>,
) -> Result<Made, PlanError> {
    let started = Instant::now();
    let mut places = vec![(0, 0); lifetimes.tenants.len()];
    let mut arenas = Vec::new();
    let mut bound = 0;
    for (index, (key, members)) in by_key(&lifetimes.tenants).into_iter().enumerate() {
        let rest = options.time.map(|time| time.saturating_sub(started.elapsed()));
        let options = Options { time: rest, ..*options };
        let (offsets, arena) = pack_key(lifetimes, &members, key, taken, packer, &options)?;
        for (&member, offset) in members.iter().zip(offsets) {
            places[member] = (index, offset);
        }
        bound += arena.lower_bound;
        arenas.push(arena);
    }
    Ok((places, arenas, bound))
}

/// Packs the tenants of one arena, with and without in-place sharing if need be.
fn pack_key(
    lifetimes: &Lifetimes,
    members: &[usize],
    key: ArenaKey,
    taken: &[Option<u32>],
    packer: Packer,
    options: &Options<'_>,
) -> Result<(Vec<u64>, Arena), PlanError> {
    let (tenants, taken) = select(&lifetimes.tenants, members, taken);
    let (whole_of, wholes) = merge(&tenants, &taken, u64::max, |_, _| true);
    let merged = problem(&wholes)?;
    let mut packing = packer.pack(&merged, options);
    packing.offsets = whole_of.iter().map(|&whole| packing.offsets[whole as usize]).collect();
    if wholes.len() < tenants.len() {
        // Sharing some and not others could be smaller than both, but not than this.
        let least = smallest(&tenants, &taken)?;
        if packing.bytes > least {
            let apart = packer.pack(&problem(&tenants)?, options);
            if apart.bytes < packing.bytes {
                packing = apart;
            }
        }
        packing.lower_bound = least;
    }
    let Packing { offsets, bytes, lower_bound, .. } = packing;
    let align = tenants.iter().map(|tenant| tenant.align).max().unwrap_or(1);
    let optimal = bytes == lower_bound;
    let ArenaKey { device, lane } = key;
    Ok((offsets, Arena { device, lane, bytes, align, lower_bound, optimal }))
}

/// What no plan is smaller than: the bound of each arena, with all in-place sharing.
pub(crate) fn least(lifetimes: &Lifetimes, taken: &[Option<u32>]) -> Result<u64, PlanError> {
    let mut sum = 0;
    for (_, members) in by_key(&lifetimes.tenants) {
        let (tenants, taken) = select(&lifetimes.tenants, &members, taken);
        sum += smallest(&tenants, &taken)?;
    }
    Ok(sum)
}

/// The bound of one arena with all in-place sharing.
pub(crate) fn smallest(tenants: &[Tenant], taken: &[Option<u32>]) -> Result<u64, PlanError> {
    let (_, wholes) = merge(tenants, taken, u64::min, |_, _| true);
    Ok(lower_bound(&problem(&wholes)?))
}

/// The tenants of each arena.
pub(crate) fn by_key(tenants: &[Tenant]) -> BTreeMap<ArenaKey, Vec<usize>> {
    let mut keys: BTreeMap<ArenaKey, Vec<usize>> = BTreeMap::new();
    for (index, tenant) in tenants.iter().enumerate() {
        keys.entry(tenant.key).or_default().push(index);
    }
    keys
}

/// Some of the tenants, and who takes whose bytes among them. Both are always in one arena.
pub(crate) fn select(
    tenants: &[Tenant],
    members: &[usize],
    taken: &[Option<u32>],
) -> (Vec<Tenant>, Vec<Option<u32>>) {
    let find = |giver: u32| members.binary_search(&(giver as usize)).ok().map(|at| at as u32);
    let taken = members.iter().map(|&member| taken[member].and_then(find)).collect();
    (members.iter().map(|&member| tenants[member]).collect(), taken)
}

/// The tenants of an arena as a problem.
///
/// All offsets are multiples of the smallest alignment, so rounding sizes up to it costs nothing
/// but what the arena's own size is rounded up by, and makes the problem easier.
pub(crate) fn problem(tenants: &[Tenant]) -> Result<Problem, PlanError> {
    let sized = tenants.iter().filter(|tenant| tenant.bytes > 0);
    let unit = sized.map(|tenant| tenant.align).min().unwrap_or(1);
    let item = |tenant: &Tenant| Item {
        lower: tenant.lower,
        upper: tenant.upper,
        size: tenant.bytes.next_multiple_of(unit),
        align: tenant.align,
    };
    Ok(Problem::new(tenants.iter().map(item).collect())?)
}

/// The size of a tenant alone.
fn rounded(tenant: &Tenant) -> u64 {
    tenant.bytes.next_multiple_of(tenant.align)
}

/// Memory for a tenant alone.
fn allocation(tenant: &Tenant, bytes: u64, align: u64) -> Arena {
    let ArenaKey { device, lane } = tenant.key;
    Arena { device, lane, bytes, align, lower_bound: bytes, optimal: true }
}
