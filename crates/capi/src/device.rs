//! A device that is open: tensors in its memory, and copies into it.
#![expect(unsafe_code, reason = "C passes pointers")]

use std::ffi::{CString, c_char};
use std::sync::Arc;

use tenure::gpu::{self, Gpu};
use tenure::{Allocator, DynTensor, PoolLimits, TensorDyn, TensorMemory};

use crate::codes::{self, DTypeCode, FormatCode, MemoryCode, SpaceCode};
use crate::failure::Outcome;
use crate::fence::FenceHandle;
use crate::guarded::{guarded, guarded_free};
use crate::handles::Handle;
use crate::pointers::{borrow, dims, give, optional_text, out, take, text};
use crate::pool::PoolHandle;
use crate::status::Status;
use crate::tensor::{TensorHandle, c_text};

/// A device that is open. Its memory keeps it open: it may be freed before its tensors. Any thread
/// may use it.
pub struct DeviceHandle {
    gpu: Gpu,
    name: CString,
}

impl Handle for DeviceHandle {}

impl From<Gpu> for DeviceHandle {
    fn from(gpu: Gpu) -> DeviceHandle {
        let name = c_text(&gpu.properties().name);
        DeviceHandle { gpu, name }
    }
}

impl DeviceHandle {
    /// The allocator of one of its memories; its own where the choice is left to it.
    fn allocator(&self, memory: MemoryCode) -> Outcome<Arc<dyn Allocator>> {
        let memory = codes::memory(memory)?.unwrap_or(TensorMemory::Device);
        Ok(self.gpu.allocator(memory)?)
    }
}

/// Opens a device by its word, a backend and a number: "vulkan:0". `tenure_devices_list` has them.
///
/// # Safety
/// `word` is null or a text that ends with a zero; `device` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_device_open(
    word: *const c_char,
    device: *mut *mut DeviceHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (word, device) = unsafe { (text(word, "word")?, out(device, "device")?) };
        give(device, gpu::open(word)?.into());
        Ok(())
    })
}

/// The device's name, for people; valid until the handle is freed.
///
/// # Safety
/// `device` is null or a device; `name` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_device_name(
    device: *const DeviceHandle,
    name: *mut *const c_char,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (device, name) = unsafe { (borrow(device, "device")?, out(name, "name")?) };
        name.write(device.name.as_ptr());
        Ok(())
    })
}

/// Where a memory of the device lives, as `tenure_tensor_space` says it of its tensors.
/// `TENURE_STATUS_UNAVAILABLE` if it has no such memory.
///
/// # Safety
/// `device` is null or a device; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_device_space(
    device: *const DeviceHandle,
    memory: MemoryCode,
    space: *mut SpaceCode,
    number: *mut u32,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (device, space, number) =
            unsafe { (borrow(device, "device")?, out(space, "space")?, out(number, "number")?) };
        let (code, id) = codes::space(device.allocator(memory)?.space());
        space.write(code);
        number.write(id);
        Ok(())
    })
}

/// How many queues work side by side.
///
/// # Safety
/// `device` is null or a device; `queues` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_device_queues(
    device: *const DeviceHandle,
    queues: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (device, queues) = unsafe { (borrow(device, "device")?, out(queues, "queues")?) };
        queues.write(device.gpu.properties().queues);
        Ok(())
    })
}

/// Another handle to the same device, with copies on another of its queues: whatever is allocated
/// through it is copied there.
///
/// # Safety
/// `device` is null or a device; `other` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_device_on_queue(
    device: *const DeviceHandle,
    queue: usize,
    other: *mut *mut DeviceHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (device, other) = unsafe { (borrow(device, "device")?, out(other, "other")?) };
        give(other, device.gpu.on_queue(queue)?.into());
        Ok(())
    })
}

