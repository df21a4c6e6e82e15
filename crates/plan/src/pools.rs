//! Several memories with sizes, the fastest first: who goes where.
//!
//! What a fast memory saves is traffic: bytes times touches. Buffers are tried in several orders
//! of worth, each into the first memory that still has a gap for it; the best order is then
//! improved by exchanging buffers. Every memory is packed once more in the end.

mod choose;

use serde::{Deserialize, Serialize};

use crate::in_place::{Whole, matches, merge};
use crate::lifetimes::{Lifetimes, Tenant};
use crate::make::finish;
use crate::plan::{Arena, Plan, PlanError};
use crate::schedule::error::ScheduleError;
use crate::{
    Fit, Item, Lane, Options, Packer, Packing, PlannerMode, Problem, ProblemError, Schedule, fit,
    lower_bound, minimise,
};

/// One memory that arenas can be in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryPool {
    /// What people call it.
    pub name: String,
    /// The device whose buffers can be in it.
    #[serde(default)]
    pub device: u32,
    /// How many bytes it has; `None` for as many as needed.
    #[serde(default)]
    pub bytes: Option<u64>,
}

/// Who is in which memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pooled {
    /// The plan: its arenas are the pools, in the order given.
    pub plan: Plan,
    /// For each pool the bytes read and written in it, over the whole schedule.
    pub traffic: Vec<u64>,
}

/// Why buffers do not go into pools.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PoolsError {
    /// The schedule makes no sense.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The lifetimes make no problem; a valid schedule does not come to this.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// A device has buffers but no pool.
    #[error("buffer {buffer:?} is on device {device}, which has no pool")]
    NoPool {
        /// Name of the buffer.
        buffer: String,
        /// Its device.
        device: u32,
    },
    /// A buffer finds no room in any pool of its device.
    #[error(
        "buffer {buffer:?} of {bytes} bytes finds no room: pool {pool:?} is the last of device {device} and was the last hope"
    )]
    Full {
        /// Name of the buffer.
        buffer: String,
        /// Its size in bytes.
        bytes: u64,
        /// Name of the last pool of its device.
        pool: String,
        /// The device.
        device: u32,
    },
}

impl From<PlanError> for PoolsError {
    fn from(error: PlanError) -> PoolsError {
        match error {
            PlanError::Schedule(error) => (*error).into(),
            PlanError::Problem(error) => error.into(),
        }
    }
}

/// A buffer, or several that share in place, on the way to a pool. When and how large it is says
/// the item of the same index.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Guest {
    /// Bytes read and written in it.
    pub(crate) traffic: u64,
    /// The buffer to name in errors.
    buffer: u32,
    /// Its number among all guests.
    whole: u32,
}

/// Puts the buffers of `schedule` into `pools`, the fastest first, so that as much traffic as
/// possible goes to the faster ones. The result depends on nothing but what is given, as long as
/// `options` have no time limit.
///
/// ```
/// use tenure_plan::{BufferSpec, MemoryPool, Options, Schedule, Step, pools};
/// let schedule = Schedule {
///     buffers: vec![BufferSpec::new("busy", 1024), BufferSpec::new("idle", 1024)],
///     steps: vec![
///         Step::new("make", [], [0, 1]),
///         Step::new("work", [0], [0]),
///         Step::new("end", [0, 1], []),
///     ],
/// };
/// let pool = |name: &str, bytes| MemoryPool { name: name.into(), device: 0, bytes };
/// let memory = [pool("SRAM", Some(1500)), pool("DRAM", None)];
/// let placed = pools(&schedule, &memory, &Options::default())?;
/// assert_eq!(placed.plan.place(0), Some((0, 0)));
/// assert_eq!(placed.plan.place(1), Some((1, 0)));
/// assert_eq!(placed.traffic, [4096, 2048]);
/// # Ok::<(), tenure_plan::PoolsError>(())
/// ```
///
/// # Errors
///
/// [`PoolsError`], if the schedule makes no sense or something fits nowhere.
pub fn pools(
    schedule: &Schedule,
    pools: &[MemoryPool],
    options: &Options<'_>,
) -> Result<Pooled, PoolsError> {
    // All lanes meet in a pool, so everything is held as what several lanes touch.
    let lifetimes = Lifetimes::mixed(schedule)?;
    let taken = matches(schedule, &lifetimes);
    let members: Vec<u32> = (0..lifetimes.tenants.len() as u32).collect();
    let bound = least(&lifetimes.tenants, &members, &taken)?;
    let (whole_of, wholes) = merge(&lifetimes.tenants, &members, &taken, u64::max, |_, _| true);
    // Whatever has been of use goes: packing needs the memory.
    drop((taken, members));
    let count = wholes.len();
    let guests = guests(schedule, &lifetimes, &whole_of, &wholes);
    let Lifetimes { tenants, parts, lanes, .. } = lifetimes;
    let lanes = lanes.keys;
    let crowds = by_device(wholes, |whole| tenants[whole.first as usize].key.device);
    let item = |Whole { first, upper, bytes, align }| {
        let lower = tenants[first as usize].lower;
        Item { lower, upper, size: bytes, align }
    };
    let crowds: Vec<(u32, Vec<Item>)> = crowds
        .into_iter()
        .map(|(device, wholes)| (device, wholes.into_iter().map(item).collect()))
        .collect();
    drop(tenants);
    let guests = by_device(guests, |guest| schedule.buffers[guest.buffer as usize].device);
    // Who is in which pool, and where.
    let mut placed: Vec<(usize, Vec<(u32, u64)>)> = Vec::new();
    let mut arenas: Vec<Option<Arena>> = vec![None; pools.len()];
    let mut traffic = vec![0u64; pools.len()];
    for ((device, items), (_, guests)) in crowds.into_iter().zip(guests) {
        let (mut items, mut guests) = (items, guests);
        let own: Vec<usize> = (0..pools.len()).filter(|&at| pools[at].device == device).collect();
        for (rank, &pool) in own.iter().enumerate() {
            let room = pools[pool].bytes.unwrap_or(u64::MAX);
            let last = rank + 1 == own.len();
            let align = items.iter().map(|item| item.align).max().unwrap_or(1);
            let filled = choose::fill(items, guests, room, last, options)?;
            let sum = filled.chosen.iter().map(|guest| guest.traffic);
            traffic[pool] = sum.fold(0, u64::saturating_add);
            let Packing { offsets, bytes, lower_bound, optimal } = filled.packing;
            let chosen = filled.chosen.into_iter().map(|guest| guest.whole);
            placed.push((pool, chosen.zip(offsets).collect()));
            let home = |key: &(u32, Lane)| *key == (device, Lane::Compute);
            let lane = if lanes.iter().all(home) { Lane::Compute } else { Lane::Copy };
            arenas[pool] = Some(Arena { device, lane, bytes, align, lower_bound, optimal });
            (items, guests) = filled.rest;
        }
        if let Some(guest) = guests.first() {
            let spec = &schedule.buffers[guest.buffer as usize];
            let buffer = spec.name.clone();
            return Err(match own.last() {
                None => PoolsError::NoPool { buffer, device },
                Some(&pool) => {
                    let pool = pools[pool].name.clone();
                    PoolsError::Full { buffer, bytes: spec.bytes, pool, device }
                }
            });
        }
    }
    let arenas = arenas.into_iter().zip(pools).map(|(arena, pool)| {
        let (device, lane, align) = (pool.device, Lane::Compute, 1);
        let none = Arena { device, lane, bytes: 0, align, lower_bound: 0, optimal: true };
        arena.unwrap_or(none)
    });
    let mut place = vec![(usize::MAX, 0); count];
    for (pool, chosen) in placed {
        for (whole, offset) in chosen {
            place[whole as usize] = (pool, offset);
        }
    }
    let places: Vec<(usize, u64)> = whole_of.iter().map(|&whole| place[whole as usize]).collect();
    let mode = PlannerMode::Arena;
    let packer = Some(Packer::Best);
    let plan = finish(&parts, mode, packer, arenas.collect(), &places, bound);
    Ok(Pooled { plan, traffic })
}

