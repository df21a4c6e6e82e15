//! The bare packing problem: things with a lifetime and a size, to be put side by side.

/// The largest sum of sizes (each with the most that its alignment can waste) that a
/// [`Problem`] takes. It leaves every sum of an offset and a size a bit to spare.
pub const MAX_TOTAL: u64 = i64::MAX as u64;

/// One thing to place: alive in the half-open range of times `lower..upper`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Item {
    /// First time at which the bytes are used.
    pub lower: u64,
    /// First time at which they are not used any more; greater than `lower`.
    pub upper: u64,
    /// Bytes. Nothing is in the way of an item of 0 bytes.
    pub size: u64,
    /// The offset is a multiple of this; a power of two.
    pub align: u64,
}

/// Items whose lifetimes are in order and whose sizes can be added without overflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    items: Vec<Item>,
}

/// Where every item of a [`Problem`] goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packing {
    /// Bytes from the start of the arena, in the order of the items.
    pub offsets: Vec<u64>,
    /// Size of the arena: the largest end of an item.
    pub bytes: u64,
    /// No packing can be smaller.
    pub lower_bound: u64,
    /// `bytes` is proven to be the minimum.
    pub optimal: bool,
}

/// Why items do not make a [`Problem`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// A lifetime must hold at least one point in time.
    #[error("item {item} is alive in {lower}..{upper}, which is empty; upper must be above lower")]
    EmptyLifetime {
        /// Index of the item.
        item: usize,
        /// Its first time.
        lower: u64,
        /// The first time at which it is dead.
        upper: u64,
    },

    /// Alignments must be powers of two.
    #[error("item {item} is aligned to {align}, which is not a power of two; 1 asks for nothing")]
    Align {
        /// Index of the item.
        item: usize,
        /// What was asked for, in bytes.
        align: u64,
    },

    /// All items one after the other would not fit into [`MAX_TOTAL`] bytes.
    #[error("with item {item} of {size} bytes the sizes and alignments sum to over {MAX_TOTAL}")]
    TooLarge {
        /// Index of the first item that is too much.
        item: usize,
        /// Its size in bytes.
        size: u64,
    },

    /// More items than can be numbered.
    #[error("{items} items are more than the {max} that can be packed at once", max = u32::MAX / 4)]
    TooMany {
        /// How many there are.
        items: usize,
    },
}

impl Problem {
    /// The items as a problem.
    ///
    /// ```
    /// use tenure_plan::{Item, Problem, ProblemError};
    /// let item = Item { lower: 3, upper: 3, size: 64, align: 1 };
    /// let error = ProblemError::EmptyLifetime { item: 0, lower: 3, upper: 3 };
    /// assert_eq!(Problem::new(vec![item]), Err(error));
    /// ```
    ///
    /// # Errors
    ///
    /// [`ProblemError`], for the first item that is wrong.
    pub fn new(items: Vec<Item>) -> Result<Problem, ProblemError> {
        if items.len() > (u32::MAX / 4) as usize {
            return Err(ProblemError::TooMany { items: items.len() });
        }
        let mut total = 0u64;
        for (item, &Item { lower, upper, size, align }) in items.iter().enumerate() {
            if upper <= lower {
                return Err(ProblemError::EmptyLifetime { item, lower, upper });
            }
            if !align.is_power_of_two() {
                return Err(ProblemError::Align { item, align });
            }
            total = size
                .checked_add(align - 1)
                .and_then(|most| total.checked_add(most))
                .filter(|&total| total <= MAX_TOTAL)
                .ok_or(ProblemError::TooLarge { item, size })?;
        }
        Ok(Problem { items })
    }

    /// The items, in the order of the offsets of a [`Packing`].
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The items, to be used again.
    pub(crate) fn into_items(self) -> Vec<Item> {
        self.items
    }
}

impl Item {
    /// Whether some time is in both lifetimes.
    pub fn meets(&self, other: &Item) -> bool {
        self.lower < other.upper && other.lower < self.upper
    }
}

impl ProblemError {
    /// What sort of error it is.
    pub fn kind(&self) -> tenure_layout::ErrorKind {
        tenure_layout::ErrorKind::Invalid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(lower: u64, upper: u64, size: u64, align: u64) -> Item {
        Item { lower, upper, size, align }
    }

    #[test]
    fn bad_items_are_named() {
        let good = item(0, 1, 8, 1);
        let new = |last| Problem::new(vec![good, last]).map(|_| ());
        assert_eq!(
            new(item(5, 4, 1, 1)),
            Err(ProblemError::EmptyLifetime { item: 1, lower: 5, upper: 4 })
        );
        assert_eq!(new(item(5, 6, 1, 0)), Err(ProblemError::Align { item: 1, align: 0 }));
        assert_eq!(new(item(5, 6, 1, 48)), Err(ProblemError::Align { item: 1, align: 48 }));
        for size in [u64::MAX, MAX_TOTAL, MAX_TOTAL - 7] {
            assert_eq!(new(item(5, 6, size, 1)), Err(ProblemError::TooLarge { item: 1, size }));
        }
        let huge = item(5, 6, 1, 1 << 63);
        assert_eq!(new(huge), Err(ProblemError::TooLarge { item: 1, size: 1 }));
        assert_eq!(new(item(0, u64::MAX, MAX_TOTAL - 8, 1)), Ok(()));
        assert_eq!(new(item(0, u64::MAX, 0, 1 << 62)), Ok(()));
        assert!(Problem::new(Vec::new()).is_ok());
    }
}
