//! Plans: which buffers of a schedule share memory, and that memory.
#![expect(unsafe_code, reason = "C passes pointers")]

use std::ffi::{CString, c_char};
use std::sync::OnceLock;

use tenure::plan::{Options, Packer, Placement, Plan, PlannerMode, plan};
use tenure::realize::realize_in;

use crate::allocator::named;
use crate::codes::{MemoryCode, unknown};
use crate::failure::{Failure, Outcome};
use crate::guarded::{guarded, guarded_free};
use crate::handles::Handle;
use crate::pointers::{borrow, give, list, out, take};
use crate::schedule::ScheduleHandle;
use crate::status::Status;
use crate::tensor::{TensorHandle, c_text};

/// How far sharing goes: one of `TENURE_MODE_…`.
pub type ModeCode = i32;
/// Who packs: one of `TENURE_PACKER_…`.
pub type PackerCode = i32;

/// None: nothing is placed, and every buffer has memory of its own.
pub const TENURE_MODE_DISABLED: ModeCode = 0;
/// Buffers of one type and size that are not in use at the same time share one allocation.
pub const TENURE_MODE_REMAP: ModeCode = 1;
/// All buffers of a device and lane are packed into one arena.
pub const TENURE_MODE_ARENA: ModeCode = 2;

/// Replay in the order of time through a two-level segregated fit allocator.
pub const TENURE_PACKER_TLSF: PackerCode = 0;
/// Replay in the order of time, each buffer into the smallest gap that holds it.
pub const TENURE_PACKER_BEST_FIT: PackerCode = 1;
/// The largest first, each into the smallest gap that holds it.
pub const TENURE_PACKER_GREEDY_SIZE: PackerCode = 2;
/// The best of the others, then a search for the minimum within a budget.
pub const TENURE_PACKER_BEST: PackerCode = 3;

/// Which buffers share memory: for each an arena and an offset.
pub struct PlanHandle {
    plan: Plan,
    /// The plan as C reads it, made when it is first asked for.
    json: OnceLock<CString>,
}

impl Handle for PlanHandle {}

fn mode(code: ModeCode) -> Outcome<PlannerMode> {
    match code {
        TENURE_MODE_DISABLED => Ok(PlannerMode::Disabled),
        TENURE_MODE_REMAP => Ok(PlannerMode::Remap),
        TENURE_MODE_ARENA => Ok(PlannerMode::Arena),
        other => Err(unknown("planner mode", other, "0 disabled, 1 remap, 2 arena")),
    }
}

fn packer(code: PackerCode) -> Outcome<Packer> {
    match code {
        TENURE_PACKER_TLSF => Ok(Packer::Tlsf),
        TENURE_PACKER_BEST_FIT => Ok(Packer::BestFit),
        TENURE_PACKER_GREEDY_SIZE => Ok(Packer::GreedySize),
        TENURE_PACKER_BEST => Ok(Packer::Best),
        other => Err(unknown("packer", other, "0 tlsf, 1 best-fit, 2 greedy-size, 3 best")),
    }
}

/// Decides which buffers of a schedule share memory. The same schedule gives the same plan.
///
/// # Safety
/// `schedule` is null or a schedule; `made` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_plan_new(
    schedule: *const ScheduleHandle,
    mode_code: ModeCode,
    packer_code: PackerCode,
    made: *mut *mut PlanHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (schedule, made) = unsafe { (borrow(schedule, "schedule")?, out(made, "plan")?) };
        let (mode, packer) = (mode(mode_code)?, packer(packer_code)?);
        let plan = plan(&schedule.0, mode, packer, &Options::default())?;
        give(made, PlanHandle { plan, json: OnceLock::new() });
        Ok(())
    })
}

/// Bytes of all arenas together (with `TENURE_MODE_DISABLED`, which has none, of all buffers on their
/// own), what no plan can be smaller than, and whether the plan is proven
/// to be the smallest.
///
/// # Safety
/// `made` is null or a plan; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_plan_bytes(
    made: *const PlanHandle,
    bytes: *mut u64,
    lower_bound: *mut u64,
    optimal: *mut bool,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (made, bytes) = unsafe { (borrow(made, "plan")?, out(bytes, "bytes")?) };
        // SAFETY: by the caller's promise.
        let (bound, optimal) =
            unsafe { (out(lower_bound, "lower_bound")?, out(optimal, "optimal")?) };
        bytes.write(made.plan.bytes);
        bound.write(made.plan.lower_bound);
        optimal.write(made.plan.optimal);
        Ok(())
    })
}

