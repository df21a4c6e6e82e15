//! Memory that somebody else made: an address, and what keeps it valid.
#![expect(unsafe_code, reason = "takes the caller's word for an address")]

use std::any::Any;
use std::ptr::NonNull;

use crate::{
    CpuAddress, DeviceVendor, Error, LogicalMemorySpace, RawBuffer, RawKind, RawMemory, Result,
    TensorMemory,
};

/// Memory of another library.
struct Foreign {
    address: Option<NonNull<u8>>,
    size: usize,
    memory: TensorMemory,
    space: LogicalMemorySpace,
    vendor: Option<DeviceVendor>,
    writable: bool,
    /// Dropped when the last user is gone, or given back to it.
    keep_alive: Option<Box<dyn Any + Send + Sync>>,
}

// SAFETY: whoever called `adopt` promised that the address is valid, the keep-alive is
// `Send + Sync`, and the pointer is only used through the ledger.
unsafe impl Send for Foreign {}
// SAFETY: as above.
unsafe impl Sync for Foreign {}

// SAFETY: the caller of `adopt` made the promises of the trait.
unsafe impl RawMemory for Foreign {
    fn memory(&self) -> TensorMemory {
        self.memory
    }

    fn kind(&self) -> RawKind {
        RawKind::Foreign
    }

    fn space(&self) -> LogicalMemorySpace {
        self.space
    }

    fn vendor(&self) -> Option<DeviceVendor> {
        self.vendor
    }

    fn device_address(&self) -> Option<NonNull<u8>> {
        self.address.filter(|_| !self.space.cpu_reachable())
    }

    fn size(&self) -> usize {
        self.size
    }

    fn address(&self) -> CpuAddress {
        match self.address {
            Some(address) if self.space.cpu_reachable() => CpuAddress::Fixed(address),
            _ => CpuAddress::None,
        }
    }

    fn writable(&self) -> bool {
        self.writable
    }

    fn owner(&mut self) -> Option<&mut Option<Box<dyn Any + Send + Sync>>> {
        Some(&mut self.keep_alive)
    }
}

/// What foreign memory is.
#[derive(Debug, Clone, Copy)]
pub struct Description {
    /// The mechanism it was obtained with, as far as known.
    pub memory: TensorMemory,
    /// Where it lives.
    pub space: LogicalMemorySpace,
    /// Whose driver made it, for memory of devices, pinned and managed memory.
    pub vendor: Option<DeviceVendor>,
    /// Whether it may be written.
    pub writable: bool,
}

impl Description {
    /// Writable main memory from somebody's heap.
    pub const HEAP: Description = Description {
        memory: TensorMemory::Mem,
        space: LogicalMemorySpace::MainMemory,
        vendor: None,
        writable: true,
    };
}

/// A raw buffer over memory that `keep_alive` keeps valid. Nothing is copied, and nothing but
/// dropping `keep_alive` is done to free it.
///
/// ```
/// use std::ptr::NonNull;
/// use tenure_memory::{Buffer, kind::foreign};
/// let mut theirs = vec![1u8, 2, 3];
/// let address = NonNull::new(theirs.as_mut_ptr());
/// // SAFETY: a Vec's heap block stays in place while the Vec lives, which moves into the buffer.
/// let raw = unsafe { foreign::adopt(address, 3, foreign::Description::HEAP, theirs, None)? };
/// assert_eq!(Buffer::from_raw(raw).read()?.as_bytes(), [1, 2, 3]);
/// # Ok::<(), tenure_memory::Error>(())
/// ```
///
/// # Errors
/// [`Error::OutOfBounds`] for an address without bytes to go with it (null with a size).
///
/// # Safety
/// While `keep_alive` exists, `address` must be valid for reads of `size` initialised bytes and,
/// if `writable`, for writes (or, in device memory, be an address of that device), and nothing in
/// this process may use those bytes in a way that conflicts with guards given out for them.
pub unsafe fn adopt(
    address: Option<NonNull<u8>>,
    size: usize,
    description: Description,
    keep_alive: impl Any + Send + Sync,
    name: Option<&str>,
) -> Result<RawBuffer> {
    if (address.is_none() && size > 0) || isize::try_from(size).is_err() {
        return Err(Error::from(crate::detail::OutOfBounds { start: 0, end: size, len: 0 }));
    }
    let Description { memory, space, vendor, writable } = description;
    let keep_alive: Option<Box<dyn Any + Send + Sync>> = Some(Box::new(keep_alive));
    let address = address.or(Some(crate::allocator::nowhere()));
    let foreign = Foreign { address, size, memory, space, vendor, writable, keep_alive };
    Ok(RawBuffer::new(foreign, name))
}
