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

/// A buffer, or several that share in place, on the way to a pool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Guest {
    pub(crate) item: Item,
    /// Bytes read and written in it.
    pub(crate) traffic: u64,
    device: u32,
    /// The buffer to name in errors.
    buffer: usize,
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
    let tenants = &lifetimes.tenants;
    let members: Vec<u32> = (0..tenants.len() as u32).collect();
    let (whole_of, wholes) = merge(tenants, &members, &taken, u64::max, |_, _| true);
    let guests = guests(schedule, &lifetimes, &whole_of, &wholes);
    let mut pool_of = vec![usize::MAX; guests.len()];
    let mut offsets = vec![0; guests.len()];
    let mut arenas: Vec<Option<Arena>> = vec![None; pools.len()];
    let mut devices: Vec<u32> = guests.iter().map(|guest| guest.device).collect();
    devices.sort_unstable();
    devices.dedup();
    for device in devices {
        let mut rest: Vec<usize> =
            (0..guests.len()).filter(|&guest| guests[guest].device == device).collect();
        let own: Vec<usize> = (0..pools.len()).filter(|&at| pools[at].device == device).collect();
        for (rank, &pool) in own.iter().enumerate() {
            let room = pools[pool].bytes.unwrap_or(u64::MAX);
            let last = rank + 1 == own.len();
            let all: Vec<Guest> = rest.iter().map(|&guest| guests[guest]).collect();
            let (chosen, packing) = choose::fill(&all, room, last, options)?;
            let align = all.iter().map(|guest| guest.item.align).max().unwrap_or(1);
            for (&at, &offset) in chosen.iter().zip(&packing.offsets) {
                pool_of[rest[at]] = pool;
                offsets[rest[at]] = offset;
            }
            let Packing { bytes, lower_bound, optimal, .. } = packing;
            let home = |key: &(u32, Lane)| *key == (device, Lane::Compute);
            let alone = lifetimes.lanes.keys.iter().all(home);
            let lane = if alone { Lane::Compute } else { Lane::Copy };
            arenas[pool] = Some(Arena { device, lane, bytes, align, lower_bound, optimal });
            rest.retain(|&guest| pool_of[guest] == usize::MAX);
        }
        if let Some(&guest) = rest.first() {
            let Guest { buffer, .. } = guests[guest];
            let spec = &schedule.buffers[buffer];
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
    let places: Vec<(usize, u64)> =
        whole_of.iter().map(|&whole| (pool_of[whole as usize], offsets[whole as usize])).collect();
    let mut traffic = vec![0u64; pools.len()];
    for (guest, &pool) in guests.iter().zip(&pool_of) {
        traffic[pool] = traffic[pool].saturating_add(guest.traffic);
    }
    let bound = least(tenants, &members, &taken)?;
    let mode = PlannerMode::Arena;
    let packer = Some(Packer::Best);
    let plan = finish(&lifetimes.parts, mode, packer, arenas.collect(), &places, bound);
    Ok(Pooled { plan, traffic })
}

fn guests(
    schedule: &Schedule,
    lifetimes: &Lifetimes,
    whole_of: &[u32],
    wholes: &[Whole],
) -> Vec<Guest> {
    let guest = |whole: &Whole| {
        let &Whole { first, upper, bytes, align } = whole;
        let Tenant { lower, buffer, key, .. } = lifetimes.tenants[first as usize];
        let item = Item { lower, upper, size: bytes, align };
        Guest { item, traffic: 0, device: key.device, buffer }
    };
    let mut guests: Vec<Guest> = wholes.iter().map(guest).collect();
    for (buffer, _) in schedule.steps.iter().flat_map(|step| step.touches()) {
        if let Ok((tenant, _)) = lifetimes.parts.of(buffer) {
            let guest = &mut guests[whole_of[tenant as usize] as usize];
            guest.traffic = guest.traffic.saturating_add(schedule.buffers[buffer].bytes);
        }
    }
    guests
}

/// What all pools together need at least: what is in use at once on each device, wherever it is.
fn least(tenants: &[Tenant], members: &[u32], taken: &[Option<u32>]) -> Result<u64, ProblemError> {
    let (_, wholes) = merge(tenants, members, taken, u64::min, |_, _| true);
    let first = |whole: &Whole| &tenants[whole.first as usize];
    let mut devices: Vec<u32> = wholes.iter().map(|whole| first(whole).key.device).collect();
    devices.sort_unstable();
    devices.dedup();
    let mut sum = 0;
    for device in devices {
        let own = wholes.iter().filter(|whole| first(whole).key.device == device);
        let item = |whole: &Whole| {
            let &Whole { upper, bytes, .. } = whole;
            Item { lower: first(whole).lower, upper, size: bytes, align: 1 }
        };
        sum += lower_bound(&Problem::new(own.map(item).collect())?);
    }
    Ok(sum)
}

/// The best packing of items that are known to fit into `room`, or `None` if they do not.
fn pack(
    items: Vec<Item>,
    room: u64,
    options: &Options<'_>,
) -> Result<Option<Packing>, ProblemError> {
    let problem = Problem::new(items)?;
    if room == u64::MAX {
        return Ok(Some(minimise(&problem, options)));
    }
    Ok(match fit(&problem, room, options) {
        Fit::Fits(packing) => Some(packing),
        _ => None,
    })
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