/// Where a buffer of the schedule is: the number of its arena, and bytes from its start.
/// `TENURE_STATUS_NOT_FOUND`, with the reason, for a buffer that the plan leaves out.
///
/// # Safety
/// `made` is null or a plan; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_plan_place(
    made: *const PlanHandle,
    buffer: usize,
    arena: *mut usize,
    offset: *mut u64,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (made, arena, offset) =
            unsafe { (borrow(made, "plan")?, out(arena, "arena")?, out(offset, "offset")?) };
        let all = &made.plan.placements;
        let why = match all.get(buffer) {
            Some(Placement::At { arena: home, offset: at }) => {
                arena.write(*home);
                offset.write(*at);
                return Ok(());
            }
            Some(Placement::Excluded(reason)) => {
                format!("the plan leaves buffer {buffer} out: {reason:?}")
            }
            None => format!("there is no buffer {buffer}: there are {}, from 0", all.len()),
        };
        Err(Failure::new(Status::NotFound, why))
    })
}

/// How many arenas there are.
///
/// # Safety
/// `made` is null or a plan; `count` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_plan_arena_count(
    made: *const PlanHandle,
    count: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (made, count) = unsafe { (borrow(made, "plan")?, out(count, "count")?) };
        count.write(made.plan.arenas.len());
        Ok(())
    })
}

/// Size and alignment of an arena in bytes, and the device whose memory it is.
///
/// # Safety
/// `made` is null or a plan; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_plan_arena(
    made: *const PlanHandle,
    index: usize,
    bytes: *mut u64,
    align: *mut u64,
    device: *mut u32,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (made, bytes) = unsafe { (borrow(made, "plan")?, out(bytes, "bytes")?) };
        // SAFETY: by the caller's promise.
        let (align, device) = unsafe { (out(align, "align")?, out(device, "device")?) };
        let all = &made.plan.arenas;
        let arena = all.get(index).ok_or_else(|| {
            let text = format!("there is no arena {index}: there are {}, from 0", all.len());
            Failure::new(Status::NotFound, text)
        })?;
        bytes.write(arena.bytes);
        align.write(arena.align);
        device.write(arena.device);
        Ok(())
    })
}

/// The plan as JSON. Valid until the plan is freed.
///
/// # Safety
/// `made` is null or a plan; `json` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_plan_json(
    made: *const PlanHandle,
    json: *mut *const c_char,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (made, json) = unsafe { (borrow(made, "plan")?, out(json, "json")?) };
        let text = c_text(&made.plan.to_json()?);
        json.write(made.json.get_or_init(|| text).as_ptr());
        Ok(())
    })
}

/// Allocates the arenas of a plan in `memory`, which must be named, and places tensors in them:
/// one for each buffer of the schedule, with its size, made by `tenure_tensor_lazy` and not
/// touched yet. Those that the plan leaves out are not touched: with `TENURE_MODE_DISABLED` all of
/// them, and nothing is allocated. Handles and views made before
/// stay, and have their bytes in the arena from then on.
///
/// # Safety
/// `schedule` and `made` are null or what the names say; `tensors` has `count` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_plan_realize(
    schedule: *const ScheduleHandle,
    made: *const PlanHandle,
    tensors: *const *mut TensorHandle,
    count: usize,
    memory: MemoryCode,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (schedule, made, handles) = unsafe {
            (borrow(schedule, "schedule")?, borrow(made, "plan")?, list(tensors, count, "tensors")?)
        };
        let mut tensors = vec![];
        for &handle in handles {
            // SAFETY: by the caller's promise.
            tensors.push(&unsafe { borrow(handle, "one of the tensors")? }.tensor);
        }
        let allocator = named(memory)?;
        realize_in(&schedule.0, &made.plan, &tensors, |_| Ok(allocator))?;
        Ok(())
    })
}

/// Gives a plan back; null is fine.
///
/// # Safety
/// `made` is null or a plan that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_plan_free(made: *mut PlanHandle) {
    // SAFETY: by the caller's promise.
    guarded_free(|| unsafe { take(made, "made") });
}
