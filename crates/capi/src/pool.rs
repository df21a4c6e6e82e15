//! Pools: memory that is kept and handed out again.
#![expect(unsafe_code, reason = "C passes pointers")]

use std::ffi::c_char;

use tenure::{DynTensor, Pool, PoolLimits, TensorDyn};

use crate::allocator::named;
use crate::codes::{self, DTypeCode, FormatCode, MemoryCode};
use crate::guarded::{guarded, guarded_free};
use crate::handles::Handle;
use crate::pointers::{borrow, dims, give, optional_text, out, take};
use crate::status::Status;
use crate::tensor::TensorHandle;

/// Freed memory that is kept and handed out again. Any thread may use it.
pub struct PoolHandle(pub(crate) Pool);

impl Handle for PoolHandle {}

/// What a pool did and holds.
#[repr(C)]
pub struct PoolFigures {
    /// Requests served from kept memory.
    pub hits: u64,
    /// Requests for which memory was allocated.
    pub misses: u64,
    /// Buffers given up: a limit was reached, they were idle, or others may hold them.
    pub given_up: u64,
    /// Buffers kept now.
    pub kept: u64,
    /// Bytes kept now.
    pub kept_bytes: u64,
    /// Buffers in use now.
    pub used: u64,
    /// Bytes in use now.
    pub used_bytes: u64,
    /// The most bytes in use at one time.
    pub peak_bytes: u64,
    /// The most buffers in use at one time.
    pub peak: u64,
}

/// A pool of one memory, which must be named, that never has more than so many bytes, in use and
/// kept together, and keeps at most so many buffers; `SIZE_MAX` for no limit. Asking it for more is
/// `TENURE_STATUS_OUT_OF_MEMORY`.
///
/// # Safety
/// `pool` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_pool_new(
    memory: MemoryCode,
    bytes: usize,
    buffers: usize,
    pool: *mut *mut PoolHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let pool = unsafe { out(pool, "pool")? };
        let limits = PoolLimits::new(bytes, buffers);
        give(pool, PoolHandle(Pool::new(named(memory)?).with_limits(limits)));
        Ok(())
    })
}

/// A tensor of zeros from a pool. Its bytes go back to the pool when nobody has them any more.
///
/// # Safety
/// `pool` is null or a pool; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_pool_tensor(
    pool: *const PoolHandle,
    shape: *const usize,
    rank: usize,
    dtype: DTypeCode,
    name: *const c_char,
    tensor: *mut *mut TensorHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (pool, shape) = unsafe { (borrow(pool, "pool")?, dims(shape, rank, "shape")?) };
        // SAFETY: by the caller's promise.
        let (name, tensor) = unsafe { (optional_text(name, "name")?, out(tensor, "tensor")?) };
        give(
            tensor,
            TensorDyn::builder(shape, codes::dtype(dtype)?)
                .allocator(&pool.0)
                .name(name)
                .build()?
                .into(),
        );
        Ok(())
    })
}

/// An image from a pool; otherwise as `tenure_pool_tensor` and `tenure_image_new`.
///
/// # Safety
/// `pool` is null or a pool; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_pool_image(
    pool: *const PoolHandle,
    width: usize,
    height: usize,
    format: FormatCode,
    dtype: DTypeCode,
    row_stride: usize,
    name: *const c_char,
    tensor: *mut *mut TensorHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (pool, name) = unsafe { (borrow(pool, "pool")?, optional_text(name, "name")?) };
        // SAFETY: by the caller's promise.
        let tensor = unsafe { out(tensor, "tensor")? };
        let (format, dtype) = (codes::format(format)?, codes::dtype(dtype)?);
        let stride = (row_stride != 0).then_some(row_stride);
        let image = TensorDyn::image_builder(width, height, format, dtype)
            .allocator(&pool.0)
            .row_stride(stride)
            .name(name)
            .build()?;
        give(tensor, image.into());
        Ok(())
    })
}

/// What a pool did and holds.
///
/// # Safety
/// `pool` is null or a pool; `report` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_pool_report(
    pool: *const PoolHandle,
    report: *mut PoolFigures,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (pool, report) = unsafe { (borrow(pool, "pool")?, out(report, "report")?) };
        let now = pool.0.report();
        report.write(PoolFigures {
            hits: now.hits,
            misses: now.misses,
            given_up: now.given_up,
            kept: now.kept as u64,
            kept_bytes: now.kept_bytes as u64,
            used: now.used as u64,
            used_bytes: now.used_bytes as u64,
            peak_bytes: now.peak_bytes as u64,
            peak: now.peak as u64,
        });
        Ok(())
    })
}

/// Gives up everything that a pool keeps.
///
/// # Safety
/// `pool` is null or a pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_pool_trim(pool: *const PoolHandle) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        unsafe { borrow(pool, "pool")? }.0.trim();
        Ok(())
    })
}

/// Gives a pool back; null is fine. Tensors from it stay; their bytes are freed when they are.
///
/// # Safety
/// `pool` is null or a pool that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_pool_free(pool: *mut PoolHandle) {
    // SAFETY: by the caller's promise.
    guarded_free(|| unsafe { take(pool, "pool") });
}
