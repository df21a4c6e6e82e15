//! The requests to the kernel that cameras need.
#![expect(unsafe_code, reason = "gives the kernel addresses, and owns descriptors it made")]

use std::ffi::c_void;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::io::Errno;
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, opcode};

pub(crate) mod structures;

use structures::{
    Buffer, BufferArgument, Capability, Control, ExportBuffer, Format, FormatDescription,
    FrameInterval, FrameSize, MOST_PLANES, QueryControl, RequestBuffers, StreamParameters,
};

/// The argument of requests.
///
/// # Safety
/// A structure of exactly the layout that the kernel expects with the requests it is used with
/// below, in which every bit pattern is valid and which holds no addresses.
unsafe trait Argument {}

// SAFETY: `struct v4l2_capability`.
unsafe impl Argument for Capability {}
// SAFETY: `struct v4l2_fmtdesc`.
unsafe impl Argument for FormatDescription {}
// SAFETY: `struct v4l2_frmsizeenum`.
unsafe impl Argument for FrameSize {}
// SAFETY: `struct v4l2_frmivalenum`.
unsafe impl Argument for FrameInterval {}
// SAFETY: `struct v4l2_format`; the kinds used here, pictures, hold no addresses.
unsafe impl Argument for Format {}
// SAFETY: `struct v4l2_streamparm`.
unsafe impl Argument for StreamParameters {}
// SAFETY: `struct v4l2_requestbuffers`.
unsafe impl Argument for RequestBuffers {}
// SAFETY: `struct v4l2_exportbuffer`.
unsafe impl Argument for ExportBuffer {}
// SAFETY: `struct v4l2_queryctrl`.
unsafe impl Argument for QueryControl {}
// SAFETY: `struct v4l2_control`.
unsafe impl Argument for Control {}

struct Call<'a, A> {
    opcode: Opcode,
    argument: &'a mut A,
}

// SAFETY: the pointer is to a live structure that the kernel may change; callers see to it that
// opcode and structure belong together.
unsafe impl<A> Ioctl for Call<'_, A> {
    type Output = ();

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        self.opcode
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::from_mut(self.argument).cast()
    }

    unsafe fn output_from_ptr(_: IoctlOutput, _: *mut c_void) -> rustix::io::Result<()> {
        Ok(())
    }
}

/// Makes the request, again if a signal came.
///
/// # Safety
/// The request must take a pointer to an `A`, and addresses in it must be valid for what the
/// kernel does with them.
unsafe fn call<A>(fd: BorrowedFd<'_>, opcode: Opcode, argument: &mut A) -> Result<(), Errno> {
    loop {
        // SAFETY: the caller's promise.
        match unsafe { rustix::ioctl::ioctl(fd, Call { opcode, argument: &mut *argument }) } {
            Err(Errno::INTR) => {}
            answer => return answer,
        }
    }
}

/// Requests that read and write a structure without addresses: number, structure.
fn exchange<A: Argument>(fd: BorrowedFd<'_>, number: u8, argument: &mut A) -> Result<(), Errno> {
    // SAFETY: `Argument`; the size in the opcode is the structure's, and the numbers below are
    // used with the structures that belong to them: the kernel compares the size.
    unsafe { call(fd, opcode::read_write::<A>(b'V', number), argument) }
}

pub(crate) fn capability(fd: BorrowedFd<'_>) -> Result<Capability, Errno> {
    let mut answer = Capability::default();
    // SAFETY: VIDIOC_QUERYCAP.
    unsafe { call(fd, opcode::read::<Capability>(b'V', 0), &mut answer)? };
    Ok(answer)
}

pub(crate) fn format_description(
    fd: BorrowedFd<'_>,
    argument: &mut FormatDescription,
) -> Result<(), Errno> {
    exchange(fd, 2, argument)
}

pub(crate) fn frame_size(fd: BorrowedFd<'_>, argument: &mut FrameSize) -> Result<(), Errno> {
    exchange(fd, 74, argument)
}

pub(crate) fn frame_interval(
    fd: BorrowedFd<'_>,
    argument: &mut FrameInterval,
) -> Result<(), Errno> {
    exchange(fd, 75, argument)
}

pub(crate) fn get_format(fd: BorrowedFd<'_>, argument: &mut Format) -> Result<(), Errno> {
    exchange(fd, 4, argument)
}

pub(crate) fn set_format(fd: BorrowedFd<'_>, argument: &mut Format) -> Result<(), Errno> {
    exchange(fd, 5, argument)
}

pub(crate) fn try_format(fd: BorrowedFd<'_>, argument: &mut Format) -> Result<(), Errno> {
    exchange(fd, 64, argument)
}

