//! Where bytes really are: an allocation and a range of it.

use std::ops::Range;

/// A byte range of one allocation in this process.
///
/// Two tensors share bytes exactly if their places overlap, however they came about: views,
/// arenas, or one descriptor imported twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Identity of the allocation.
    pub allocation: u64,
    /// Bytes of it.
    pub range: Range<usize>,
}

impl Place {
    /// Whether some byte belongs to both.
    pub fn overlaps(&self, other: &Place) -> bool {
        self.allocation == other.allocation
            && self.range.start.max(other.range.start) < self.range.end.min(other.range.end)
    }
}
