//! From a schedule to a plan, in each mode.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::in_place::{Whole, matches, merge};
use crate::lifetimes::{ArenaKey, Lifetimes, Parts, Reason, Tenant};
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
    plan_lifetimes(schedule, Lifetimes::new(schedule)?, mode, packer, options)
}

/// The same with lifetimes of its own. Each part of them goes as soon as it has been of use: of
/// very many buffers it is memory that counts.
pub(crate) fn plan_lifetimes(
    schedule: &Schedule,
    lifetimes: Lifetimes,
    mode: PlannerMode,
    packer: Packer,
    options: &Options<'_>,
) -> Result<Plan, PlanError> {
    let taken = matches(schedule, &lifetimes);
    let Lifetimes { tenants, parts, .. } = lifetimes;
    let (places, arenas, lower_bound) = match mode {
        PlannerMode::Disabled => return disabled(&parts, &tenants, &taken),
        PlannerMode::Remap => remap(tenants, taken)?,
        PlannerMode::Arena => arena(tenants, taken, packer, options)?,
    };
    let packer = (mode == PlannerMode::Arena).then_some(packer);
    Ok(finish(&parts, mode, packer, arenas, &places, lower_bound))
}

/// Arena and offset of each tenant, the arenas, and what no plan is smaller than.
type Made = (Vec<(usize, u64)>, Vec<Arena>, u64);