fn guests(
    schedule: &Schedule,
    lifetimes: &Lifetimes,
    whole_of: &[u32],
    wholes: &[Whole],
) -> Vec<Guest> {
    let guest = |(whole, first): (u32, &Whole)| {
        let buffer = lifetimes.tenants[first.first as usize].buffer as u32;
        Guest { traffic: 0, buffer, whole }
    };
    let mut guests: Vec<Guest> = (0u32..).zip(wholes).map(guest).collect();
    for (buffer, _) in schedule.steps.iter().flat_map(|step| step.touches()) {
        if let Ok((tenant, _)) = lifetimes.parts.of(buffer) {
            let guest = &mut guests[whole_of[tenant as usize] as usize];
            guest.traffic = guest.traffic.saturating_add(schedule.buffers[buffer].bytes);
        }
    }
    guests
}

/// Those of each device, in ascending order of it and else as they were. Of one device they stay in
/// the memory that they are in.
fn by_device<T>(mut all: Vec<T>, device: impl Fn(&T) -> u32) -> Vec<(u32, Vec<T>)> {
    if !all.is_sorted_by_key(&device) {
        all.sort_by_key(&device);
    }
    let mut devices = Vec::new();
    while let Some(last) = all.last().map(&device) {
        let start = all.partition_point(|one| device(one) < last);
        let own = if start == 0 { std::mem::take(&mut all) } else { all.split_off(start) };
        devices.push((last, own));
    }
    devices.reverse();
    devices
}

/// What all pools together need at least: what is in use at once on each device, wherever it is.
fn least(tenants: &[Tenant], members: &[u32], taken: &[Option<u32>]) -> Result<u64, ProblemError> {
    let (_, wholes) = merge(tenants, members, taken, u64::min, |_, _| true);
    let item = |Whole { first, upper, bytes, .. }| Item {
        lower: tenants[first as usize].lower,
        upper,
        size: bytes,
        align: 1,
    };
    let mut sum = 0;
    for (_, own) in by_device(wholes, |whole| tenants[whole.first as usize].key.device) {
        sum += lower_bound(&Problem::new(own.into_iter().map(item).collect())?);
    }
    Ok(sum)
}

/// The best packing of items that are known to fit into `room`, or `None` if they do not.
fn pack(problem: &Problem, room: u64, options: &Options<'_>) -> Option<Packing> {
    if room == u64::MAX {
        return Some(minimise(problem, options));
    }
    match fit(problem, room, options) {
        Fit::Fits(packing) => Some(packing),
        _ => None,
    }
}

impl PoolsError {
    /// What sort of error it is.
    pub fn kind(&self) -> tenure_layout::ErrorKind {
        match self {
            PoolsError::Schedule(error) => error.kind(),
            PoolsError::Problem(error) => error.kind(),
            PoolsError::NoPool { .. } => tenure_layout::ErrorKind::Invalid,
            PoolsError::Full { .. } => tenure_layout::ErrorKind::OutOfMemory,
        }
    }
}
