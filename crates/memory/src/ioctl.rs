//! Calls to device drivers whose argument is one plain structure.
#![expect(unsafe_code, reason = "gives the kernel an address")]

use std::ffi::c_void;
use std::os::fd::BorrowedFd;

use rustix::io::Errno;
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode};

/// The argument of one request.
///
/// # Safety
/// [`Command::OPCODE`] must be a request whose argument is a pointer to a structure of exactly
/// this layout, in which every bit pattern is valid; the kernel must touch no other memory of
/// this process through it.
pub(crate) unsafe trait Command {
    const OPCODE: Opcode;
}

/// Makes the request, again if a signal came or the driver was busy, and gives its answer.
pub(crate) fn call<C: Command>(fd: BorrowedFd<'_>, argument: &mut C) -> Result<i32, Errno> {
    loop {
        // SAFETY: `Command` promises that opcode and argument belong together.
        match unsafe { rustix::ioctl::ioctl(fd, Call(&mut *argument)) } {
            Err(Errno::INTR | Errno::AGAIN) => {}
            answer => return answer,
        }
    }
}

struct Call<'a, C>(&'a mut C);

// SAFETY: the pointer is to a live structure that the kernel may change, as `Command` says.
unsafe impl<C: Command> Ioctl for Call<'_, C> {
    type Output = i32;

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        C::OPCODE
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::from_mut(self.0).cast()
    }

    unsafe fn output_from_ptr(answer: IoctlOutput, _: *mut c_void) -> rustix::io::Result<i32> {
        Ok(answer)
    }
}