/// The plan of places for tenants.
pub(crate) fn finish(
    parts: &Parts,
    mode: PlannerMode,
    packer: Option<Packer>,
    arenas: Vec<Arena>,
    places: &[(usize, u64)],
    lower_bound: u64,
) -> Plan {
    let placements = (0..parts.len()).map(|buffer| match parts.of(buffer) {
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

/// Nothing for anybody: buffers have memory of their own, of which only the size is told.
fn disabled(parts: &Parts, tenants: &[Tenant], taken: &[Option<u32>]) -> Result<Plan, PlanError> {
    let lower_bound = least(tenants, taken)?;
    let bytes = tenants.iter().map(rounded).sum();
    let placements =
        (0..parts.len()).map(|buffer| parts.of(buffer).err().unwrap_or(Reason::Disabled));
    Ok(Plan {
        mode: PlannerMode::Disabled,
        packer: None,
        arenas: Vec::new(),
        placements: placements.map(Placement::Excluded).collect(),
        bytes,
        lower_bound,
        optimal: bytes == lower_bound,
    })
}

/// One allocation for buffers of a class that are not in use at the same time. Giving each the
/// allocation that was free first takes as few as are in use at once.
fn remap(tenants: Vec<Tenant>, taken: Vec<Option<u32>>) -> Result<Made, PlanError> {
    let least = least(&tenants, &taken)?;
    let of_tenant = |tenant: &Tenant| (tenant.key, tenant.dtype, rounded(tenant));
    let alike = |giver: &Tenant, taker: &Tenant| of_tenant(giver) == of_tenant(taker);
    let members: Vec<u32> = (0..tenants.len() as u32).collect();
    let (whole_of, wholes) = merge(&tenants, &members, &taken, u64::max, alike);
    drop((members, taken));
    let first = |whole: &Whole| &tenants[whole.first as usize];
    let class = |whole: &Whole| {
        let Tenant { key, dtype, .. } = *first(whole);
        (key, dtype, whole.bytes.next_multiple_of(whole.align))
    };
    let mut classes: BTreeMap<_, Vec<u32>> = BTreeMap::new();
    for (index, whole) in (0u32..).zip(&wholes) {
        classes.entry(class(whole)).or_default().push(index);
    }
    let mut arenas: Vec<Arena> = Vec::new();
    let mut arena_of = vec![0u32; wholes.len()];
    for ((_, _, bytes), mut members) in classes {
        members.sort_by_key(|&index| first(&wholes[index as usize]).lower);
        // Allocations by the time at which they are free.
        let mut free: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        for index in members {
            let whole = &wholes[index as usize];
            let arena = match free.first_entry() {
                Some(mut earliest) if *earliest.key() <= first(whole).lower => {
                    let arena = earliest.get_mut().pop();
                    if earliest.get().is_empty() {
                        earliest.remove();
                    }
                    arena
                }
                _ => None,
            };
            let arena = arena.unwrap_or_else(|| {
                arenas.push(allocation(first(whole), bytes, whole.align));
                arenas.len() as u32 - 1
            });
            let align = &mut arenas[arena as usize].align;
            *align = (*align).max(whole.align);
            arena_of[index as usize] = arena;
            free.entry(whole.upper).or_default().push(arena);
        }
    }
    drop((wholes, tenants));
    let places = whole_of.iter().map(|&whole| (arena_of[whole as usize] as usize, 0)).collect();
    Ok((places, arenas, least))
}

/// One arena for all of a key.
fn arena(
    tenants: Vec<Tenant>,
    taken: Vec<Option<u32>>,
    packer: Packer,
    options: &Options<'_>,
) -> Result<Made, PlanError> {
    let started = Instant::now();
    let count = tenants.len();
    let rooms = by_key(&tenants).into_iter();
    let rooms: Result<Vec<Room>, PlanError> =
        rooms.map(|(key, members)| Room::new(&tenants, key, members, &taken)).collect();
    drop((tenants, taken));
    let mut packed = Vec::new();
    for room in rooms? {
        let rest = options.time.map(|time| time.saturating_sub(started.elapsed()));
        packed.push(room.pack(packer, &Options { time: rest, ..*options }));
    }
    let mut places = vec![(0, 0); count];
    let mut arenas = Vec::with_capacity(packed.len());
    for (index, (members, offsets, arena)) in packed.into_iter().enumerate() {
        for (&member, offset) in members.iter().zip(offsets) {
            places[member as usize] = (index, offset);
        }
        arenas.push(arena);
    }
    let bound = arenas.iter().map(|arena| arena.lower_bound).sum();
    Ok((places, arenas, bound))
}

/// The tenants of one arena as what has to be packed, with and without in-place sharing.
struct Room {
    key: ArenaKey,
    members: Vec<u32>,
    align: u64,
    /// Tenants that share in place as one item, and the item of each member.
    merged: Problem,
    whole_of: Vec<u32>,
    /// Where some share in place: an item for each member, and the bound if all share that can.
    apart: Option<(Problem, u64)>,
}

impl Room {
    fn new(
        tenants: &[Tenant],
        key: ArenaKey,
        members: Vec<u32>,
        taken: &[Option<u32>],
    ) -> Result<Room, PlanError> {
        let aligns = members.iter().map(|&member| tenants[member as usize].align);
        let align = aligns.max().unwrap_or(1);
        let (whole_of, wholes) = merge(tenants, &members, taken, u64::max, |_, _| true);
        let mut apart = None;
        if wholes.len() < members.len() {
            let least = smallest(tenants, &members, taken)?;
            let alone = |&first: &u32| {
                let Tenant { upper, bytes, align, .. } = tenants[first as usize];
                Whole { first, upper, bytes, align }
            };
            apart = Some((problem(tenants, members.iter().map(alone).collect())?, least));
        }
        let merged = problem(tenants, wholes)?;
        Ok(Room { key, members, align, merged, whole_of, apart })
    }

    /// Packs with in-place sharing, and without if need be: the members, their offsets, the arena.
    fn pack(self, packer: Packer, options: &Options<'_>) -> (Vec<u32>, Vec<u64>, Arena) {
        let mut packing = packer.pack(&self.merged, options);
        drop(self.merged);
        packing.offsets =
            self.whole_of.iter().map(|&whole| packing.offsets[whole as usize]).collect();
        drop(self.whole_of);
        if let Some((problem, least)) = self.apart {
            // Sharing some and not others could be smaller than both, but not than this.
            if packing.bytes > least {
                let apart = packer.pack(&problem, options);
                if apart.bytes < packing.bytes {
                    packing = apart;
                }
            }
            packing.lower_bound = least;
        }
        let Packing { offsets, bytes, lower_bound, .. } = packing;
        let (align, optimal) = (self.align, bytes == lower_bound);
        let ArenaKey { device, lane } = self.key;
        (self.members, offsets, Arena { device, lane, bytes, align, lower_bound, optimal })
    }
}

/// What no plan is smaller than: the bound of each arena, with all in-place sharing.
pub(crate) fn least(tenants: &[Tenant], taken: &[Option<u32>]) -> Result<u64, PlanError> {
    let mut sum = 0;
    for (_, members) in by_key(tenants) {
        sum += smallest(tenants, &members, taken)?;
    }
    Ok(sum)
}

/// The bound of one arena with all in-place sharing.
pub(crate) fn smallest(
    tenants: &[Tenant],
    members: &[u32],
    taken: &[Option<u32>],
) -> Result<u64, PlanError> {
    let (_, wholes) = merge(tenants, members, taken, u64::min, |_, _| true);
    Ok(lower_bound(&problem(tenants, wholes)?))
}

/// The tenants of each arena, in ascending order.
pub(crate) fn by_key(tenants: &[Tenant]) -> BTreeMap<ArenaKey, Vec<u32>> {
    let mut keys: BTreeMap<ArenaKey, Vec<u32>> = BTreeMap::new();
    for (index, tenant) in (0u32..).zip(tenants) {
        keys.entry(tenant.key).or_default().push(index);
    }
    keys.values_mut().for_each(Vec::shrink_to_fit);
    keys
}

/// What is in an arena as a problem.
///
/// All offsets are multiples of the smallest alignment, so rounding sizes up to it costs nothing
/// but what the arena's own size is rounded up by, and makes the problem easier.
pub(crate) fn problem(tenants: &[Tenant], wholes: Vec<Whole>) -> Result<Problem, PlanError> {
    let sized = wholes.iter().filter(|whole| whole.bytes > 0);
    let unit = sized.map(|whole| whole.align).min().unwrap_or(1);
    let item = |whole: Whole| Item {
        lower: tenants[whole.first as usize].lower,
        upper: whole.upper,
        size: whole.bytes.next_multiple_of(unit),
        align: whole.align,
    };
    // In the memory of the list.
    Ok(Problem::new(wholes.into_iter().map(item).collect())?)
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
