//! The memories this build knows, as a table: one file and two lines here for each.

use crate::{Allocator, Error, Result, TensorMemory, Why};

mod elsewhere;
pub mod foreign;
pub mod mem;
pub(crate) mod window;

#[cfg(linux_like)]
pub mod dma;
#[cfg(surfaces)]
#[path = "kind/dma_macos.rs"]
pub mod dma;
#[cfg(not(any(linux_like, surfaces)))]
#[path = "kind/dma_elsewhere.rs"]
mod dma;
#[cfg(linux_like)]
pub mod file;
#[cfg(hardware_buffers)]
pub mod hardware_buffer;
#[cfg(linux_like)]
mod holes;
#[cfg(linux_like)]
pub(crate) mod room;
#[cfg(linux_like)]
pub mod shm;
#[cfg(sections)]
#[path = "kind/shm_windows.rs"]
pub mod shm;
#[cfg(not(any(linux_like, sections)))]
#[path = "kind/shm_elsewhere.rs"]
pub mod shm;

/// One memory: how to get its allocator, or why there is none.
#[derive(Debug)]
pub struct Kind {
    /// The memory.
    pub memory: TensorMemory,
    /// What it is, in a few words.
    pub title: &'static str,
    /// Its allocator; a failed probe is remembered, not repeated.
    probe: fn() -> Result<&'static dyn Allocator, Why>,
}

impl Kind {
    /// The allocator, or why there is none on this machine.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub fn allocator(&self) -> Result<&'static dyn Allocator> {
        (self.probe)()
            .map_err(|why| Error::from(crate::detail::Unavailable { memory: self.memory, why }))
    }
}

/// Every memory, in the order of their codes.
pub static ALL: &[Kind] = &[
    Kind { memory: TensorMemory::Mem, title: "heap", probe: mem::probe },
    Kind { memory: TensorMemory::Dma, title: "DMA-BUF", probe: dma::probe },
    Kind { memory: TensorMemory::Shm, title: "shared memory", probe: shm::probe },
    Kind { memory: TensorMemory::Pbo, title: "OpenGL pixel buffer", probe: elsewhere::pbo },
    Kind { memory: TensorMemory::File, title: "mapped file (DISK)", probe: elsewhere::file },
    Kind { memory: TensorMemory::Pinned, title: "pinned memory", probe: elsewhere::pinned },
    Kind { memory: TensorMemory::Device, title: "device memory", probe: elsewhere::device },
    Kind { memory: TensorMemory::Managed, title: "managed memory", probe: elsewhere::managed },
];

/// The allocator of one memory with its default options.
///
/// # Errors
/// [`Error::Unavailable`] with the reason.
pub fn allocator(memory: TensorMemory) -> Result<&'static dyn Allocator> {
    ALL.iter().find(|kind| kind.memory == memory).map_or(
        Err(Error::from(crate::detail::Unavailable {
            memory,
            why: Why::NotInThisBuild("it is not in the table"),
        })),
        Kind::allocator,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_memory_has_a_row() {
        let rows: Vec<_> = ALL.iter().map(|kind| kind.memory).collect();
        assert_eq!(rows, TensorMemory::all().collect::<Vec<_>>());
    }
}
