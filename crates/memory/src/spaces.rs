//! Whose memory is in which space: the devices that are open.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::{Allocator, Carrier, Error, LogicalMemorySpace, Result};

/// Devices that are open, the first opened first.
static OPEN: Mutex<Vec<Weak<dyn Carrier>>> = Mutex::new(vec![]);

/// Makes the spaces of a device known, for as long as somebody keeps it open: its handles, and all
/// of its memory.
pub fn announce(carrier: &Arc<dyn Carrier>) {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|known| known.strong_count() > 0);
    open.push(Arc::downgrade(carrier));
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
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let open: Vec<_> = open.iter().filter_map(Weak::upgrade).collect();
    let devices = open.len();
    let mut all = near.into_iter().chain(open);
    all.find_map(|carrier| carrier.allocator(space)).ok_or(Error::NoSpace { space, devices })
}
