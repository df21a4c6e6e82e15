//! Main memory that a device reaches where it is: imported once, found again by identity.
#![expect(unsafe_code, reason = "gives the device addresses of memory that holds keep")]

use std::collections::HashMap;
use std::num::NonZero;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tenure_memory::{RawBuffer, TensorMemory, WeakIdentity};

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
    weak: WeakIdentity,
    /// The block, and which byte of it is the allocation's first; `None` if the device refused.
    block: Option<(u64, usize)>,
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

impl Imports {
    /// Where the device finds byte `start` of an allocation, which has this address for the CPU, if
    /// it has one; `None` if it cannot reach it. Whoever asks keeps the bytes. What is short and not
    /// a DMA-BUF is imported only if it must be: it is copied sooner.
    pub(crate) fn place(
        &self,
        core: &Core,
        device: &dyn Device,
        raw: &RawBuffer,
        (address, start): (Option<NonNull<u8>>, usize),
        must: bool,
    ) -> Option<(u64, usize)> {
        let dma = raw.memory() == TensorMemory::Dma;
        if !dma && raw.size() < SHORTEST && !must {
            return None;
        }
        let base = match dma {
            true => 0,
            false => address?.addr().get().checked_sub(start)?,
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (raw.identity().id(), base, raw.size());
        if let Some(found) = known.get(&key) {
            self.hits.fetch_add(u64::from(found.block.is_some()), Ordering::Relaxed);
            return found.block.map(|(block, first)| (block, first + start));
        }
        // Time to let go of what is gone.
        known.retain(|_, known| {
            let lives = known.weak.upgrade().is_some();
            if let (false, Some((block, _))) = (lives, known.block) {
                release(device, block);
            }
            lives
        });
        let block = import(core, device, raw, address.zip(NonZero::new(base)));
        known.insert(key, Known { weak: raw.identity().weak(), block });
        block.map(|(block, first)| (block, first + start))
    }

    pub(crate) fn report(&self) -> ImportReport {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let imported = known.values().filter(|known| known.block.is_some()).count();
        let hits = self.hits.load(Ordering::Relaxed);
        ImportReport { imported, refused: known.len() - imported, hits, peers: 0 }
    }

    /// Lets go of everything; no work is under way any more.
    pub(crate) fn clear(&self, device: &dyn Device) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        for (block, _) in known.drain().filter_map(|(_, known)| known.block) {
            release(device, block);
        }
    }
}

/// The allocation as a block, and which byte of it is the first. Main memory has an address in it,
/// and the first one.
fn import(
    core: &Core,
    device: &dyn Device,
    raw: &RawBuffer,
    address: Option<(NonNull<u8>, NonZero<usize>)>,
) -> Option<(u64, usize)> {
    let properties = core.properties();
    if raw.memory() == TensorMemory::Dma {
        let fd = raw.device_descriptor().ok().filter(|_| properties.imports_dma)?;
        // SAFETY: devices look at DMA-BUFs themselves.
        let block = unsafe { device.import_fd(fd, FdKind::DmaBuf, raw.size()) };
        return block
            .inspect_err(|error| tracing::debug!("not imported: {error}"))
            .ok()
            .map(|block| (block.id, 0));
    }
    let page = properties.imports_host?;
    let (inside, base) = address?;
    let first = base.get() % page;
    let bytes = (first + raw.size()).checked_next_multiple_of(page)?;
    // Down to the start of the page, which is not zero: nothing is mapped there.
    let start = NonZero::new(base.get() - first)?;
    host(device, inside.map_addr(|_| start), bytes).map(|block| (block, first))
}

fn host(device: &dyn Device, address: NonNull<u8>, bytes: usize) -> Option<u64> {
    // SAFETY: whole pages around an allocation that exists; work uses the block only for bytes of
    // it that a hold keeps, and finds it by the allocation's identity, which is never used again.
    let block = unsafe { device.import_host(address, bytes) };
    block.inspect_err(|error| tracing::debug!("not imported: {error}")).ok().map(|block| block.id)
}
