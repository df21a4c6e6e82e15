//! Copies that the CPU does itself: a device in software has its memory where the CPU has its own,
//! and its queue is a detour over other threads, which wakes them up for every copy.
#![expect(unsafe_code, reason = "copies between addresses that holds and the device vouch for")]

use std::ptr::NonNull;
use std::slice;

use tenure_memory::TensorMemory;
use tenure_memory::backend::{Carrier, Carry, Held, Source};

use crate::carry::Courier;
use crate::device::Device;
use crate::peers;

impl Courier {
    /// Does a copy or fill if the CPU reaches all of it; says whether it did.
    pub(crate) fn by_hand(&self, device: &dyn Device, carry: &Carry) -> bool {
        let Some(to) = self.near(device, carry.to()) else { return false };
        match carry.from() {
            Source::Bytes(source) => {
                let Some(from) = self.near(device, source) else { return false };
                for part in carry.parts() {
                    // SAFETY: pieces were checked against what is held, on both sides, one of
                    // them for writing: the ledger has no byte that is in both.
                    unsafe {
                        let (to, from) = (to.add(part.to), from.add(part.from));
                        from.copy_to_nonoverlapping(to, part.bytes);
                    }
                }
            }
            Source::Pattern(pattern) => {
                for part in carry.parts() {
                    // SAFETY: inside what is held for writing, and initialised, by the promises
                    // of `Device` and `RawMemory`.
                    let bytes =
                        unsafe { slice::from_raw_parts_mut(to.add(part.to).as_ptr(), part.bytes) };
                    fill(bytes, *pattern);
                }
            }
        }
        true
    }

    /// Where the CPU finds the first byte held. DMA-BUFs are left to the device, which imports them.
    fn near(&self, device: &dyn Device, held: &Held) -> Option<NonNull<u8>> {
        match held {
            Held::Near(hold) if hold.raw().memory() != TensorMemory::Dma => Some(hold.address()),
            Held::Near(_) => None,
            Held::Far(_) => {
                let place = held.device_place()?;
                let base = match place.device == self.number() {
                    true => device.near(place.block)?,
                    // What is held keeps the block, and with it the other device.
                    false => {
                        peers::open(place.device)?.device("copying").ok()?.near(place.block)?
                    }
                };
                Some(base.0.map_addr(|base| base.saturating_add(place.offset)))
            }
        }
    }
}

fn fill(bytes: &mut [u8], pattern: [u8; 4]) {
    if pattern == [pattern[0]; 4] {
        bytes.fill(pattern[0]);
        return;
    }
    let (words, rest) = bytes.as_chunks_mut::<4>();
    words.fill(pattern);
    rest.iter_mut().zip(pattern).for_each(|(byte, value)| *byte = value);
}
