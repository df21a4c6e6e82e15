//! Tensors: making them, asking them.
#![expect(unsafe_code, reason = "C passes pointers")]

use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::{Arc, OnceLock};

use tenure::{DynTensor, TensorDyn};

use crate::allocator::{Named, named};
use crate::codes::{self, DTypeCode, MemoryCode, SpaceCode};
use crate::guarded::{guarded, guarded_free};
use crate::handles::Handle;
use crate::pointers::{borrow, dims, give, optional_text, out, take};
use crate::status::Status;

/// Elements of one type in some memory: a handle. Several handles may be to the same bytes. Calls
/// on one handle from several threads are fine, but for those that change it (`…_set_…`, `…_free`).
pub struct TensorHandle {
    pub(crate) tensor: TensorDyn,
    /// The name as C wants it, made when it is first asked for.
    name: OnceLock<Option<CString>>,
}

impl Handle for TensorHandle {}

impl From<TensorDyn> for TensorHandle {
    fn from(tensor: TensorDyn) -> TensorHandle {
        TensorHandle { tensor, name: OnceLock::new() }
    }
}

/// A text of ours for C, up to the first zero that it may have.
pub(crate) fn c_text(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(text.get(..end).unwrap_or_default()).unwrap_or_default()
}

/// A tensor of zeros. `shape` has `rank` numbers; `name` is for reports and error messages and may
/// be null. With `TENURE_MEMORY_AUTO` the first memory that serves is taken.
///
/// # Safety
/// Pointers are null or valid; `name` ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_new(
    shape: *const usize,
    rank: usize,
    dtype: DTypeCode,
    memory: MemoryCode,
    name: *const c_char,
    tensor: *mut *mut TensorHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (shape, name, tensor) = unsafe {
            (dims(shape, rank, "shape")?, optional_text(name, "name")?, out(tensor, "tensor")?)
        };
        let (dtype, memory) = (codes::dtype(dtype)?, codes::memory(memory)?);
        give(tensor, TensorDyn::new(shape, dtype, memory, name)?.into());
        Ok(())
    })
}

/// A tensor whose bytes are allocated when it is first touched, or placed in an arena before that
/// (`tenure_plan_realize`). The memory must be named.
///
/// # Safety
/// As `tenure_tensor_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_lazy(
    shape: *const usize,
    rank: usize,
    dtype: DTypeCode,
    memory: MemoryCode,
    name: *const c_char,
    tensor: *mut *mut TensorHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (shape, name, tensor) = unsafe {
            (dims(shape, rank, "shape")?, optional_text(name, "name")?, out(tensor, "tensor")?)
        };
        let allocator = Arc::new(Named(named(memory)?));
        give(
            tensor,
            TensorDyn::builder(shape, codes::dtype(dtype)?)
                .allocator(&allocator)
                .name(name)
                .lazy()
                .build()?
                .into(),
        );
        Ok(())
    })
}

/// Another handle to the same elements. No bytes are copied.
///
/// # Safety
/// `tensor` is null or a handle; `clone` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_clone(
    tensor: *const TensorHandle,
    clone: *mut *mut TensorHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, clone) = unsafe { (borrow(tensor, "tensor")?, out(clone, "clone")?) };
        give(clone, tensor.tensor.clone().into());
        Ok(())
    })
}

/// A copy of the elements without gaps, in another memory or in the same. For memory of a device there
/// are `tenure_device_to` and `tenure_tensor_to_space`.
///
/// # Safety
/// `tensor` is null or a handle; `copy` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_to(
    tensor: *const TensorHandle,
    memory: MemoryCode,
    copy: *mut *mut TensorHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, copy) = unsafe { (borrow(tensor, "tensor")?, out(copy, "copy")?) };
        give(copy, tensor.tensor.to(codes::memory(memory)?)?.into());
        Ok(())
    })
}

/// A copy of the elements without gaps in a space: main memory, or that of a device that is open. Where
/// several have it, it is the device that the tensor is on, else the one that was opened first.
/// `device` is which one for `TENURE_SPACE_GPU`, and not looked at elsewhere.
///
/// # Safety
/// `tensor` is null or a handle; `copy` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_to_space(
    tensor: *const TensorHandle,
    space: SpaceCode,
    device: u32,
    copy: *mut *mut TensorHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, copy) = unsafe { (borrow(tensor, "tensor")?, out(copy, "copy")?) };
        give(copy, tensor.tensor.to(codes::space_of(space, device)?)?.into());
        Ok(())
    })
}

