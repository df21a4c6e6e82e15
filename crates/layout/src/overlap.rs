//! Whether two layouts of one buffer share bytes: exactly, also where their spans interleave.

use crate::{Axis, Layout, Walk};

/// The contiguous byte runs of a layout in rising order.
struct Runs {
    walk: Walk,
    /// How often each axis has stepped.
    at: Vec<usize>,
    next: Option<usize>,
}

impl Runs {
    /// `None` if the runs of the layout may cross each other.
    fn new(layout: &Layout) -> Option<Runs> {
        if layout.may_self_overlap() && !repeats_only(layout) {
            return None;
        }
        let walk = Walk::new(layout).ok()?;
        let at = vec![0; walk.axes.len()];
        let next = (layout.elements() > 0).then_some(walk.start);
        Some(Runs { walk, at, next })
    }
}

/// Whether the layout overlaps itself by repeating places (stride 0) and in no other way.
fn repeats_only(layout: &Layout) -> bool {
    let mut once = layout.clone();
    for axis in (0..layout.rank()).rev() {
        if layout.strides()[axis] == 0 && layout.shape()[axis] > 0 {
            match once.index(axis, 0) {
                Ok(less) => once = less,
                Err(_) => return false,
            }
        }
    }
    !once.may_self_overlap()
}

impl Iterator for Runs {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let start = self.next?;
        let mut following = start;
        self.next = None;
        for (Axis { len, write, .. }, at) in self.walk.axes.iter().zip(&mut self.at).rev() {
            *at += 1;
            following = following.wrapping_add_signed(*write);
            if *at < *len {
                self.next = Some(following);
                break;
            }
            following = following.wrapping_add_signed(-write * *len as isize);
            *at = 0;
        }
        Some((start, start + self.walk.run))
    }
}

impl Layout {
    /// Whether some byte belongs to elements of both, for two layouts of the same buffer.
    ///
    /// Exact for every layout that slices, permutes, broadcasts or steps; for exotic strides that
    /// cross themselves it may say yes where elements only interleave.
    ///
    /// ```
    /// use tenure_layout::{DType, Layout};
    /// let image = Layout::contiguous(DType::U8, &[480, 640])?;
    /// let (left, right) = (image.slice(1, 0, 320, 1)?, image.slice(1, 320, 640, 1)?);
    /// assert!(!left.shares_bytes(&right));
    /// assert!(left.shares_bytes(&image));
    /// # Ok::<(), tenure_layout::Error>(())
    /// ```
    pub fn shares_bytes(&self, other: &Layout) -> bool {
        let (own, others) = (self.span(), other.span());
        if own.start.max(others.start) >= own.end.min(others.end) {
            return false;
        }
        let (Some(mut left), Some(mut right)) = (Runs::new(self), Runs::new(other)) else {
            return true;
        };
        let (mut a, mut b) = (left.next(), right.next());
        while let (Some((a_start, a_end)), Some((b_start, b_end))) = (a, b) {
            if a_start.max(b_start) < a_end.min(b_end) {
                return true;
            }
            if a_end <= b_end { a = left.next() } else { b = right.next() }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::DType;

    fn bytes(layout: &Layout) -> HashSet<usize> {
        let mut all = HashSet::new();
        let mut index = vec![0; layout.rank()];
        for _ in 0..layout.elements() {
            let start = layout.element_offset(&index).unwrap();
            all.extend(start..start + layout.dtype().size().unwrap());
            for axis in (0..index.len()).rev() {
                index[axis] += 1;
                if index[axis] < layout.shape()[axis] {
                    break;
                }
                index[axis] = 0;
            }
        }
        all
    }

    fn layouts() -> impl Strategy<Value = Layout> {
        let shape = prop::collection::vec(0usize..5, 1..4);
        let steps = prop::collection::vec(-6isize..7, 3);
        (shape, steps, 0usize..60).prop_filter_map("unaddressable", |(shape, steps, offset)| {
            Layout::strided(DType::U16, &shape, &steps[..shape.len()], offset).ok()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 2000 }))]

        #[test]
        fn agrees_with_sets_of_bytes(a in layouts(), b in layouts()) {
            let shared = !bytes(&a).is_disjoint(&bytes(&b));
            let exact = [&a, &b].iter().all(|layout| Runs::new(layout).is_some());
            if exact {
                prop_assert_eq!(a.shares_bytes(&b), shared);
            } else {
                prop_assert!(!shared || a.shares_bytes(&b));
            }
        }
    }
}
