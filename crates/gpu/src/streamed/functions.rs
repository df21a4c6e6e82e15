//! What CUDA and HIP are asked to do: the functions of a driver, for one device.

use std::ffi::c_uint;
use std::sync::Arc;

use libloading::Library;

use super::current::{Enter, Leave};
use super::{Code, Handle, Host, Outside};

/// What both drivers can do. Addresses are numbers, as CUDA has them; for HIP they are pointers,
/// which are passed in the same way.
pub(crate) struct Functions {
    /// Makes the device the one that calls of this thread are for, and gives what was it before.
    pub(crate) enter: Enter,
    pub(crate) leave: Leave,
    /// Free bytes of the device, and all.
    pub(crate) room: unsafe extern "C" fn(*mut usize, *mut usize) -> Code,
    pub(crate) malloc: unsafe extern "C" fn(*mut usize, usize) -> Code,
    pub(crate) free: unsafe extern "C" fn(usize) -> Code,
    pub(crate) malloc_host: unsafe extern "C" fn(*mut usize, usize, c_uint) -> Code,
    pub(crate) free_host: unsafe extern "C" fn(usize) -> Code,
    pub(crate) malloc_managed: unsafe extern "C" fn(*mut usize, usize, c_uint) -> Code,
    /// To, from, bytes, stream.
    pub(crate) copy: Box<dyn Fn(usize, usize, usize, Handle) -> Code + Send + Sync>,
    /// To, pattern, words, stream.
    pub(crate) fill: unsafe extern "C" fn(usize, c_uint, usize, Handle) -> Code,
    pub(crate) stream: unsafe extern "C" fn(*mut Handle, c_uint) -> Code,
    /// Waits for all work of a stream.
    pub(crate) finish: unsafe extern "C" fn(Handle) -> Code,
    pub(crate) end_stream: unsafe extern "C" fn(Handle) -> Code,
    pub(crate) event: unsafe extern "C" fn(*mut Handle, c_uint) -> Code,
    pub(crate) record: unsafe extern "C" fn(Handle, Handle) -> Code,
    pub(crate) query: unsafe extern "C" fn(Handle) -> Code,
    pub(crate) synchronize: unsafe extern "C" fn(Handle) -> Code,
    pub(crate) end_event: unsafe extern "C" fn(Handle) -> Code,
    /// Main memory that is not the driver's.
    pub(crate) host: Host,
    /// Memory of other devices, other drivers and other processes.
    pub(crate) outside: Outside,
    /// What has to be done when the device is closed.
    pub(crate) close: Box<dyn Fn() + Send + Sync>,
    /// Keeps the functions loaded: dropped last.
    pub(crate) _library: Arc<Library>,
}
