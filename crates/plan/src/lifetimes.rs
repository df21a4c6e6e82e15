//! When each buffer's bytes are in use, where they could go, and who is left out.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use tenure_layout::DType;

use crate::lanes::{Lanes, Waits};
use crate::lists::Lists;
use crate::schedule::error::ScheduleError;
use crate::schedule::groups::Groups;
use crate::{BufferSpec, Lane, Schedule};

/// Which arena a buffer can be in: buffers of different keys never share bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArenaKey {
    /// The device whose memory it is.
    pub device: u32,
    /// [`Lane::Compute`] for buffers that only the device's compute lane touches.
    pub lane: Lane,
}

/// A buffer that can be placed, with all its views.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tenant {
    /// Its index in the schedule; not that of a view.
    pub buffer: usize,
    /// The arena it can be in.
    pub key: ArenaKey,
    /// The time of the first step that touches it.
    pub lower: u64,
    /// The first time at which others may have its bytes.
    pub upper: u64,
    /// Its size in bytes, not rounded.
    pub bytes: u64,
    /// What its offset must be a multiple of.
    pub align: u64,
    /// What its bytes mean.
    pub dtype: DType,
}

/// Why a buffer is not placed by a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// It has its contents before the first step.
    Input,
    /// It is looked at after the last step.
    Output,
    /// It has memory already.
    Allocated,
    /// Bytes of it are read that no step has written.
    Partial,
    /// Its bytes are a file's.
    Disk,
    /// No step touches it.
    NeverUsed,
    /// It could be placed, but the plan is for [`PlannerMode::Disabled`](crate::PlannerMode::Disabled).
    Disabled,
    /// It shares bytes with a buffer that is not placed: this one.
    Aliased(usize),
}

/// Everything about time that a plan needs.
#[derive(Debug, Clone)]
pub struct Lifetimes {
    /// The buffers that can be placed, in the schedule's order.
    pub tenants: Vec<Tenant>,
    /// One after the last time. A step's time is its index, or the rank of its level.
    pub times: u64,
    pub(crate) parts: Parts,
    pub(crate) lanes: Lanes,
    /// Which steps touch each root or one of its views.
    pub(crate) touches: Lists,
}

/// Per buffer: the tenant that has its bytes, and how far from its start; or why there is none.
#[derive(Debug, Clone)]
pub(crate) struct Parts {
    /// The tenant, or one of [`REASONS`].
    who: Vec<u32>,
    /// Bytes from the tenant's start, or the buffer of [`Reason::Aliased`].
    at: Vec<u64>,
}

/// Numbers of reasons, above all tenants: counts are at most `MAX_COUNT`.
const REASONS: [(u32, Reason); 6] = [
    (u32::MAX, Reason::Input),
    (u32::MAX - 1, Reason::Output),
    (u32::MAX - 2, Reason::Allocated),
    (u32::MAX - 3, Reason::Partial),
    (u32::MAX - 4, Reason::Disk),
    (u32::MAX - 5, Reason::NeverUsed),
];
const ALIASED: u32 = u32::MAX - 6;

impl Parts {
    fn new(buffers: usize, part: impl Fn(usize) -> Result<(u32, u64), Reason>) -> Parts {
        let mut parts = Parts { who: Vec::with_capacity(buffers), at: Vec::with_capacity(buffers) };
        for buffer in 0..buffers {
            let (who, at) = match part(buffer) {
                Ok(part) => part,
                Err(Reason::Aliased(other)) => (ALIASED, other as u64),
                Err(reason) => {
                    let number = REASONS.iter().find(|(_, other)| *other == reason);
                    (number.map_or(u32::MAX, |&(number, _)| number), 0)
                }
            };
            parts.who.push(who);
            parts.at.push(at);
        }
        parts
    }

    /// Number of buffers.
    pub(crate) fn len(&self) -> usize {
        self.who.len()
    }

    /// The tenant that has a buffer's bytes and how far from its start, or why there is none.
    pub(crate) fn of(&self, buffer: usize) -> Result<(u32, u64), Reason> {
        let (who, at) = (self.who[buffer], self.at[buffer]);
        if who == ALIASED {
            return Err(Reason::Aliased(at as usize));
        }
        match REASONS.iter().find(|(number, _)| *number == who) {
            Some(&(_, reason)) => Err(reason),
            None => Ok((who, at)),
        }
    }
}

impl Lifetimes {
    /// The lifetimes of a schedule's buffers.
    ///
    /// # Errors
    ///
    /// [`ScheduleError`], if the schedule makes no sense.
    pub fn new(schedule: &Schedule) -> Result<Lifetimes, ScheduleError> {
        Lifetimes::with(schedule, false, None)
    }

    /// The same for arenas that all lanes share: everything is in the copy lane's, and held.
    pub(crate) fn mixed(schedule: &Schedule) -> Result<Lifetimes, ScheduleError> {
        Lifetimes::with(schedule, true, None)
    }

