//! A heap asked without the library in between.
#![expect(unsafe_code, reason = "a request to the heap")]

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

#[repr(C)]
struct Allocation {
    len: u64,
    fd: u32,
    fd_flags: u32,
    heap_flags: u64,
}

const ALLOCATE: u64 = 0xc018_4800;

/// A buffer whose descriptor allows reading only.
pub(crate) fn allocate_read_only(heap: BorrowedFd<'_>, bytes: u64) -> OwnedFd {
    let fd_flags = (libc::O_RDONLY | libc::O_CLOEXEC) as u32;
    let mut request = Allocation { len: bytes, fd: 0, fd_flags, heap_flags: 0 };
    // SAFETY: the request of this number reads and writes such a structure.
    let answer = unsafe { libc::ioctl(heap.as_raw_fd(), ALLOCATE as _, &raw mut request) };
    assert_eq!(answer, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: the kernel made the descriptor for this call.
    unsafe { OwnedFd::from_raw_fd(request.fd as i32) }
}
