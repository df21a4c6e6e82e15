//! Whose memory is in which space: the devices that are open.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::backend::Carrier;
use crate::{Allocator, DeviceVendor, Error, LogicalMemorySpace, RawBuffer, Result};

/// Devices that are open, the first opened first.
static OPEN: Mutex<Vec<Weak<dyn Carrier>>> = Mutex::new(vec![]);

/// Makes the spaces of a device known, for as long as somebody keeps it open: its handles, and all
/// of its memory.
pub fn announce(carrier: &Arc<dyn Carrier>) {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|known| known.strong_count() > 0);
    open.push(Arc::downgrade(carrier));
}

fn all() -> Vec<Arc<dyn Carrier>> {
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.iter().filter_map(Weak::upgrade).collect()
}

/// The allocator of a space that is a device's. Where several devices have the space (pinned memory,
/// or the first GPU of two vendors), it is that of `near`, and otherwise of the one that was opened
/// first.
///
/// # Errors
/// [`Error::NoSpace`] if no device is open that has such memory; nor has main memory, which has no
/// device, an allocator here: [`crate::allocate`] chooses one.
pub fn allocator_in(
    space: LogicalMemorySpace,
    near: Option<Arc<dyn Carrier>>,
) -> Result<Arc<dyn Allocator>> {
    let open = all();
    let devices = open.len();
    let mut all = near.into_iter().chain(open);
    all.find_map(|carrier| carrier.allocator(space))
        .ok_or(Error::from(crate::detail::NoSpace { space, devices }))
}

/// The allocator of a space on a device of one vendor: what DLPack names by a device type and an id.
/// `None` if no such device is open.
pub fn allocator_on(vendor: DeviceVendor, space: LogicalMemorySpace) -> Option<Arc<dyn Allocator>> {
    let mut theirs = all().into_iter().filter(|carrier| carrier.vendor() == Some(vendor));
    theirs.find_map(|carrier| carrier.allocator(space))
}

/// Who carries from and to memory that the CPU does not reach: whom it names, or the first open device
/// that reaches it. Memory that another library allocated on a device names nobody, nor does a DMA-BUF.
///
/// # Errors
/// [`Error::NotOpen`] for memory of a device that is not open here, and [`Error::NotMappable`] for other
/// memory that no open device reaches.
pub fn carrier_for(raw: &RawBuffer) -> Result<Arc<dyn Carrier>> {
    if let Some(carrier) = raw.carrier() {
        return Ok(carrier);
    }
    let (memory, space) = (raw.memory(), raw.space());
    all().into_iter().find(|carrier| carrier.reaches(raw)).ok_or_else(|| match raw.vendor() {
        Some(vendor) => Error::from(crate::detail::NotOpen { memory, space, vendor }),
        None => Error::NotMappable { memory, space },
    })
}
