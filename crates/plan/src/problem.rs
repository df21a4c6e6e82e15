//! The bare packing problem: things with a lifetime and a size, to be put side by side.

/// One thing to place: alive in the half-open range of times `lower..upper`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Item {
    /// First time at which the bytes are used.
    pub lower: u64,
    /// First time at which they are not used any more; greater than `lower`.
    pub upper: u64,
    /// Bytes.
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

impl Problem {
    /// The items, in the order of the offsets of a [`Packing`].
    pub fn items(&self) -> &[Item] {
        &self.items
    }
}