/// Copies the elements of `source` into `tensor`: the same shape and element type, any strides, either
/// of them on a device.
///
/// # Safety
/// Both are null or handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_copy_from(
    tensor: *const TensorHandle,
    source: *const TensorHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, source) = unsafe { (borrow(tensor, "tensor")?, borrow(source, "source")?) };
        Ok(tensor.tensor.copy_from(&source.tensor)?)
    })
}

/// Gives a handle back; null is fine. The bytes are freed when no handle, map or export of them
/// is left.
///
/// # Safety
/// `tensor` is null or a handle that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_free(tensor: *mut TensorHandle) {
    // SAFETY: by the caller's promise.
    guarded_free(|| unsafe { take(tensor, "tensor") });
}

/// Elements per dimension: `rank` numbers, valid until the handle is freed or changed.
///
/// # Safety
/// `tensor` is null or a handle; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_shape(
    tensor: *const TensorHandle,
    shape: *mut *const usize,
    rank: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, shape, rank) =
            unsafe { (borrow(tensor, "tensor")?, out(shape, "shape")?, out(rank, "rank")?) };
        shape.write(tensor.tensor.shape().as_ptr());
        rank.write(tensor.tensor.rank());
        Ok(())
    })
}

/// Elements (not bytes) between neighbours of each dimension: `rank` numbers, valid until the
/// handle is freed or changed.
///
/// # Safety
/// `tensor` is null or a handle; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_strides(
    tensor: *const TensorHandle,
    strides: *mut *const isize,
    rank: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, strides, rank) =
            unsafe { (borrow(tensor, "tensor")?, out(strides, "strides")?, out(rank, "rank")?) };
        strides.write(tensor.tensor.strides().as_ptr());
        rank.write(tensor.tensor.rank());
        Ok(())
    })
}

/// The element type.
///
/// # Safety
/// `tensor` is null or a handle; `dtype` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_dtype(
    tensor: *const TensorHandle,
    dtype: *mut DTypeCode,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, dtype) = unsafe { (borrow(tensor, "tensor")?, out(dtype, "dtype")?) };
        dtype.write(tensor.tensor.dtype().code().into());
        Ok(())
    })
}

/// Bytes of all elements without gaps.
///
/// # Safety
/// `tensor` is null or a handle; `bytes` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_bytes(
    tensor: *const TensorHandle,
    bytes: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, bytes) = unsafe { (borrow(tensor, "tensor")?, out(bytes, "bytes")?) };
        bytes.write(tensor.tensor.size_bytes());
        Ok(())
    })
}

/// The mechanism that the bytes were obtained with.
///
/// # Safety
/// `tensor` is null or a handle; `memory` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_memory(
    tensor: *const TensorHandle,
    memory: *mut MemoryCode,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, memory) = unsafe { (borrow(tensor, "tensor")?, out(memory, "memory")?) };
        memory.write(tensor.tensor.memory().code().into());
        Ok(())
    })
}

/// Where the bytes live, and for `TENURE_SPACE_GPU` on which device (0 elsewhere).
///
/// # Safety
/// `tensor` is null or a handle; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_space(
    tensor: *const TensorHandle,
    space: *mut SpaceCode,
    device: *mut u32,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, space, device) =
            unsafe { (borrow(tensor, "tensor")?, out(space, "space")?, out(device, "device")?) };
        let (code, id) = codes::space(tensor.tensor.space());
        space.write(code);
        device.write(id);
        Ok(())
    })
}

/// The name, or null if it has none. Valid until the handle is freed.
///
/// # Safety
/// `tensor` is null or a handle; `name` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_name(
    tensor: *const TensorHandle,
    name: *mut *const c_char,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, name) = unsafe { (borrow(tensor, "tensor")?, out(name, "name")?) };
        let kept = tensor.name.get_or_init(|| tensor.tensor.name().map(c_text));
        name.write(kept.as_ref().map_or(ptr::null(), |name| name.as_ptr()));
        Ok(())
    })
}

/// Whether elements may be written.
///
/// # Safety
/// `tensor` is null or a handle; `writable` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_is_writable(
    tensor: *const TensorHandle,
    writable: *mut bool,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, writable) = unsafe { (borrow(tensor, "tensor")?, out(writable, "writable")?) };
        writable.write(tensor.tensor.is_writable()?);
        Ok(())
    })
}

/// Whether some byte belongs to both.
///
/// # Safety
/// Both are null or handles; `aliases` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_aliases(
    tensor: *const TensorHandle,
    other: *const TensorHandle,
    aliases: *mut bool,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, other, aliases) = unsafe {
            (borrow(tensor, "tensor")?, borrow(other, "other")?, out(aliases, "aliases")?)
        };
        aliases.write(tensor.tensor.aliases(&other.tensor));
        Ok(())
    })
}
