//! A rectangle of pixels.

use std::fmt;

use crate::{Error, Result};

/// A rectangle of pixels inside an image, from its top left corner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Region {
    /// Leftmost pixel column.
    pub x: usize,
    /// Topmost pixel row.
    pub y: usize,
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
}

impl Region {
    /// The rectangle at (`x`, `y`) of `width` by `height` pixels.
    pub const fn new(x: usize, y: usize, width: usize, height: usize) -> Region {
        Region { x, y, width, height }
    }

    /// Checks that the region has pixels and that all of them lie in the image.
    ///
    /// # Errors
    /// [`Error::RegionOutOfBounds`]; a region is never clamped.
    pub fn check_inside(self, width: usize, height: usize) -> Result<()> {
        let fits = |start: usize, len: usize, limit: usize| {
            len > 0 && start.checked_add(len).is_some_and(|end| end <= limit)
        };
        if fits(self.x, self.width, width) && fits(self.y, self.height, height) {
            Ok(())
        } else {
            Err(Error::from(crate::detail::RegionOutOfBounds { region: self, width, height }))
        }
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}+{}+{}", self.width, self.height, self.x, self.y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_clamped() {
        assert!(Region::new(0, 0, 4, 3).check_inside(4, 3).is_ok());
        assert!(Region::new(1, 0, 4, 3).check_inside(4, 3).is_err());
        assert!(Region::new(0, 0, 0, 3).check_inside(4, 3).is_err());
        assert!(Region::new(usize::MAX, 0, 2, 1).check_inside(4, 3).is_err());
    }
}