    /// The same for sizes that may be smaller: see [`Waits::new`] for `certain`.
    pub(crate) fn with(
        schedule: &Schedule,
        mixed: bool,
        certain: Option<&[bool]>,
    ) -> Result<Lifetimes, ScheduleError> {
        let groups = schedule.groups()?;
        let lanes = Lanes::new(schedule);
        let touches = groups.touches(schedule, |_| true);
        let reasons = reasons(schedule, &groups, &touches);
        let free = |(buffer, spec): &(usize, &BufferSpec)| {
            reasons[*buffer].is_none() && spec.view_of.is_none()
        };
        let mut tenants =
            Vec::with_capacity(schedule.buffers.iter().enumerate().filter(free).count());
        let mut tenant_of = vec![0u32; schedule.buffers.len()];
        for (buffer, spec) in schedule.buffers.iter().enumerate() {
            if reasons[buffer].is_some() || spec.view_of.is_some() {
                continue;
            }
            let steps = touches.of(buffer);
            let (Some(&first), Some(&last)) = (steps.first(), steps.last()) else { continue };
            let home = (spec.device, Lane::Compute);
            let at_home =
                steps.iter().all(|&step| lanes.keys[lanes.of[step as usize] as usize] == home);
            let lane = if at_home && !mixed { Lane::Compute } else { Lane::Copy };
            tenant_of[buffer] = tenants.len() as u32;
            tenants.push(Tenant {
                buffer,
                key: ArenaKey { device: spec.device, lane },
                lower: u64::from(lanes.time[first as usize]),
                upper: u64::from(lanes.time[last as usize]) + 1,
                bytes: spec.bytes,
                align: spec.align,
                dtype: spec.dtype,
            });
        }
        let waits = || Waits::new(schedule, &groups, &lanes, certain);
        hold(waits, &lanes, &touches, &mut tenants);
        let parts = Parts::new(schedule.buffers.len(), |buffer| match reasons[buffer] {
            Some(reason) => Err(reason),
            None => Ok((tenant_of[groups.root(buffer)], groups.offset[buffer])),
        });
        Ok(Lifetimes { tenants, times: u64::from(lanes.times), parts, lanes, touches })
    }

    /// The tenant that has a buffer's bytes and how far from its start they are, or why there is
    /// none. `None` for an index that the schedule does not have.
    pub fn tenant(&self, buffer: usize) -> Option<Result<(&Tenant, u64), Reason>> {
        let part = (buffer < self.parts.len()).then(|| self.parts.of(buffer))?;
        Some(part.map(|(tenant, offset)| (&self.tenants[tenant as usize], offset)))
    }

    /// The time of a step: its index, or the rank of its level.
    pub fn time(&self, step: usize) -> Option<u64> {
        self.lanes.time.get(step).map(|&time| u64::from(time))
    }

    /// The times at which a buffer's bytes are its own; `None` for one that is not placed.
    pub fn lifetime(&self, buffer: usize) -> Option<Range<u64>> {
        self.tenant(buffer)?.ok().map(|(tenant, _)| tenant.lower..tenant.upper)
    }
}

/// Why a buffer alone would not be placed.
fn own_reason(spec: &BufferSpec) -> Option<Reason> {
    let reasons = [
        (spec.input, Reason::Input),
        (spec.output, Reason::Output),
        (spec.allocated, Reason::Allocated),
        (spec.disk, Reason::Disk),
        (spec.partial, Reason::Partial),
    ];
    reasons.into_iter().find(|(holds, _)| *holds).map(|(_, reason)| reason)
}

/// Per buffer, why it is not placed. One reason holds for all that share bytes.
fn reasons(schedule: &Schedule, groups: &Groups, touches: &Lists) -> Vec<Option<Reason>> {
    // Per root: the root itself or else the first view that is not placed.
    let mut why = vec![None; schedule.buffers.len()];
    for (buffer, spec) in schedule.buffers.iter().enumerate() {
        let root = groups.root(buffer);
        if own_reason(spec).is_some() && (buffer == root || why[root].is_none()) {
            why[root] = Some(buffer);
        }
    }
    let reason = |(buffer, spec): (usize, &BufferSpec)| {
        let root = groups.root(buffer);
        own_reason(spec)
            .or(why[root].map(Reason::Aliased))
            .or(touches.of(root).is_empty().then_some(Reason::NeverUsed))
    };
    schedule.buffers.iter().enumerate().map(reason).collect()
}

/// Holds what several lanes touch until nobody who comes next would have to wait.
fn hold(waits: impl Fn() -> Waits, lanes: &Lanes, touches: &Lists, tenants: &mut [Tenant]) {
    // Which lanes touch the copy arena of which device.
    let mut guests: std::collections::HashMap<u32, u64> = std::collections::HashMap::new();
    for tenant in tenants.iter().filter(|tenant| tenant.key.lane == Lane::Copy) {
        let guests = guests.entry(tenant.key.device).or_default();
        for &step in touches.of(tenant.buffer) {
            *guests |= 1 << lanes.of[step as usize];
        }
    }
    if guests.values().all(|lanes| lanes.count_ones() < 2) {
        return;
    }
    let waits = waits();
    for lane in 0..lanes.keys.len() {
        let after = lanes.ordered_after(&waits, lane);
        for tenant in tenants.iter_mut().filter(|tenant| tenant.key.lane == Lane::Copy) {
            if guests.get(&tenant.key.device).is_some_and(|lanes| lanes & (1 << lane) != 0) {
                let ends = touches.of(tenant.buffer).iter().map(|&step| after[step as usize]);
                tenant.upper = tenant.upper.max(u64::from(ends.max().unwrap_or(0)));
            }
        }
    }
}
