//! Chains of views: spans, orders and overlaps against a list of every element.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use tenure::layout::{DType, Layout, Walk};
use tenure_fuzz::elements::{halves, indices, taken};
use tenure_fuzz::views::{Start, View, chain};

#[derive(Debug, Arbitrary)]
struct Input {
    start: Start,
    views: Vec<View>,
    /// Other views of the same start, to compare with.
    others: Vec<View>,
    wild: Option<(Vec<usize>, Vec<isize>, usize)>,
}

fn bytes(layout: &Layout, halves: &[usize]) -> HashSet<usize> {
    halves.iter().flat_map(|&start| taken(layout, start)).map(|half| half / 2).collect()
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
    let all = halves(layout)?;
    assert_eq!(all.len(), layout.elements());
    let span = layout.span();
    let touched = bytes(layout, &all);
    assert_eq!(touched.iter().min().copied().unwrap_or(span.start), span.start);
    assert_eq!(touched.iter().max().map_or(span.end, |last| last + 1), span.end);
    for (index, &start) in indices(layout.shape()).iter().zip(&all) {
        assert_eq!(layout.element_offset(index), Ok(start / 2));
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
fn walked(layout: &Layout, touched: &HashSet<usize>) {
    let Ok(walk) = Walk::new(layout) else {
        assert!(layout.dtype().is_sub_byte(), "only half bytes cannot be walked");
        return;
    };
    let mut visited = HashSet::new();
    let lens: Vec<usize> = walk.axes.iter().map(|axis| axis.len).collect();
    for index in indices(&lens) {
        let steps = index.iter().zip(&walk.axes).map(|(&at, axis)| at as isize * axis.write);
        let start = walk.start.checked_add_signed(steps.sum()).expect("inside the buffer");
        visited.extend(start..start + walk.run);
    }
    assert_eq!(&visited, touched);
}

fuzz_target!(|input: Input| {
    if let Some((shape, strides, offset)) = &input.wild {
        for dtype in DType::all() {
            if let Ok(layout) = Layout::strided(dtype, shape, strides, *offset) {
                sound(&layout);
                sound(&chain(&layout, &input.views));
                assert!(layout.elements() == 0 || layout.shares_bytes(&layout) || shape.len() > 9);
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
    if let Some(others) = halves(&other) {
        let shared = !bytes(&layout, &all).is_disjoint(&bytes(&other, &others));
        let answer = layout.shares_bytes(&other);
        assert_eq!(answer, other.shares_bytes(&layout));
        assert!(answer || !shared, "bytes in common, and not noticed");
        // Exact where elements neither cross nor end inside bytes.
        let plain = |layout: &Layout| !layout.may_self_overlap() && !layout.dtype().is_sub_byte();
        assert!(answer == shared || !plain(&layout) || !plain(&other));
    }
});
