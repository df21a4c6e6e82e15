//! What authors of memories, devices and of the crates above need, and programs do not.
//!
//! A memory of one's own implements [`Allocator`](crate::Allocator) and
//! [`RawMemory`](crate::RawMemory). One that a device has its own way to copy to and from is also
//! [announced](announce) with a [`Carrier`], which copies by order of a [`Carry`]. Work of a device
//! on bytes holds them by a [`DeviceHold`].

pub use crate::carrier::{After, Carrier, Carry, DevicePlace, Held, Piece, Source};
pub use crate::device::DeviceHold;
pub use crate::guard::Keep;
pub use crate::registry::ObjectKey;
pub use crate::spaces::{announce, carrier_for};

#[cfg(linux_like)]
pub use crate::cached::copy_from_cache;
#[cfg(linux_like)]
pub use crate::process::Process;
