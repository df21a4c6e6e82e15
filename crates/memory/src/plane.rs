//! A plane of an image in somebody's memory: a descriptor, a stride, an offset.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::Result;
use crate::descriptor::duplicate;

/// Where one plane of an image lies. The descriptor is duplicated at once, so the caller may
/// close its own.
///
/// ```
/// use tenure_memory::PlaneDescriptor;
/// let file = std::fs::File::open("/proc/self/exe")?;
/// let plane = PlaneDescriptor::new(&file)?.with_stride(2048).with_offset(0);
/// assert_eq!(plane.stride(), Some(2048));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PlaneDescriptor {
    fd: OwnedFd,
    stride: Option<usize>,
    offset: Option<usize>,
}

impl PlaneDescriptor {
    /// A plane that starts at the descriptor's first byte, with the smallest row stride.
    ///
    /// # Errors
    /// If the descriptor is closed or this process has none left.
    pub fn new(fd: impl AsFd) -> Result<PlaneDescriptor> {
        Ok(PlaneDescriptor { fd: duplicate(fd)?, stride: None, offset: None })
    }

    /// With rows `stride` bytes apart.
    pub fn with_stride(self, stride: usize) -> PlaneDescriptor {
        PlaneDescriptor { stride: Some(stride), ..self }
    }

    /// With its first row `offset` bytes into the memory.
    pub fn with_offset(self, offset: usize) -> PlaneDescriptor {
        PlaneDescriptor { offset: Some(offset), ..self }
    }

    /// Bytes between rows, if given.
    pub fn stride(&self) -> Option<usize> {
        self.stride
    }

    /// Bytes before the first row, if given.
    pub fn offset(&self) -> Option<usize> {
        self.offset
    }

    /// The descriptor.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The descriptor, given away.
    pub fn into_fd(self) -> OwnedFd {
        self.fd
    }
}
