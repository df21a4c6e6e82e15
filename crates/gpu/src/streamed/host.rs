//! Main memory as CUDA and HIP reach it where it is: registered with the driver, and by the address that
//! the driver gives it.
#![expect(unsafe_code, reason = "calls drivers, which are loaded at run time, by address")]

use std::ffi::c_uint;
use std::ptr::NonNull;

use tenure_memory::Result;

use super::outside::{Kind, Place};
use super::{Code, Streamed};
use crate::device::{Address, Block};

/// What drivers do with main memory that is not theirs.
pub(crate) struct Host {
    /// Address, bytes, flags.
    pub(crate) register: unsafe extern "C" fn(usize, usize, c_uint) -> Code,
    pub(crate) unregister: unsafe extern "C" fn(usize) -> Code,
    /// The address for the device of an address that was registered; flags are 0.
    pub(crate) address: unsafe extern "C" fn(*mut usize, usize, c_uint) -> Code,
}

/// For every context, and with an address for the device.
const PORTABLE_AND_MAPPED: c_uint = 1 | 2;

impl Streamed {
    /// Main memory as a block.
    ///
    /// # Safety
    /// As [`crate::Device::import_host`].
    pub(super) unsafe fn host_block(&self, address: NonNull<u8>, bytes: usize) -> Result<Block> {
        let what = "importing main memory";
        let host = &self.functions.host;
        let _current = self.current(what)?;
        let base = address.as_ptr().expose_provenance();
        let mut there = 0;
        // SAFETY: the bytes exist, by the caller's promise; a place for an address.
        unsafe {
            self.check(what, (host.register)(base, bytes, PORTABLE_AND_MAPPED))?;
            let code = (host.address)(&mut there, base, 0);
            if code != 0 {
                (host.unregister)(base);
                self.check(what, code)?;
            }
        }
        Ok(self.enter(Place { address: there, bytes, kind: Kind::Host(Address(address)) }))
    }
}
