//! One memory of a device, divided: blocks of the driver, and TLSF in each of them.
//!
//! Drivers allocate slowly, and few of them more than some thousand times. Large requests get a
//! block of their own; one block that is empty is kept.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tenure_memory::tlsf::{self, Tlsf};
use tenure_memory::{Error, Request, Result, TensorMemory};

use crate::device::{Address, Block, Device, release};
use crate::share::uncounted;

/// What a device's memory looks like from inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapReport {
    /// The memory.
    pub memory: TensorMemory,
    /// Blocks that the driver gave.
    pub blocks: usize,
    /// Bytes of them.
    pub bytes: u64,
    /// Bytes of them in use.
    pub used: u64,
    /// Allocations in them.
    pub allocations: u64,
}

/// One memory of a device.
pub(crate) struct Heap {
    pub(crate) memory: TensorMemory,
    chunks: Mutex<Vec<Option<Chunk>>>,
}

/// A block and how it is divided.
struct Chunk {
    block: Block,
    /// What alignments are counted from: the CPU's address, else the device's, else zero.
    base: usize,
    /// `None` if it is one allocation.
    parts: Option<Tlsf>,
    live: u64,
}

/// Part of a block, in use.
pub(crate) struct Taken {
    /// The chunk; `None` for a block that no heap has.
    slot: Option<usize>,
    part: Option<tlsf::Block>,
    /// The block, by its number.
    pub(crate) block: u64,
    /// Bytes from the start of the block.
    pub(crate) offset: usize,
    /// The block's own addresses.
    pub(crate) host: Option<Address>,
    pub(crate) name: Option<Address>,
}

impl Heap {
    pub(crate) fn new(memory: TensorMemory) -> Heap {
        Heap { memory, chunks: Mutex::new(vec![]) }
    }

    fn chunks(&self) -> MutexGuard<'_, Vec<Option<Chunk>>> {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes bytes as asked for. What is in them is not said.
    pub(crate) fn take(&self, device: &dyn Device, request: &Request<'_>) -> Result<Taken> {
        let (bytes, align) = (request.bytes().max(1), request.align());
        let block_bytes = device.properties().block_bytes;
        let mut chunks = self.chunks();
        // The driver aligns as it likes; with so much more, as asked for.
        let more = bytes.checked_add(align);
        let small = more.is_some_and(|more| more <= block_bytes / 2);
        if small {
            let divided = chunks.iter_mut().enumerate();
            for (slot, chunk) in divided.filter_map(|(slot, chunk)| Some((slot, chunk.as_mut()?))) {
                if let Some(taken) = chunk.divide(slot, bytes, align) {
                    return Ok(taken);
                }
            }
        }
        // With little memory left there may still be room for this one alone.
        let whole = match small {
            true => device
                .allocate(self.memory, block_bytes)
                .map(Some)
                .or_else(|error| if is_full(&error) { Ok(None) } else { Err(error) })?,
            false => None,
        };
        let slot = chunks.iter().position(Option::is_none).unwrap_or(chunks.len());
        let (mut chunk, room) = match whole {
            Some(block) => (Chunk::new(device, block, Tlsf::new(block.bytes as u64).ok()), bytes),
            None => {
                let room = more.ok_or_else(|| uncounted(self.memory, bytes))?;
                let block = device.allocate(self.memory, room).map_err(|error| match error {
                    Error::OutOfMemory(mut full) => {
                        full.bytes = request.bytes();
                        Error::OutOfMemory(full)
                    }
                    other => other,
                })?;
                (Chunk::new(device, block, None), room)
            }
        };
        let Some(taken) = chunk.divide(slot, bytes, align) else {
            release(device, chunk.block.id);
            let (memory, available) = (self.memory, Some(chunk.block.bytes as u64));
            return Err(Error::from(tenure_memory::detail::OutOfMemory {
                memory,
                bytes: room,
                available,
                source: None,
            }));
        };
        match chunks.get_mut(slot) {
            Some(place) => *place = Some(chunk),
            None => chunks.push(Some(chunk)),
        }
        Ok(taken)
    }

