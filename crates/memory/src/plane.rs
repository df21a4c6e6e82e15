//! A plane of an image in somebody's memory: a descriptor, a stride, an offset.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::duplicate::duplicate;
use crate::{Error, Result};

/// `DRM_FORMAT_MOD_LINEAR`.
const LINEAR: u64 = 0;

/// Where one plane of an image lies. The descriptor is duplicated at once, so the caller may
/// close its own.
///
/// ```
/// use tenure_memory::PlaneDescriptor;
/// let file = std::fs::File::open("/dev/zero")?;
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

    /// With the DRM modifier that came with the memory.
    ///
    /// # Errors
    /// [`Error::Modifier`] for every one but the linear, 0: rows of tiled or compressed memory
    /// are not where their stride says, and of memory whose modifier is unknown nobody can tell.
    pub fn with_modifier(self, modifier: u64) -> Result<PlaneDescriptor> {
        match modifier {
            LINEAR => Ok(self),
            _ => Err(Error::Modifier { modifier }),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rows_that_lie_where_they_are_said_to() {
        let plane = || PlaneDescriptor::new(std::io::stdin()).unwrap().with_stride(64);
        assert_eq!(plane().with_modifier(0).unwrap().stride(), Some(64));
        // Tiles of Intel's X kind, and "not known".
        for modifier in [1 << 56 | 1, (1 << 56) - 1] {
            let error = plane().with_modifier(modifier).unwrap_err().to_string();
            assert!(error.contains(&format!("{modifier:#018x}")), "{error}");
        }
    }
}
