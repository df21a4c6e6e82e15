//! Size classes, and which of them have free blocks.
//!
//! Sizes in granules fall into classes that are exact below 64 and 1/64 of a power of two wide
//! above. Two levels of bitmaps find the next class with a free block in a few instructions.

use super::nodes::NIL;

/// Classes per level, as a power of two: one level is one 64-bit word.
const SUB_BITS: u32 = 6;
const SUBS: usize = 1 << SUB_BITS;

/// The number of a size class. Larger classes have larger blocks.
///
/// Below 64 the number is the size; above, it is a floating point format with six bits of
/// mantissa, whose bit pattern counts up through the sizes without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Class(u32);

impl Class {
    /// The class that a block of `size` granules belongs to.
    #[inline]
    pub(super) fn of(size: u64) -> Self {
        let exponent = (size | SUBS as u64).ilog2() - SUB_BITS;
        // At most 2 * SUBS: the leading one of the mantissa carries into the exponent.
        let mantissa = (size >> exponent) as u32;
        Self((exponent << SUB_BITS) + mantissa)
    }

    /// The smallest class in which every block has at least `size` granules.
    pub(super) fn holding(size: u64) -> Self {
        let class = Self::of(size);
        if class.smallest() < size { class.above() } else { class }
    }

    /// The next larger class.
    #[inline]
    pub(super) fn above(self) -> Self {
        Self(self.0 + 1)
    }

    /// The size of the smallest block in the class, in granules.
    pub(super) fn smallest(self) -> u64 {
        let exponent = self.level().saturating_sub(1) as u32;
        u64::from(self.0 - (exponent << SUB_BITS)) << exponent
    }

    #[inline]
    fn level(self) -> usize {
        (self.0 >> SUB_BITS) as usize
    }

    #[inline]
    fn sub(self) -> usize {
        self.0 as usize % SUBS
    }

    #[inline]
    fn at(level: usize, sub: u32) -> Self {
        Self(((level as u32) << SUB_BITS) | sub)
    }
}

/// The first free block of every class.
#[derive(Debug)]
pub(super) struct Bins {
    /// Bit `n` is set if and only if level `n` has a filled class.
    filled: u64,
    /// As many levels as the largest possible block needs, fewer than 64.
    levels: Box<[Level]>,
}

#[derive(Clone, Debug)]
struct Level {
    /// Bit `n` is set if and only if `first[n]` is not NIL.
    filled: u64,
    /// Indices in the node table.
    first: [u32; SUBS],
}

impl Level {
    const EMPTY: Self = Self { filled: 0, first: [NIL; SUBS] };
}

impl Bins {
    /// Empty bins for blocks of at most `largest` granules.
    pub(super) fn new(largest: u64) -> Self {
        let levels = Class::of(largest).level() + 1;
        Self { filled: 0, levels: vec![Level::EMPTY; levels].into() }
    }

    pub(super) fn clear(&mut self) {
        self.filled = 0;
        self.levels.fill(Level::EMPTY);
    }

    /// The first block of `class`, NIL if it has none.
    #[inline]
    pub(super) fn first(&self, class: Class) -> u32 {
        self.levels.get(class.level()).map_or(NIL, |level| level.first[class.sub()])
    }

    /// The smallest class with a block, from `class` upward.
    #[inline]
    pub(super) fn filled_from(&self, class: Class) -> Option<Class> {
        let level = class.level();
        let subs = self.levels.get(level)?.filled & (!0 << class.sub());
        if subs != 0 {
            return Some(Class::at(level, subs.trailing_zeros()));
        }
        // Levels are fewer than 64, so 64 trailing zeros lead nowhere.
        let level = (self.filled & (!1 << level)).trailing_zeros() as usize;
        Some(Class::at(level, self.levels.get(level)?.filled.trailing_zeros()))
    }

    /// The largest class with a block.
    pub(super) fn largest_filled(&self) -> Option<Class> {
        let level = self.filled.checked_ilog2()? as usize;
        Some(Class::at(level, self.levels.get(level)?.filled.checked_ilog2()?))
    }

    /// Makes `node` the first block of `class` and returns the one that was.
    #[inline]
    pub(super) fn replace_first(&mut self, class: Class, node: u32) -> u32 {
        let level = &mut self.levels[class.level()];
        level.filled |= 1 << class.sub();
        self.filled |= 1 << class.level();
        std::mem::replace(&mut level.first[class.sub()], node)
    }

    /// Makes `node`, which may be NIL, the first block of `class` after the one that was has
    /// been taken out.
    #[inline]
    pub(super) fn set_first(&mut self, class: Class, node: u32) {
        let level = &mut self.levels[class.level()];
        level.first[class.sub()] = node;
        if node == NIL {
            level.filled &= !(1 << class.sub());
            if level.filled == 0 {
                self.filled &= !(1 << class.level());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes around every class boundary of interest.
    fn sizes() -> impl Iterator<Item = u64> {
        let step = if cfg!(miri) { 13 } else { 1 };
        let powers = (0..64).step_by(step).map(|bit| 1 << bit);
        let near = powers.flat_map(|size: u64| (0..3).map(move |n| (size - 1).saturating_add(n)));
        (1..1000).step_by(step).chain(near).chain([u64::MAX]).filter(|&size| size != 0)
    }

    #[test]
    fn a_class_holds_its_sizes() {
        for size in sizes() {
            let class = Class::of(size);
            assert!(class.smallest() <= size, "{size} in {class:?}");
            assert!(size - class.smallest() <= size / 64, "{size} in {class:?}");
            assert_eq!(Class::of(class.smallest()), class);
            if size < u64::MAX >> 1 {
                assert!(size < class.above().smallest(), "{size} in {class:?}");
                let holding = Class::holding(size);
                assert!(holding.smallest() >= size);
                assert!(holding == class || holding == class.above());
            }
        }
    }

    #[test]
    fn classes_have_no_gaps() {
        for number in (1..64 * 57).step_by(if cfg!(miri) { 61 } else { 1 }) {
            let class = Class(number);
            assert_eq!(Class::of(class.smallest()), class);
            assert_eq!(Class::of(class.above().smallest() - 1), class);
        }
    }

    #[test]
    fn the_next_filled_class_is_found() {
        let mut bins = Bins::new(1 << 40);
        assert_eq!(bins.filled_from(Class(0)), None);
        assert_eq!(bins.largest_filled(), None);
        for (node, number) in [(1, 5), (2, 63), (3, 64), (4, 700)] {
            assert_eq!(bins.replace_first(Class(number), node), NIL);
        }
        assert_eq!(bins.replace_first(Class(700), 5), 4);
        let next = |bins: &Bins, number| bins.filled_from(Class(number)).map(|class| class.0);
        for (from, to) in [(0, 5), (5, 5), (6, 63), (63, 63), (64, 64), (65, 700), (700, 700)] {
            assert_eq!(next(&bins, from), Some(to));
        }
        assert_eq!(next(&bins, 701), None);
        assert_eq!(next(&bins, 64 * 60), None, "past the last level");
        assert_eq!(bins.first(Class(64 * 60)), NIL);
        bins.set_first(Class(700), NIL);
        assert_eq!(next(&bins, 65), None);
        assert_eq!(bins.largest_filled(), Some(Class(64)));
    }
}