pub(crate) fn get_parameters(
    fd: BorrowedFd<'_>,
    argument: &mut StreamParameters,
) -> Result<(), Errno> {
    exchange(fd, 21, argument)
}

pub(crate) fn set_parameters(
    fd: BorrowedFd<'_>,
    argument: &mut StreamParameters,
) -> Result<(), Errno> {
    exchange(fd, 22, argument)
}

pub(crate) fn request_buffers(
    fd: BorrowedFd<'_>,
    argument: &mut RequestBuffers,
) -> Result<(), Errno> {
    exchange(fd, 8, argument)
}

pub(crate) fn get_control(fd: BorrowedFd<'_>, argument: &mut Control) -> Result<(), Errno> {
    exchange(fd, 27, argument)
}

pub(crate) fn set_control(fd: BorrowedFd<'_>, argument: &mut Control) -> Result<(), Errno> {
    exchange(fd, 28, argument)
}

pub(crate) fn query_control(fd: BorrowedFd<'_>, argument: &mut QueryControl) -> Result<(), Errno> {
    exchange(fd, 36, argument)
}

/// Makes a DMA-BUF of a plane of a buffer. One that is not writable cannot be mapped for writing by
/// anybody who gets it.
pub(crate) fn export_buffer(
    fd: BorrowedFd<'_>,
    kind: u32,
    index: u32,
    plane: u32,
    writable: bool,
) -> Result<OwnedFd, Errno> {
    let mode = if writable { libc::O_RDWR } else { libc::O_RDONLY };
    let flags = (mode | libc::O_CLOEXEC) as u32;
    let mut argument =
        ExportBuffer { kind, index, plane, flags, fd: -1, ..ExportBuffer::default() };
    exchange(fd, 16, &mut argument)?;
    own(argument.fd)
}

/// Takes a descriptor that the kernel just made for us.
fn own(fd: RawFd) -> Result<OwnedFd, Errno> {
    if fd < 0 {
        return Err(Errno::BADF);
    }
    // SAFETY: the kernel made the descriptor for this call and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub(crate) fn query_buffer(fd: BorrowedFd<'_>, buffer: &mut BufferArgument) -> Result<(), Errno> {
    with_planes(fd, 9, buffer)
}

pub(crate) fn queue_buffer(fd: BorrowedFd<'_>, buffer: &mut BufferArgument) -> Result<(), Errno> {
    with_planes(fd, 15, buffer)
}

pub(crate) fn dequeue_buffer(fd: BorrowedFd<'_>, buffer: &mut BufferArgument) -> Result<(), Errno> {
    with_planes(fd, 17, buffer)
}

/// QUERYBUF, QBUF and DQBUF: a structure that may point to more.
fn with_planes(fd: BorrowedFd<'_>, number: u8, argument: &mut BufferArgument) -> Result<(), Errno> {
    let BufferArgument { buffer, planes, several } = argument;
    if *several {
        buffer.place = planes.as_mut_ptr().expose_provenance();
        buffer.length = MOST_PLANES as u32;
    }
    // SAFETY: `struct v4l2_buffer`. For several planes it points to as many `struct v4l2_plane`
    // as it says, which live until the call returns and which nobody else uses meanwhile. For one
    // it holds a number, and the kernel follows no address (no memory of kind USERPTR is used).
    unsafe { call(fd, opcode::read_write::<Buffer>(b'V', number), buffer) }
}

/// Starts or stops streaming.
pub(crate) fn stream(fd: BorrowedFd<'_>, mut kind: u32, on: bool) -> Result<(), Errno> {
    // SAFETY: VIDIOC_STREAMON and VIDIOC_STREAMOFF take the address of an int.
    unsafe { call(fd, opcode::write::<u32>(b'V', if on { 18 } else { 19 }), &mut kind) }
}

/// Begins or ends CPU access to a DMA-BUF.
pub(crate) fn synchronise(fd: BorrowedFd<'_>, writes: bool, end: bool) -> Result<(), Errno> {
    let mut flags: u64 = if writes { 3 } else { 1 } | if end { 4 } else { 0 };
    loop {
        // SAFETY: `DMA_BUF_IOCTL_SYNC` with its `struct dma_buf_sync`, which is one u64.
        match unsafe { call(fd, opcode::write::<u64>(b'b', 0), &mut flags) } {
            Err(Errno::AGAIN) => {}
            answer => return answer,
        }
    }
}

/// The number that stands for a descriptor in a buffer.
pub(crate) fn descriptor_word(fd: BorrowedFd<'_>) -> u32 {
    fd.as_raw_fd() as u32
}
