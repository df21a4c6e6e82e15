//! What a raw buffer is, to match on.

use std::fmt;

use super::RawBuffer;
use crate::TensorMemory;

/// What the bytes of a [`RawBuffer`] are.
///
/// [`TensorMemory`] is how memory is asked for, and what other processes are told; this is what one
/// allocation turned out to be. The two differ where memory was not allocated by this crate:
/// what another library lends is [`RawKind::Foreign`], whatever it says it is.
///
/// ```
/// use tenure_memory::{RawKind, Request, TensorMemory, kind};
/// let raw = kind::allocator(TensorMemory::Mem)?.allocate(&Request::new(64)?)?;
/// let words = match raw.kind() {
///     RawKind::Heap => "on the heap",
///     RawKind::MappedFile => "on disk until it is touched",
///     _ => "somewhere else",
/// };
/// assert_eq!(words, "on the heap");
/// # Ok::<(), tenure_memory::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RawKind {
    /// The heap of this process.
    Heap,
    /// Shared memory: a sealed memory file.
    SharedMemory,
    /// A DMA-BUF, or what the system has in its place (IOSurface, AHardwareBuffer).
    DmaBuf,
    /// An OpenGL pixel buffer object.
    PixelBuffer,
    /// A mapped file, read-only: the device that others call DISK.
    MappedFile,
    /// Page-locked main memory that a GPU reaches directly.
    Pinned,
    /// Memory of a device.
    Device,
    /// Memory that moves between CPU and device by itself.
    Managed,
    /// Memory that another library made and lends.
    Foreign,
}

impl RawKind {
    /// What memory of this mechanism is, unless its implementation knows better.
    pub const fn of(memory: TensorMemory) -> RawKind {
        match memory {
            TensorMemory::Mem => RawKind::Heap,
            TensorMemory::Dma => RawKind::DmaBuf,
            TensorMemory::Shm => RawKind::SharedMemory,
            TensorMemory::Pbo => RawKind::PixelBuffer,
            TensorMemory::File => RawKind::MappedFile,
            TensorMemory::Pinned => RawKind::Pinned,
            TensorMemory::Device => RawKind::Device,
            TensorMemory::Managed => RawKind::Managed,
        }
    }

    /// A few words for it.
    pub const fn name(self) -> &'static str {
        match self {
            RawKind::Heap => "heap",
            RawKind::SharedMemory => "shared memory",
            RawKind::DmaBuf => "DMA-BUF",
            RawKind::PixelBuffer => "OpenGL pixel buffer",
            RawKind::MappedFile => "mapped file (DISK)",
            RawKind::Pinned => "pinned memory",
            RawKind::Device => "device memory",
            RawKind::Managed => "managed memory",
            RawKind::Foreign => "memory of another library",
        }
    }
}

impl fmt::Display for RawKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl RawBuffer {
    /// What its bytes are. A window over another raw buffer is what that one is.
    pub fn kind(&self) -> RawKind {
        self.core().memory.kind()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind;

    #[test]
    fn every_memory_has_a_kind_of_its_own() {
        let kinds: Vec<_> = TensorMemory::all().map(RawKind::of).collect();
        for (index, kind) in kinds.iter().enumerate() {
            assert!(!kinds[..index].contains(kind) && *kind != RawKind::Foreign, "{kind}");
        }
        // The table of memories calls them by the same words.
        for row in kind::ALL {
            assert_eq!(row.title, RawKind::of(row.memory).name());
        }
    }
}
