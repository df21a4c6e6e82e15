//! Memory that a device reaches where it is, and that is not its own: imported once, found again by
//! identity, and let go of before whoever owns it frees it.
#![expect(unsafe_code, reason = "gives the device addresses of memory that holds keep")]

use std::collections::HashMap;
use std::num::NonZero;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenure_memory::{DeviceFault, RawBuffer, Result, TensorMemory};

use crate::core::Core;
use crate::device::{Device, FdKind, release};

/// What is shorter is copied sooner than imported.
const SHORTEST: usize = 256 << 10;

/// What was imported, by the identity of its allocation.
#[derive(Default)]
pub(crate) struct Imports {
    known: Mutex<HashMap<Key, Known>>,
    hits: AtomicU64,
}

/// Identity, address and bytes of an allocation: several mappings of one kernel object have one
/// identity, and do not all live equally long. DMA-BUFs are imported by descriptor, whatever their
/// address: it is zero.
type Key = (u64, usize, usize);

struct Known {
    /// The block, and which byte of it is the allocation's first; `None` if the device refused.
    block: Option<(u64, usize)>,
    /// Raw buffers that it was imported for: with the last of them it is let go of.
    users: usize,
}

/// What became of imports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportReport {
    /// Allocations that are imported now.
    pub imported: usize,
    /// Allocations that the device refused.
    pub refused: usize,
    /// How often an allocation was found to be imported before.
    pub hits: u64,
    /// Blocks of other devices that are reached now.
    pub peers: usize,
}

/// What is to be imported, and how.
#[derive(Clone, Copy)]
enum Way {
    /// By descriptor.
    Dma,
    /// Main memory: an address in it, and its first.
    Host(NonNull<u8>, NonZero<usize>),
    /// Memory that another library has on this very device, by what the device calls it.
    Own(NonNull<u8>),
}

impl Imports {
    /// Where the device finds byte `start` of main memory or a DMA-BUF, which has this address for the
    /// CPU, if it has one; `None` if it cannot reach it. Whoever asks keeps the bytes. What is short and
    /// not a DMA-BUF is imported only if it must be: it is copied sooner.
    pub(crate) fn place(
        &self,
        core: &Arc<Core>,
        device: &dyn Device,
        raw: &RawBuffer,
        (address, start): (Option<NonNull<u8>>, usize),
        must: bool,
    ) -> Option<(u64, usize)> {
        if raw.memory() == TensorMemory::Dma {
            return self.find(core, device, raw, Way::Dma, start);
        }
        if raw.size() < SHORTEST && !must {
            return None;
        }
        let inside = address?;
        let base = NonZero::new(inside.addr().get().checked_sub(start)?)?;
        self.find(core, device, raw, Way::Host(inside, base), start)
    }

    /// As [`Imports::place`], of memory that has no address for the CPU: DMA-BUFs, and what another
    /// library allocated on this device.
    pub(crate) fn far(
        &self,
        core: &Arc<Core>,
        device: &dyn Device,
        raw: &RawBuffer,
        start: usize,
    ) -> Option<(u64, usize)> {
        let properties = core.properties();
        let own = raw.vendor() == Some(properties.vendor)
            && raw.space() == properties.space(TensorMemory::Device)
            && raw.device_place().is_none();
        match raw.memory() {
            TensorMemory::Dma => self.find(core, device, raw, Way::Dma, start),
            _ if own => self.find(core, device, raw, Way::Own(raw.device_address()?), start),
            _ => None,
        }
    }

    fn find(
        &self,
        core: &Arc<Core>,
        device: &dyn Device,
        raw: &RawBuffer,
        way: Way,
        start: usize,
    ) -> Option<(u64, usize)> {
        let base = match way {
            Way::Dma => 0,
            Way::Host(_, base) => base.get(),
            Way::Own(address) => address.addr().get(),
        };
        let key = (raw.identity().id(), base, raw.size());
        let mut known = self.known();
        let found = match known.get(&key) {
            Some(found) => {
                self.hits.fetch_add(u64::from(found.block.is_some()), Ordering::Relaxed);
                found.block
            }
            None => {
                let block = import(core, device, raw, way)
                    .inspect_err(|error| tracing::debug!("not imported: {error}"))
                    .ok();
                known.insert(key, Known { block, users: 0 });
                block
            }
        };
        // The driver lets go of it before the memory goes, whoever frees it.
        let weak = Arc::downgrade(core);
        let forget = move || {
            if let Some(core) = weak.upgrade() {
                core.imports.forget(&core, key);
            }
        };
        if raw.when_freed(core.number, forget)
            && let Some(known) = known.get_mut(&key)
        {
            known.users += 1;
        }
        found.map(|(block, first)| (block, first + start))
    }

    /// One of the raw buffers is about to go, which no work uses any more.
    fn forget(&self, core: &Core, key: Key) {
        let mut known = self.known();
        let Some(found) = known.get_mut(&key) else { return };
        found.users = found.users.saturating_sub(1);
        if found.users > 0 {
            return;
        }
        let block = known.remove(&key).and_then(|known| known.block);
        if let (Some((block, _)), Ok(device)) = (block, core.device("freeing")) {
            release(device, block);
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Key, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn report(&self) -> ImportReport {
        let known = self.known();
        let imported = known.values().filter(|known| known.block.is_some()).count();
        let hits = self.hits.load(Ordering::Relaxed);
        ImportReport { imported, refused: known.len() - imported, hits, peers: 0 }
    }

    /// Lets go of everything; no work is under way any more.
    pub(crate) fn clear(&self, device: &dyn Device) {
        for (block, _) in self.known().drain().filter_map(|(_, known)| known.block) {
            release(device, block);
        }
    }
}

/// The allocation as a block, and which byte of it is the first.
fn import(core: &Core, device: &dyn Device, raw: &RawBuffer, way: Way) -> Result<(u64, usize)> {
    let properties = core.properties();
    let what = "importing memory";
    let lacks = |which| properties.fault(what, DeviceFault::Lacks(which));
    match way {
        Way::Dma => {
            if !properties.imports_dma {
                return Err(lacks("way to reach a DMA-BUF"));
            }
            // SAFETY: the device's work holds the bytes, and lets go of the block before the memory
            // is freed; nothing else sees the descriptor.
            let fd = unsafe { raw.device_descriptor()? };
            // SAFETY: devices look at DMA-BUFs themselves.
            let block = unsafe { device.import_fd(fd, FdKind::DmaBuf, raw.size())? };
            Ok((block.id, 0))
        }
        Way::Host(inside, base) => {
            let page = properties.imports_host.ok_or_else(|| lacks("way to reach main memory"))?;
            let first = base.get() % page;
            let bytes = (first + raw.size()).checked_next_multiple_of(page);
            // Down to the start of the page, which is not zero: nothing is mapped there.
            let start = NonZero::new(base.get() - first);
            let (Some(bytes), Some(start)) = (bytes, start) else {
                return Err(lacks("such addresses"));
            };
            // SAFETY: whole pages around an allocation that exists; work uses the block only for
            // bytes of it that a hold keeps, and the block is freed before the allocation is.
            let block = unsafe { device.import_host(inside.map_addr(|_| start), bytes)? };
            Ok((block.id, first))
        }
        // SAFETY: whoever made the raw buffer promised that these bytes are the device's while it
        // exists; work uses them only while a hold keeps them.
        Way::Own(address) => unsafe { device.import_own(address, raw.size()) },
    }
}
