//! Fences that somebody else signals: the virtual graphics card hands them out for tests.
#![expect(unsafe_code, reason = "requests to the graphics driver")]

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;

use tenure_memory::Buffer;

#[repr(C)]
struct PrimeHandle {
    handle: u32,
    flags: u32,
    fd: i32,
}

#[repr(C)]
struct Attach {
    handle: u32,
    flags: u32,
    fence: u32,
    pad: u32,
}

#[repr(C)]
struct Signal {
    fence: u32,
    flags: u32,
}

const FD_TO_HANDLE: u64 = 0xc00c_642e;
const ATTACH: u64 = 0xc010_6441;
const SIGNAL: u64 = 0x4008_6442;
const WRITES: u32 = 1;

/// Device work on a buffer that goes on until it is told to end.
pub(crate) struct Work {
    card: File,
    fence: u32,
}

impl Work {
    /// Begins to read or write the buffer.
    pub(crate) fn begin(buffer: &Buffer, writes: bool) -> Work {
        let card = OpenOptions::new().read(true).write(true).open("/dev/dri/card0").unwrap();
        // SAFETY: the driver's handle is used by this work, which the test keeps the buffer for.
        let fd = unsafe { buffer.raw().unwrap().device_descriptor() }.unwrap();
        let mut prime = PrimeHandle { handle: 0, flags: 0, fd: fd.as_raw_fd() };
        // SAFETY: the request of this number reads and writes such a structure.
        let answer = unsafe { libc::ioctl(card.as_raw_fd(), FD_TO_HANDLE as _, &raw mut prime) };
        assert_eq!(answer, 0, "{}", std::io::Error::last_os_error());
        let flags = if writes { WRITES } else { 0 };
        let mut attach = Attach { handle: prime.handle, flags, fence: 0, pad: 0 };
        // SAFETY: as above.
        let answer = unsafe { libc::ioctl(card.as_raw_fd(), ATTACH as _, &raw mut attach) };
        assert_eq!(answer, 0, "{}", std::io::Error::last_os_error());
        Work { card, fence: attach.fence }
    }

    /// The work is done.
    pub(crate) fn end(self) {
        let signal = Signal { fence: self.fence, flags: 0 };
        // SAFETY: the request of this number reads such a structure.
        let answer = unsafe { libc::ioctl(self.card.as_raw_fd(), SIGNAL as _, &raw const signal) };
        assert_eq!(answer, 0, "{}", std::io::Error::last_os_error());
    }
}
