//! File descriptors: memory from and to other processes and devices.
#![expect(unsafe_code, reason = "C passes pointers and descriptors")]

use std::ffi::{c_char, c_int};
use std::os::fd::{BorrowedFd, IntoRawFd};

use tenure::{DynTensor, PlaneDescriptor, Sharing, TensorDyn, receive, send};

use crate::codes::{self, DTypeCode, FormatCode};
use crate::failure::{Failure, Outcome};
use crate::guarded::guarded;
use crate::pointers::{borrow, dims, give, list, optional_text, out};
use crate::status::Status;
use crate::tensor::TensorHandle;

/// Where one plane of an image lies in somebody's memory.
#[repr(C)]
pub struct PlanePlace {
    /// The memory; stays the caller's.
    pub fd: c_int,
    /// Bytes before the first row.
    pub offset: usize,
    /// Bytes between rows; 0 for the smallest.
    pub stride: usize,
    /// The DRM modifier that came with the memory; only 0, linear, is taken.
    pub modifier: u64,
}

/// A descriptor of the caller's, for the time of the call.
///
/// # Safety
/// `fd` must stay open for the time of the call. A number that is no open descriptor at all is an
/// error of the system, not undefined.
pub(crate) unsafe fn descriptor<'a>(fd: c_int, what: &str) -> Outcome<BorrowedFd<'a>> {
    if fd < 0 {
        return Err(Failure::invalid(format!("{what} is {fd}: a file descriptor is 0 or more")));
    }
    // SAFETY: not -1; open for as long as it is used, by the caller's promise.
    Ok(unsafe { BorrowedFd::borrow_raw(fd) })
}

/// A tensor over somebody's memory, from its first byte: a memory file, a DMA-BUF. The descriptor
/// is duplicated: the caller keeps and closes its own.
///
/// # Safety
/// Pointers are null or valid; nobody closes `fd` meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_from_fd(
    fd: c_int,
    shape: *const usize,
    rank: usize,
    dtype: DTypeCode,
    name: *const c_char,
    tensor: *mut *mut TensorHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (fd, shape) = unsafe { (descriptor(fd, "fd")?, dims(shape, rank, "shape")?) };
        // SAFETY: by the caller's promise.
        let (name, tensor) = unsafe { (optional_text(name, "name")?, out(tensor, "tensor")?) };
        give(tensor, TensorDyn::from_fd(fd, shape, codes::dtype(dtype)?, name)?.into());
        Ok(())
    })
}

/// An image in somebody's memory: one place for all planes, or one for each. Descriptors are
/// duplicated: the caller keeps and closes its own.
///
/// # Safety
/// `planes` has `count` entries, whose descriptors nobody closes meanwhile; `tensor` is null or
/// valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_image_from_planes(
    planes: *const PlanePlace,
    count: usize,
    width: usize,
    height: usize,
    format: FormatCode,
    dtype: DTypeCode,
    tensor: *mut *mut TensorHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (planes, tensor) = unsafe { (list(planes, count, "planes")?, out(tensor, "tensor")?) };
        let describe = |plane: &PlanePlace| -> Outcome<PlaneDescriptor> {
            // SAFETY: by the caller's promise.
            let fd = unsafe { descriptor(plane.fd, "fd of a plane")? };
            let place = PlaneDescriptor::new(fd)?
                .with_offset(plane.offset)
                .with_modifier(plane.modifier)?;
            Ok(if plane.stride == 0 { place } else { place.with_stride(plane.stride) })
        };
        let planes = planes.iter().map(describe).collect::<Outcome<Vec<_>>>()?;
        let (format, dtype) = (codes::format(format)?, codes::dtype(dtype)?);
        give(tensor, TensorDyn::from_planes(&planes, width, height, format, dtype)?.into());
        Ok(())
    })
}

/// A new descriptor for the tensor's memory, which the caller closes, and how many bytes of that
/// memory lie before the tensor's (`start` may be null).
///
/// # Safety
/// `tensor` is null or a handle; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_clone_fd(
    tensor: *const TensorHandle,
    fd: *mut c_int,
    start: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, fd) = unsafe { (borrow(tensor, "tensor")?, out(fd, "fd")?) };
        // SAFETY: by the caller's promise.
        let start = if start.is_null() { None } else { Some(unsafe { out(start, "start") }?) };
        fd.write(tensor.tensor.clone_fd()?.into_raw_fd());
        let first = tensor.tensor.buffer().start() + tensor.tensor.layout().offset();
        start.map(|start| start.write(first));
        Ok(())
    })
}

/// A new descriptor for the DMA-BUF that the tensor is in, which the caller closes. An error if
/// its memory is not `TENURE_MEMORY_DMA`.
///
/// # Safety
/// `tensor` is null or a handle; `fd` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_tensor_clone_dmabuf(
    tensor: *const TensorHandle,
    fd: *mut c_int,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, fd) = unsafe { (borrow(tensor, "tensor")?, out(fd, "fd")?) };
        fd.write(tensor.tensor.dmabuf_clone()?.into_raw_fd());
        Ok(())
    })
}

/// Sends a tensor over a connected Unix socket (stream or sequenced packets), without copying its
/// bytes. With `read_only` the receiver can only read, and the kernel sees to it, for good.
///
/// # Safety
/// `tensor` is null or a handle; nobody closes `socket` meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_send(
    socket: c_int,
    tensor: *const TensorHandle,
    read_only: bool,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (socket, tensor) =
            unsafe { (descriptor(socket, "socket")?, borrow(tensor, "tensor")?) };
        let sharing = if read_only { Sharing::ReadOnly } else { Sharing::ReadWrite };
        Ok(send(socket, &tensor.tensor, sharing)?)
    })
}

/// Receives a tensor that another process sent. Everything in the message is checked against the
/// memory that came with it.
///
/// # Safety
/// `tensor` is null or valid; nobody closes `socket` meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_receive(socket: c_int, tensor: *mut *mut TensorHandle) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (socket, tensor) = unsafe { (descriptor(socket, "socket")?, out(tensor, "tensor")?) };
        give(tensor, receive(socket)?.into());
        Ok(())
    })
}
