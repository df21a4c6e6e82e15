//! Copies that a device does: bytes in and out of memory that the CPU does not reach.
//!
//! Memory of a device names who carries its bytes ([`crate::RawBuffer::carrier`]); a copy holds
//! both sides in their ledgers, hands the holds over, and gets them back when the work is done.

use std::fmt;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

#[cfg(linux_like)]
use crate::Fence;
use crate::backend::DeviceHold;
use crate::{Allocator, Buffer, DeviceVendor, Error, Hold, LogicalMemorySpace, RawBuffer, Result};

/// What is done when the bytes have arrived, before anybody is told.
pub type After = Box<dyn FnOnce() + Send>;

/// Where memory is for its device: a block that the driver knows, and the first byte in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DevicePlace {
    /// The device, by [`Carrier::number`].
    pub device: u64,
    /// The block, as the device counts them.
    pub block: u64,
    /// Bytes from the start of the block.
    pub offset: usize,
}

/// Carries bytes for one device.
pub trait Carrier: Send + Sync {
    /// Which device this is; never the same for two devices of a process.
    fn number(&self) -> u64;

    /// Whose device it is; `None` if nobody knows.
    fn vendor(&self) -> Option<DeviceVendor> {
        None
    }

    /// Which of the device's queues carries: what goes on different ones is not put together.
    fn queue(&self) -> usize {
        0
    }

    /// The allocator of this device's memory in a space; `None` if it has none there.
    fn allocator(self: Arc<Self>, _space: LogicalMemorySpace) -> Option<Arc<dyn Allocator>> {
        None
    }

    /// Whether this device carries from and to memory that the CPU does not reach without a detour
    /// through main memory: its own, that of another one that it reaches, what another library
    /// allocated on it, and DMA-BUFs that it imports. Whoever asks keeps the memory.
    fn reaches(&self, raw: &RawBuffer) -> bool {
        raw.device_place().is_some_and(|place| place.device == self.number())
    }

    /// Memory that the CPU reaches and that this device carries from and to fastest. It comes
    /// from a pool: its bytes are whatever was left in them.
    ///
    /// # Errors
    /// If there is no room.
    fn staging(&self, bytes: usize) -> Result<Buffer>;

    /// Does all of the work, in any order, and waits for it.
    ///
    /// # Errors
    /// If memory belongs to another device, there is no room for staging, or the device fails.
    /// What was to be written then holds old and new bytes.
    fn carry(self: Arc<Self>, work: Vec<Carry>) -> Result<()>;

    /// Begins the work. When it is done, the holds are let go, `after` is called, and then the
    /// fence says so. If it fails, `after` is not called and the fence fails.
    ///
    /// # Errors
    /// As [`Carrier::carry`], as far as it is known at once.
    #[cfg(linux_like)]
    fn carry_later(self: Arc<Self>, work: Vec<Carry>, after: Option<After>) -> Result<Fence>;
}

/// Bytes held for a copy.
#[derive(Debug)]
pub enum Held {
    /// With an address for the CPU.
    Near(Hold),
    /// Where only the device reaches them.
    Far(DeviceHold),
}

impl Held {
    /// Number of bytes.
    pub fn len(&self) -> usize {
        match self {
            Held::Near(hold) => hold.len(),
            Held::Far(hold) => hold.len(),
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The allocation that the bytes belong to.
    pub fn raw(&self) -> &RawBuffer {
        match self {
            Held::Near(hold) => hold.raw(),
            Held::Far(hold) => hold.raw(),
        }
    }

    /// Where the first byte is for its device, if it is memory of one.
    pub fn device_place(&self) -> Option<DevicePlace> {
        let start = match self {
            Held::Near(hold) => hold.start()?,
            Held::Far(hold) => hold.range().start,
        };
        let place = self.raw().device_place()?;
        Some(DevicePlace { offset: place.offset + start, ..place })
    }

    /// Whether the bytes are held to be written.
    fn writes(&self) -> bool {
        match self {
            Held::Near(hold) => hold.access().writes(),
            Held::Far(hold) => hold.access().writes(),
        }
    }
}

/// Bytes that follow each other on both sides. Offsets count from the first byte held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Where they are written.
    pub to: usize,
    /// Where they are read.
    pub from: usize,
    /// How many.
    pub bytes: usize,
}

/// What is written.
#[derive(Debug)]
pub enum Source {
    /// Bytes from elsewhere.
    Bytes(Held),
    /// These four, again and again, from the first byte of each piece on.
    Pattern([u8; 4]),
}

/// One copy or fill: what is held, and which bytes of it are written with what.
#[derive(Debug)]
#[must_use = "nothing is copied until a carrier is given it"]
pub struct Carry {
    to: Held,
    from: Source,
    pieces: SmallVec<[Piece; 1]>,
}

impl Carry {
    /// All bytes of `from` to all bytes of `to`.
    ///
    /// # Errors
    /// If they are not as many, or `to` is not held for writing.
    pub fn all(to: Held, from: Held) -> Result<Carry> {
        let (have, need) = (to.len(), from.len());
        if have != need {
            return Err(Error::from(crate::detail::OutOfBounds { start: 0, end: need, len: have }));
        }
        let pieces = smallvec![Piece { to: 0, from: 0, bytes: need }];
        Carry::pieces(to, from, pieces)
    }