/// A tensor of zeros in memory of the device: `TENURE_MEMORY_DEVICE`, `_PINNED` or `_MANAGED`;
/// `TENURE_MEMORY_AUTO` is its own. Otherwise as `tenure_tensor_new`.
///
/// # Safety
/// `device` is null or a device; the others are as in `tenure_tensor_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_device_tensor(
    device: *const DeviceHandle,
    shape: *const usize,
    rank: usize,
    dtype: DTypeCode,
    memory: MemoryCode,
    name: *const c_char,
    tensor: *mut *mut TensorHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (device, shape) = unsafe { (borrow(device, "device")?, dims(shape, rank, "shape")?) };
        // SAFETY: by the caller's promise.
        let (name, tensor) = unsafe { (optional_text(name, "name")?, out(tensor, "tensor")?) };
        let (dtype, allocator) = (codes::dtype(dtype)?, device.allocator(memory)?);
        give(
            tensor,
            TensorDyn::builder(shape, dtype)
                .allocator(allocator.as_ref())
                .name(name)
                .build()?
                .into(),
        );
        Ok(())
    })
}

/// An image in memory of the device; otherwise as `tenure_device_tensor` and `tenure_image_new`.
///
/// # Safety
/// `device` is null or a device; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_device_image(
    device: *const DeviceHandle,
    width: usize,
    height: usize,
    format: FormatCode,
    dtype: DTypeCode,
    memory: MemoryCode,
    name: *const c_char,
    tensor: *mut *mut TensorHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (device, name) = unsafe { (borrow(device, "device")?, optional_text(name, "name")?) };
        // SAFETY: by the caller's promise.
        let tensor = unsafe { out(tensor, "tensor")? };
        let (format, dtype) = (codes::format(format)?, codes::dtype(dtype)?);
        let allocator = device.allocator(memory)?;
        let allocator = allocator.as_ref();
        let image = TensorDyn::image_builder(width, height, format, dtype)
            .allocator(allocator)
            .name(name)
            .build()?;
        give(tensor, image.into());
        Ok(())
    })
}

/// A pool of memory of the device, limited as `tenure_pool_new` says. Tensors from it are zero, as
/// all new ones are: the device fills the memory that somebody had before.
///
/// # Safety
/// `device` is null or a device; `pool` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_device_pool(
    device: *const DeviceHandle,
    memory: MemoryCode,
    bytes: usize,
    buffers: usize,
    pool: *mut *mut PoolHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (device, pool) = unsafe { (borrow(device, "device")?, out(pool, "pool")?) };
        let limits = PoolLimits::new(bytes, buffers);
        let made = tenure::Pool::over(device.allocator(memory)?, limits);
        give(pool, PoolHandle(made));
        Ok(())
    })
}

/// A copy of a tensor, wherever it is, in memory of the device. Back again goes `tenure_tensor_to`.
///
/// # Safety
/// Both are null or handles; `copy` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_device_to(
    device: *const DeviceHandle,
    tensor: *const TensorHandle,
    memory: MemoryCode,
    copy: *mut *mut TensorHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (device, tensor, copy) =
            unsafe { (borrow(device, "device")?, borrow(tensor, "tensor")?, out(copy, "copy")?) };
        give(copy, tensor.tensor.to_in(device.allocator(memory)?.as_ref())?.into());
        Ok(())
    })
}

/// As `tenure_device_to`, while the program goes on: the copy has its elements when `fence` is done.
/// Both tensors are held until then; their handles may be freed before.
///
/// # Safety
/// Both are null or handles; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_device_to_later(
    device: *const DeviceHandle,
    tensor: *const TensorHandle,
    memory: MemoryCode,
    copy: *mut *mut TensorHandle,
    fence: *mut *mut FenceHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (device, tensor) = unsafe { (borrow(device, "device")?, borrow(tensor, "tensor")?) };
        // SAFETY: by the caller's promise.
        let (copy, fence) = unsafe { (out(copy, "copy")?, out(fence, "fence")?) };
        let allocator = device.allocator(memory)?;
        let (made, begun) = tensor.tensor.to_in_later(allocator.as_ref())?;
        give(copy, made.into());
        give(fence, FenceHandle(begun));
        Ok(())
    })
}

/// Gives a device back; null is fine. Its tensors stay, and keep it open.
///
/// # Safety
/// `device` is null or a device that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_device_free(device: *mut DeviceHandle) {
    // SAFETY: by the caller's promise.
    guarded_free(|| unsafe { take(device, "device") });
}