    /// Takes a part back; blocks that are not needed any more are freed.
    pub(crate) fn give(&self, taken: &mut Taken, free: impl Fn(u64)) {
        let Some(slot) = taken.slot else { return free(taken.block) };
        let part = taken.part.take();
        let mut chunks = self.chunks();
        let empty = |chunk: &Chunk| chunk.live == 0 && chunk.parts.is_some();
        let others = chunks.iter().flatten().filter(|chunk| empty(chunk)).count();
        let Some(Some(chunk)) = chunks.get_mut(slot) else { return };
        if let (Some(parts), Some(part)) = (&mut chunk.parts, part) {
            // From this very arena: it has not been reset, and a part is given back once.
            let _ = parts.free(part);
        }
        chunk.live -= 1;
        if chunk.live == 0 && (chunk.parts.is_none() || others > 0) {
            free(chunk.block.id);
            chunks[slot] = None;
        }
        while let Some(None) = chunks.last() {
            chunks.pop();
        }
    }

    /// How it is divided now.
    pub(crate) fn report(&self) -> HeapReport {
        let chunks = self.chunks();
        let (memory, blocks) = (self.memory, chunks.iter().flatten().count());
        let mut report = HeapReport { memory, blocks, bytes: 0, used: 0, allocations: 0 };
        for chunk in chunks.iter().flatten() {
            let bytes = chunk.block.bytes as u64;
            let free = chunk.parts.as_ref().map_or(0, Tlsf::free_bytes);
            report.bytes += bytes;
            report.used += bytes.saturating_sub(free);
            report.allocations += chunk.live;
        }
        report
    }

    /// Gives everything back to the driver, which is about to go.
    pub(crate) fn clear(&self, free: impl Fn(u64)) {
        for chunk in self.chunks().drain(..).flatten() {
            free(chunk.block.id);
        }
    }
}

fn is_full(error: &Error) -> bool {
    matches!(error, Error::OutOfMemory { .. })
}

impl Chunk {
    fn new(device: &dyn Device, block: Block, parts: Option<Tlsf>) -> Chunk {
        let name = block.name.filter(|_| device.properties().vendor.has_addresses());
        let base = block.host.or(name).map_or(0, |address| address.0.addr().get());
        Chunk { block, base, parts, live: 0 }
    }

    /// A part whose first byte is aligned, for the CPU where it reaches the block.
    fn divide(&mut self, slot: usize, bytes: usize, align: usize) -> Option<Taken> {
        let (part, start, room) = match &mut self.parts {
            Some(parts) => {
                // Offsets are aligned in the block; beyond that, more is taken and part of it left.
                let room = if align <= self.block.align { bytes } else { bytes + align };
                let part = parts.allocate(room as u64, align.min(self.block.align) as u64).ok()?;
                let (start, room) = (part.offset() as usize, part.size() as usize);
                (Some(part), start, room)
            }
            None if self.live == 0 => (None, 0, self.block.bytes),
            None => return None,
        };
        let address = self.base.checked_add(start);
        let aligned = address.and_then(|address| address.checked_next_multiple_of(align));
        let first = aligned.map(|address| address - self.base);
        let fits =
            |first: &usize| (first - start).checked_add(bytes).is_some_and(|end| end <= room);
        let Some(first) = first.filter(fits) else {
            if let (Some(parts), Some(part)) = (&mut self.parts, part) {
                let _ = parts.free(part);
            }
            return None;
        };
        self.live += 1;
        let Block { id: block, host, name, .. } = self.block;
        Some(Taken { slot: Some(slot), part, block, offset: first, host, name })
    }
}

impl Taken {
    /// A block that is one allocation, and no heap's.
    pub(crate) fn whole(block: &Block) -> Taken {
        let Block { id: block, host, name, .. } = *block;
        Taken { slot: None, part: None, block, offset: 0, host, name }
    }
}