    /// Some bytes of `from` to some bytes of `to`.
    ///
    /// # Errors
    /// If a piece leaves what is held, or `to` is not held for writing.
    pub fn pieces(to: Held, from: Held, pieces: SmallVec<[Piece; 1]>) -> Result<Carry> {
        check_writes(&to)?;
        for piece in &pieces {
            check_inside(piece.to, piece.bytes, to.len())?;
            check_inside(piece.from, piece.bytes, from.len())?;
        }
        Ok(Carry { to, from: Source::Bytes(from), pieces })
    }

    /// A pattern over all bytes of `to`.
    ///
    /// # Errors
    /// If `to` is not held for writing.
    pub fn fill(to: Held, pattern: [u8; 4]) -> Result<Carry> {
        check_writes(&to)?;
        let pieces = smallvec![Piece { to: 0, from: 0, bytes: to.len() }];
        Ok(Carry { to, from: Source::Pattern(pattern), pieces })
    }

    /// What is written to.
    pub fn to(&self) -> &Held {
        &self.to
    }

    /// What is written.
    pub fn from(&self) -> &Source {
        &self.from
    }

    /// Which bytes.
    pub fn parts(&self) -> &[Piece] {
        &self.pieces
    }
}

fn check_writes(to: &Held) -> Result<()> {
    match to.writes() {
        true => Ok(()),
        false => Err(Error::ReadOnly { memory: to.raw().memory() }),
    }
}

fn check_inside(start: usize, bytes: usize, len: usize) -> Result<()> {
    match start.checked_add(bytes) {
        Some(end) if end <= len => Ok(()),
        end => Err(Error::from(crate::detail::OutOfBounds {
            start,
            end: end.unwrap_or(usize::MAX),
            len,
        })),
    }
}

impl fmt::Debug for dyn Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Carrier {}", self.number())
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::{Access, Request, TensorMemory, allocate};

    fn held(access: Access, bytes: usize) -> Held {
        let raw = allocate(Some(TensorMemory::Mem), &Request::new(64).unwrap()).unwrap();
        Held::Near(Hold::over(Arc::new(raw), access, 8..8 + bytes).unwrap())
    }

    #[test]
    fn only_what_is_held_is_carried() {
        use Access::{KernelRead, KernelWrite};
        assert!(Carry::all(held(KernelWrite, 16), held(KernelRead, 16)).is_ok());
        assert!(Carry::all(held(KernelWrite, 16), held(KernelRead, 15)).is_err());
        assert!(matches!(
            Carry::all(held(KernelRead, 16), held(KernelRead, 16)),
            Err(Error::ReadOnly { .. })
        ));
        assert!(Carry::fill(held(KernelRead, 16), [0; 4]).is_err());
        for (to, from, bytes) in [(1, 0, 16), (0, 1, 16), (usize::MAX, 0, 2), (0, 17, 0)] {
            let pieces = smallvec![Piece { to, from, bytes }];
            let answer = Carry::pieces(held(KernelWrite, 16), held(KernelRead, 16), pieces);
            assert!(matches!(answer, Err(Error::OutOfBounds { .. })), "{answer:?}");
        }
        // Main memory is no place of a device.
        assert_eq!(held(KernelRead, 1).device_place(), None);
    }
}
