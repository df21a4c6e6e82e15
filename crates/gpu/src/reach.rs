//! Memory of others where a device uses it, without a copy: what its kernels are given.

use std::fmt;
use std::sync::Arc;

use tenure_memory::backend::{DeviceHold, DevicePlace};
use tenure_memory::{Access, Buffer, DeviceFault, Hold, Result, TensorMemory};

use crate::Gpu;
use crate::carry::Courier;

/// Bytes that a device reaches where they are, held for it until this is dropped.
#[must_use = "the bytes are held only while the guard lives"]
pub struct Reached {
    held: Kept,
    place: DevicePlace,
    /// Keeps the device open.
    _courier: Arc<Courier>,
}

/// What keeps the bytes: those with an address are imported by it.
#[derive(Debug)]
enum Kept {
    Near(Hold),
    Far(DeviceHold),
}

impl Gpu {
    /// The bytes of a buffer as this device's kernels use them: memory of its own; DMA-BUFs, such as
    /// the frames of a camera, and main memory where it can import them, which it does once for an
    /// allocation. They are held for `access` ([`Access::KernelRead`] or [`Access::KernelWrite`]) as
    /// long as the answer lives; whoever submits work drops it when the work is done.
    ///
    /// # Errors
    /// If somebody holds bytes of it in a way that excludes the access, or the device does not reach
    /// them: [`Gpu::to`] copies them then.
    pub fn reach(&self, buffer: &Buffer, access: Access) -> Result<Reached> {
        let what = "reaching memory";
        let (core, courier) = (self.core(), Arc::clone(self.courier()));
        let raw = Arc::clone(buffer.raw()?);
        let range = buffer.range_in_raw(0..buffer.len())?;
        let own = raw.device_place().filter(|place| place.device == core.number);
        let far = own.is_some() || raw.memory() == TensorMemory::Dma || !raw.cpu_accessible();
        let held = match far {
            true => Kept::Far(DeviceHold::over(Arc::clone(&raw), access, range.clone())?),
            false => Kept::Near(buffer.hold(access, 0..buffer.len())?),
        };
        let found = match (own, &held) {
            (Some(place), _) => Some((place.block, place.offset + range.start)),
            (None, Kept::Far(_)) => core.imports.far(core, self.device(what)?, &raw, range.start),
            (None, Kept::Near(hold)) => {
                let at = (Some(hold.address()), range.start);
                core.imports.place(core, self.device(what)?, &raw, at, true)
            }
        };
        let (block, offset) = found.ok_or_else(|| {
            let fault = DeviceFault::Lacks("way to reach this memory without a copy");
            self.properties().fault(what, fault)
        })?;
        let place = DevicePlace { device: core.number, block, offset };
        Ok(Reached { held, place, _courier: courier })
    }
}

impl Reached {
    /// Where the first byte is: [`Gpu::address_of`] has its address; for Vulkan, [`crate::vulkan::Vulkan::buffer_of`] has the buffer of the
    /// block.
    pub fn place(&self) -> DevicePlace {
        self.place
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        match &self.held {
            Kept::Near(hold) => hold.len(),
            Kept::Far(hold) => hold.len(),
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reached").field("held", &self.held).field("place", &self.place).finish()
    }
}
