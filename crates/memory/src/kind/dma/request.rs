//! The requests to the kernel that DMA memory needs.
#![expect(unsafe_code, reason = "names the structures that the kernel expects")]

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::io::Errno;
use rustix::ioctl::{Opcode, opcode};

use crate::Access;
use crate::ioctl::{Command, call};

/// Takes a descriptor that the kernel just made for us.
fn own(fd: RawFd) -> Result<OwnedFd, Errno> {
    if fd < 0 {
        return Err(Errno::BADF);
    }
    // SAFETY: the kernel made the descriptor for this call and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[repr(C)]
struct HeapAllocation {
    len: u64,
    fd: u32,
    fd_flags: u32,
    heap_flags: u64,
}

// SAFETY: `DMA_HEAP_IOCTL_ALLOC` with its `struct dma_heap_allocation_data`.
unsafe impl Command for HeapAllocation {
    const OPCODE: Opcode = opcode::read_write::<HeapAllocation>(b'H', 0);
}

const OPEN_FLAGS: u32 = (libc::O_RDWR | libc::O_CLOEXEC) as u32;

/// A buffer of a heap.
pub(super) fn heap_allocate(heap: BorrowedFd<'_>, bytes: u64) -> Result<OwnedFd, Errno> {
    let mut request = HeapAllocation { len: bytes, fd: 0, fd_flags: OPEN_FLAGS, heap_flags: 0 };
    call(heap, &mut request)?;
    own(request.fd as RawFd)
}

#[repr(C)]
struct UdmabufCreate {
    memfd: u32,
    flags: u32,
    offset: u64,
    size: u64,
}

// SAFETY: `UDMABUF_CREATE` with its `struct udmabuf_create`.
unsafe impl Command for UdmabufCreate {
    const OPCODE: Opcode = opcode::write::<UdmabufCreate>(b'u', 0x42);
}

const UDMABUF_CLOEXEC: u32 = 1;

/// A buffer over the pages of a memory file.
pub(super) fn udmabuf_create(
    device: BorrowedFd<'_>,
    file: BorrowedFd<'_>,
    size: u64,
) -> Result<OwnedFd, Errno> {
    let memfd = file.as_raw_fd() as u32;
    let mut request = UdmabufCreate { memfd, flags: UDMABUF_CLOEXEC, offset: 0, size };
    own(call(device, &mut request)?)
}

#[repr(C)]
#[derive(Default)]
struct CreateDumb {
    height: u32,
    width: u32,
    bits_per_pixel: u32,
    flags: u32,
    handle: u32,
    pitch: u32,
    size: u64,
}

// SAFETY: `DRM_IOCTL_MODE_CREATE_DUMB` with its `struct drm_mode_create_dumb`.
unsafe impl Command for CreateDumb {
    const OPCODE: Opcode = opcode::read_write::<CreateDumb>(b'd', 0xb2);
}

#[repr(C)]
struct DestroyDumb {
    handle: u32,
}

// SAFETY: `DRM_IOCTL_MODE_DESTROY_DUMB` with its `struct drm_mode_destroy_dumb`.
unsafe impl Command for DestroyDumb {
    const OPCODE: Opcode = opcode::read_write::<DestroyDumb>(b'd', 0xb4);
}

#[repr(C)]
struct HandleToFd {
    handle: u32,
    flags: u32,
    fd: i32,
}

// SAFETY: `DRM_IOCTL_PRIME_HANDLE_TO_FD` with its `struct drm_prime_handle`.
unsafe impl Command for HandleToFd {
    const OPCODE: Opcode = opcode::read_write::<HandleToFd>(b'd', 0x2d);
}

/// A dumb buffer of a card, exported; the descriptor keeps it when the handle is gone.
pub(super) fn dumb_allocate(card: BorrowedFd<'_>, bytes: usize) -> Result<OwnedFd, Errno> {
    // As an image of rows of a page each: width and height are 32 bits.
    let rows = bytes.div_ceil(4096);
    let height = u32::try_from(rows).map_err(|_| Errno::TOOBIG)?;
    let mut dumb = CreateDumb { height, width: 4096, bits_per_pixel: 8, ..CreateDumb::default() };
    call(card, &mut dumb)?;
    let mut export = HandleToFd { handle: dumb.handle, flags: OPEN_FLAGS, fd: -1 };
    let exported = call(card, &mut export).and_then(|_| own(export.fd));
    let _ = call(card, &mut DestroyDumb { handle: dumb.handle });
    if dumb.size < bytes as u64 {
        return Err(Errno::NOMEM);
    }
    exported
}

#[repr(C)]
struct Sync {
    flags: u64,
}

// SAFETY: `DMA_BUF_IOCTL_SYNC` with its `struct dma_buf_sync`.
unsafe impl Command for Sync {
    const OPCODE: Opcode = opcode::write::<Sync>(b'b', 0);
}

const READ: u32 = 1;
const WRITE: u32 = 2;
const END: u64 = 4;

/// In which direction an access goes. Whoever writes may read too.
fn direction(access: Access) -> u32 {
    if access.writes() { READ | WRITE } else { READ }
}

/// Begins CPU access: waits for devices that use the buffer and makes caches agree.
pub(super) fn begin(buffer: BorrowedFd<'_>, access: Access) -> Result<(), Errno> {
    call(buffer, &mut Sync { flags: direction(access).into() }).map(|_| ())
}

/// Ends CPU access: makes what was written visible to devices.
pub(super) fn end(buffer: BorrowedFd<'_>, access: Access) -> Result<(), Errno> {
    call(buffer, &mut Sync { flags: u64::from(direction(access)) | END }).map(|_| ())
}

#[repr(C)]
struct ExportSyncFile {
    flags: u32,
    fd: i32,
}

// SAFETY: `DMA_BUF_IOCTL_EXPORT_SYNC_FILE` with its `struct dma_buf_export_sync_file`.
unsafe impl Command for ExportSyncFile {
    const OPCODE: Opcode = opcode::read_write::<ExportSyncFile>(b'b', 2);
}

#[repr(C)]
struct ImportSyncFile {
    flags: u32,
    fd: i32,
}

// SAFETY: `DMA_BUF_IOCTL_IMPORT_SYNC_FILE` with its `struct dma_buf_import_sync_file`.
unsafe impl Command for ImportSyncFile {
    const OPCODE: Opcode = opcode::write::<ImportSyncFile>(b'b', 3);
}

/// What must be done before `access` may begin, as a descriptor that becomes readable then.
pub(crate) fn export_fence(buffer: BorrowedFd<'_>, access: Access) -> Result<OwnedFd, Errno> {
    let mut request = ExportSyncFile { flags: direction(access), fd: -1 };
    call(buffer, &mut request)?;
    own(request.fd)
}

/// Everybody that uses the buffer from now on waits for `fence`, which does `access`.
pub(crate) fn import_fence(
    buffer: BorrowedFd<'_>,
    fence: BorrowedFd<'_>,
    access: Access,
) -> Result<(), Errno> {
    let mut request = ImportSyncFile { flags: direction(access), fd: fence.as_raw_fd() };
    call(buffer, &mut request).map(|_| ())
}

/// Gives the buffer a name in the kernel's list, for people who look for leaks. Cut to what the
/// kernel takes; a kernel that refuses does without.
pub(super) fn set_name(buffer: BorrowedFd<'_>, name: &str) {
    #[repr(C)]
    struct Name(*const u8);

    let mut text = [0u8; 32];
    for (to, from) in text.iter_mut().take(31).zip(name.bytes().filter(|byte| *byte != 0)) {
        *to = from;
    }
    // SAFETY: `DMA_BUF_SET_NAME_B`: the argument is the address of a text that ends with zero,
    // which lives until the call returns.
    let _ = unsafe {
        libc::ioctl(buffer.as_raw_fd(), opcode::write::<u64>(b'b', 1) as _, Name(text.as_ptr()).0)
    };
}
