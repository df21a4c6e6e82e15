//! Schedules: what runs, in which order, and what it touches.
#![expect(unsafe_code, reason = "C passes pointers")]

use std::ffi::c_char;

use tenure::plan::{BufferSpec, DEFAULT_ALIGN, Schedule, Step};

use crate::codes::{self, DTypeCode};
use crate::failure::Failure;
use crate::guarded::{guarded, guarded_free};
use crate::handles::Handle;
use crate::pointers::{borrow_mut, give, list, out, take, text};
use crate::status::Status;

/// Steps in order and the buffers that they read and write.
pub struct ScheduleHandle(pub(crate) Schedule);

impl Handle for ScheduleHandle {}

/// Has its contents before the first step; no step writes it.
pub const TENURE_BUFFER_INPUT: u32 = 1;
/// Is looked at after the last step.
pub const TENURE_BUFFER_OUTPUT: u32 = 2;
/// Has memory already.
pub const TENURE_BUFFER_ALLOCATED: u32 = 4;
/// Steps read bytes of it that no step has written.
pub const TENURE_BUFFER_PARTIAL: u32 = 8;

/// A schedule without steps and buffers.
///
/// # Safety
/// `schedule` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_schedule_new(schedule: *mut *mut ScheduleHandle) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        give(unsafe { out(schedule, "schedule")? }, ScheduleHandle(Schedule::default()));
        Ok(())
    })
}

/// A schedule from JSON, as `tenure plan` takes it.
///
/// # Safety
/// `json` is null or a text that ends with a zero; `schedule` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_schedule_from_json(
    json: *const c_char,
    schedule: *mut *mut ScheduleHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (json, schedule) = unsafe { (text(json, "json")?, out(schedule, "schedule")?) };
        give(schedule, ScheduleHandle(Schedule::from_json(json)?));
        Ok(())
    })
}

/// Adds a buffer and puts out its number. `align` is a power of two, or 0 for 256; `flags` are
/// `TENURE_BUFFER_…`, or 0. Only buffers of one element type share an allocation in the mode
/// `TENURE_MODE_REMAP`.
///
/// # Safety
/// `schedule` is null or a schedule that nobody else uses meanwhile; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_schedule_add_buffer(
    schedule: *mut ScheduleHandle,
    name: *const c_char,
    bytes: u64,
    align: u64,
    dtype: DTypeCode,
    flags: u32,
    index: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (schedule, name, index) = unsafe {
            (borrow_mut(schedule, "schedule")?, text(name, "name")?, out(index, "index")?)
        };
        let known = TENURE_BUFFER_INPUT
            | TENURE_BUFFER_OUTPUT
            | TENURE_BUFFER_ALLOCATED
            | TENURE_BUFFER_PARTIAL;
        if flags & !known != 0 {
            let text = format!("flags {flags:#x} of buffer {name:?}: only {known:#x} are known");
            return Err(Failure::invalid(text));
        }
        let spec = BufferSpec {
            align: if align == 0 { DEFAULT_ALIGN } else { align },
            dtype: codes::dtype(dtype)?,
            input: flags & TENURE_BUFFER_INPUT != 0,
            output: flags & TENURE_BUFFER_OUTPUT != 0,
            allocated: flags & TENURE_BUFFER_ALLOCATED != 0,
            partial: flags & TENURE_BUFFER_PARTIAL != 0,
            ..BufferSpec::new(name, bytes)
        };
        index.write(schedule.0.buffers.len());
        schedule.0.buffers.push(spec);
        Ok(())
    })
}

/// Adds a step that reads and writes buffers, by their numbers.
///
/// # Safety
/// `schedule` is null or a schedule that nobody else uses meanwhile; `reads` has `read_count`
/// numbers, `writes` has `write_count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_schedule_add_step(
    schedule: *mut ScheduleHandle,
    name: *const c_char,
    reads: *const usize,
    read_count: usize,
    writes: *const usize,
    write_count: usize,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (schedule, name) = unsafe { (borrow_mut(schedule, "schedule")?, text(name, "name")?) };
        // SAFETY: by the caller's promise.
        let (reads, writes) =
            unsafe { (list(reads, read_count, "reads")?, list(writes, write_count, "writes")?) };
        schedule.0.steps.push(Step::new(name, reads, writes));
        Ok(())
    })
}

/// Gives a schedule back; null is fine.
///
/// # Safety
/// `schedule` is null or a schedule that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_schedule_free(schedule: *mut ScheduleHandle) {
    // SAFETY: by the caller's promise.
    guarded_free(|| unsafe { take(schedule, "schedule") });
}
