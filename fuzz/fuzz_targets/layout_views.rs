//! Chains of views: spans, orders and overlaps against a list of every element.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use tenure::layout::{DType, Layout, Walk};
use tenure_fuzz::elements::{halves, indices, taken};
use tenure_fuzz::views::{Start, View, chain};

/// The most elements that are looked at one by one.
const MOST: usize = 512;

#[derive(Debug, Arbitrary)]
struct Input {
    start: Start,
    views: Vec<View>,
    /// Other views of the same start, to compare with.
    others: Vec<View>,
    wild: Option<(Vec<usize>, Vec<isize>, usize)>,
}

/// The bytes that elements touch, each once, in rising order.
fn bytes(layout: &Layout, halves: &[usize]) -> Vec<usize> {
    let mut all: Vec<usize> =
        halves.iter().flat_map(|&start| taken(layout, start)).map(|half| half / 2).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// What holds for every layout, whatever its numbers.
fn sound(layout: &Layout) {
    let span = layout.span();
    assert!(span.start <= span.end && span.end <= isize::MAX as usize);
    assert_eq!(layout.shape().len(), layout.strides().len());
    let _ = (layout.packed_bytes(), layout.may_self_overlap(), Walk::new(layout));
    let _ = layout.element_offset(&vec![0; layout.rank()]);
    let last: Vec<usize> = layout.shape().iter().map(|len| len.saturating_sub(1)).collect();
    let _ = layout.element_offset(&last);
    assert!(layout.element_offset(layout.shape()).is_err() || layout.rank() == 0);
    assert!(!layout.is_contiguous() || layout.is_row_major());
    assert!(!layout.is_row_major() || !layout.may_self_overlap());
}

/// What can be checked element by element.
fn checked(layout: &Layout) -> Option<Vec<usize>> {
    sound(layout);
    let all = halves(layout, MOST)?;
    assert_eq!(all.len(), layout.elements());
    let span = layout.span();
    let touched = bytes(layout, &all);
    assert_eq!(touched.first().copied().unwrap_or(span.start), span.start);
    assert_eq!(touched.last().map_or(span.end, |last| last + 1), span.end);
    for (index, &start) in indices(layout.shape()).zip(&all) {
        assert_eq!(layout.element_offset(&index), Ok(start / 2));
    }
    let width = layout.dtype().bits() / 4;
    let in_order = |step: &dyn Fn(usize, usize) -> bool| all.windows(2).all(|w| step(w[0], w[1]));
    assert!(!layout.is_contiguous() || in_order(&|a, b| b == a + width));
    assert!(!layout.is_row_major() || in_order(&|a, b| b >= a + width));
    if !layout.may_self_overlap() {
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
    }
    walked(layout, &touched);
    Some(all)
}

/// A walk visits every byte of every element, and no other.
fn walked(layout: &Layout, touched: &[usize]) {
    let Ok(walk) = Walk::new(layout) else {
        assert!(layout.dtype().is_sub_byte(), "only half bytes cannot be walked");
        return;
    };
    let mut visited = vec![];
    let lens: Vec<usize> = walk.axes.iter().map(|axis| axis.len).collect();
    for index in indices(&lens) {
        let steps = index.iter().zip(&walk.axes).map(|(&at, axis)| at as isize * axis.write);
        let start = walk.start.checked_add_signed(steps.sum()).expect("inside the buffer");
        visited.extend(start..start + walk.run);
    }
    visited.sort_unstable();
    visited.dedup();
    assert_eq!(visited, touched);
}

fuzz_target!(|input: Input| {
    if let Some((shape, strides, offset)) = &input.wild {
        for dtype in DType::all() {
            if let Ok(layout) = Layout::strided(dtype, shape, strides, *offset) {
                sound(&layout);
                sound(&chain(&layout, &input.views));
                assert_eq!(layout.shares_bytes(&layout), layout.elements() > 0);
            }
        }
    }
    let Ok(start) = input.start.layout() else { return };
    let mut layout = start.clone();
    let Some(mut all) = checked(&layout) else { return };
    for view in input.views.iter().take(8) {
        let Ok(next) = view.of(&layout) else { continue };
        let Some(shown) = checked(&next) else {
            sound(&next);
            return;
        };
        if view.stays_inside() {
            let before: HashSet<_> = all.iter().collect();
            assert!(shown.iter().all(|half| before.contains(half)), "{view:?} shows something new");
        }
        (layout, all) = (next, shown);
    }
    let other = chain(&start, &input.others);
    if let Some(others) = halves(&other, MOST) {
        let theirs = bytes(&other, &others);
        let shared = bytes(&layout, &all).iter().any(|byte| theirs.binary_search(byte).is_ok());
        let answer = layout.shares_bytes(&other);
        assert_eq!(answer, other.shares_bytes(&layout));
        assert!(answer || !shared, "bytes in common, and not noticed");
        // Exact where elements neither cross nor end inside bytes.
        let plain = |layout: &Layout| !layout.may_self_overlap() && !layout.dtype().is_sub_byte();
        assert!(answer == shared || !plain(&layout) || !plain(&other));
    }
});
