//! Blocks of other devices that a device reaches where they are: imported once, and let go of when
//! their own device frees them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tenure_memory::backend::DevicePlace;

use crate::core::Core;
use crate::device::{Device, release};

/// Every device that is open in this process.
static OPEN: Mutex<Vec<(u64, Weak<Core>)>> = Mutex::new(vec![]);

fn all() -> MutexGuard<'static, Vec<(u64, Weak<Core>)>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a device known to the others.
pub(crate) fn enter(core: &Arc<Core>) {
    let mut all = all();
    all.retain(|(_, known)| known.strong_count() > 0);
    all.push((core.number, Arc::downgrade(core)));
}

/// The device with this number, if it is open.
pub(crate) fn open(number: u64) -> Option<Arc<Core>> {
    all().iter().find(|(known, _)| *known == number)?.1.upgrade()
}

/// Blocks of others, by device and block: what they are here, and which byte is the first; `None`
/// for those that are not reached.
type Known = HashMap<(u64, u64), Option<(u64, usize)>>;

/// What one device knows of others, and others of it.
#[derive(Default)]
pub(crate) struct Peers {
    known: Mutex<Known>,
    /// Blocks of its own that others asked for, and who did.
    lent: Mutex<HashMap<u64, Vec<Weak<Core>>>>,
}

impl Peers {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lent(&self) -> MutexGuard<'_, HashMap<u64, Vec<Weak<Core>>>> {
        self.lent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many blocks of others are reached.
    pub(crate) fn reached(&self) -> usize {
        self.known().values().flatten().count()
    }

    /// A block of the device with this number is about to be freed: whoever imported it lets go.
    pub(crate) fn recall(&self, number: u64, block: u64) {
        let borrowers = self.lent().remove(&block).unwrap_or_default();
        for other in borrowers.iter().filter_map(Weak::upgrade) {
            let known = other.peers.known().remove(&(number, block)).flatten();
            if let (Some((block, _)), Ok(device)) = (known, other.device("freeing")) {
                release(device, block);
            }
        }
    }

    /// Lets go of everything; no work is under way any more.
    pub(crate) fn clear(&self, device: &dyn Device) {
        for (block, _) in self.known().drain().filter_map(|(_, known)| known) {
            release(device, block);
        }
    }
}

impl Core {
    /// Where a device finds a place of another device; `None` if it does not reach it. Whoever asks
    /// keeps the bytes, and with them their block and its device.
    pub(crate) fn peer(
        core: &Arc<Core>,
        device: &dyn Device,
        place: DevicePlace,
    ) -> Option<(u64, usize)> {
        let DevicePlace { device: number, block, offset } = place;
        let there = |(block, first): (u64, usize)| (block, first + offset);
        if let Some(known) = core.peers.known().get(&(number, block)) {
            return known.map(there);
        }
        let other = open(number)?;
        let theirs = other.device("copying").ok()?;
        // One at a time, so that a block is imported once.
        let mut known = core.peers.known();
        if let Some(known) = known.get(&(number, block)) {
            return known.map(there);
        }
        let found = device.import_peer(theirs, block);
        let found = found.inspect_err(|error| tracing::debug!("not reached: {error}")).ok();
        known.insert((number, block), found);
        other.peers.lent().entry(block).or_default().push(Arc::downgrade(core));
        drop(known);
        found.map(there)
    }
}
