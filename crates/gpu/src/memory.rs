//! `TensorMemory::Device`, `Pinned` and `Managed`: parts of a device's blocks as raw buffers.
#![expect(unsafe_code, reason = "promises that the device's addresses are valid")]

use std::ops::Range;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::Arc;

use rustix::fs::fstat;
use tenure_memory::backend::{Carrier, DevicePlace, ObjectKey};
use tenure_memory::{
    Access, Allocator, CpuAddress, DeviceVendor, Error, LogicalMemorySpace, RawBuffer, RawMemory,
    Request, Result, TensorMemory,
};

use crate::carry::Courier;
use crate::core::Core;
use crate::device::{Block, FdKind};
use crate::heap::Taken;

/// Makes one memory of a device.
#[derive(Clone)]
pub(crate) struct Maker {
    core: Arc<Core>,
    /// Who carries the bytes; staging memory, which belongs to it, has none.
    courier: Option<Arc<Courier>>,
    memory: TensorMemory,
    /// If every allocation is a block of its own that others can use: as what.
    shared: Option<FdKind>,
}

impl Maker {
    pub(crate) fn new(
        core: Arc<Core>,
        courier: Option<Arc<Courier>>,
        memory: TensorMemory,
    ) -> Maker {
        Maker { core, courier, memory, shared: None }
    }

    /// The same, of memory that others can use.
    pub(crate) fn shared(self, kind: FdKind) -> Maker {
        Maker { shared: Some(kind), ..self }
    }
}

impl Allocator for Maker {
    fn memory(&self) -> TensorMemory {
        self.memory
    }

    fn space(&self) -> LogicalMemorySpace {
        self.core.properties().space(self.memory)
    }

    fn allocate(&self, request: &Request<'_>) -> Result<RawBuffer> {
        let taken = match self.shared {
            None => self.core.take(self.memory, request)?,
            Some(kind) => self.core.take_shared(self.memory, request, kind)?,
        };
        let mut part = self.part(taken, request.bytes());
        part.zero()?;
        if self.shared == Some(FdKind::DmaBuf) {
            part.object = Some(Object::of(&self.core, part.taken.block)?);
        }
        Ok(RawBuffer::new(part, request.name()))
    }

    fn keep(&self) -> Option<Arc<dyn Allocator>> {
        Some(Arc::new(self.clone()))
    }
}

impl Maker {
    fn part(&self, taken: Taken, size: usize) -> Part {
        let (core, courier) = (Arc::clone(&self.core), self.courier.clone());
        Part { taken, core, courier, memory: self.memory, size, object: None }
    }

    /// Bytes of a block that exists, as a raw buffer; the block is freed with it.
    pub(crate) fn adopt(
        &self,
        block: &Block,
        bytes: Range<usize>,
        name: Option<&str>,
    ) -> RawBuffer {
        let mut taken = Taken::whole(block);
        taken.offset = bytes.start;
        RawBuffer::new(self.part(taken, bytes.len()), name)
    }
}

/// What a block is to the kernel, which others map: kept open, so that it stays the same.
struct Object {
    key: ObjectKey,
    _fd: OwnedFd,
}

impl Object {
    fn of(core: &Core, block: u64) -> Result<Object> {
        let (fd, _) = core.device("sharing memory")?.export(block)?;
        let found = fstat(&fd).map_err(|errno| {
            Error::from(tenure_memory::detail::System {
                what: "looking at the descriptor",
                cause: errno.into(),
            })
        })?;
        Ok(Object { key: ObjectKey { device: found.st_dev, inode: found.st_ino }, _fd: fd })
    }
}

/// Part of a block.
struct Part {
    taken: Taken,
    core: Arc<Core>,
    courier: Option<Arc<Courier>>,
    memory: TensorMemory,
    size: usize,
    /// For memory that others can map: whoever maps it here answers to the same ledger.
    object: Option<Object>,
}

impl Part {
    /// Where the CPU finds the first byte.
    fn host(&self) -> Option<NonNull<u8>> {
        // Inside the block, which has an address.
        self.taken.host.map(|base| base.0.map_addr(|base| base.saturating_add(self.taken.offset)))
    }

    fn zero(&self) -> Result<()> {
        match self.host() {
            Some(address) => {
                // SAFETY: `size` bytes from here on belong to this part, which nobody knows yet;
                // `Device` promises that the block's bytes are valid.
                unsafe { address.write_bytes(0, self.size) };
                Ok(())
            }
            None => {
                let queue = self.courier.as_ref().map_or(0, |courier| courier.queue());
                self.core.zero(queue, &self.taken, self.size)
            }
        }
    }
}

// SAFETY: the device promises that a block's bytes are valid until it is freed, which happens when
// the part, and every other of the block, is gone. TLSF gives no byte to two parts at a time. The
// device uses them only while the ledger holds them for it.
unsafe impl RawMemory for Part {
    fn memory(&self) -> TensorMemory {
        self.memory
    }

    fn space(&self) -> LogicalMemorySpace {
        self.core.properties().space(self.memory)
    }

    fn vendor(&self) -> Option<DeviceVendor> {
        Some(self.core.properties().vendor)
    }

    fn device_address(&self) -> Option<NonNull<u8>> {
        let base = self.taken.name?.0;
        match self.core.properties().vendor.has_addresses() {
            true => Some(base.map_addr(|base| base.saturating_add(self.taken.offset))),
            false => Some(base),
        }
    }

    fn device_place(&self) -> Option<DevicePlace> {
        let Taken { block, offset, .. } = self.taken;
        Some(DevicePlace { device: self.core.number, block, offset })
    }

    fn carrier(&self) -> Option<Arc<dyn Carrier>> {
        let courier = self.courier.clone()?;
        Some(courier)
    }

    fn size(&self) -> usize {
        self.size
    }

    fn address(&self) -> CpuAddress {
        // Memory of a device is the device's, also where the CPU could reach it.
        match self.host() {
            Some(address) if self.memory != TensorMemory::Device => CpuAddress::Fixed(address),
            _ => CpuAddress::None,
        }
    }

    fn object(&self) -> Option<ObjectKey> {
        self.object.as_ref().map(|object| object.key)
    }

    /// Asked every time: drivers keep what they map from processes that are forked off.
    fn maintained(&self) -> bool {
        self.memory != TensorMemory::Device && self.taken.host.is_some()
    }

    fn begin(&self, _: Access) -> Result<NonNull<u8>> {
        let (memory, space) = (self.memory(), self.space());
        self.core.device("mapping")?;
        self.host().ok_or(Error::NotMappable { memory, space })
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.core.give(self.memory, &mut self.taken);
    }
}
