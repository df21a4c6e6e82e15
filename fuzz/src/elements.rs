//! The slow way: every element of a layout, one by one.

use tenure::layout::Layout;

/// The most elements that are looked at one by one.
pub const MOST: usize = 1024;

/// Every index of a shape, in order.
pub fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    if shape.contains(&0) {
        return vec![];
    }
    let mut all = vec![vec![]];
    for &len in shape {
        all = all
            .iter()
            .flat_map(|outer| (0..len).map(move |at| [&outer[..], &[at]].concat()))
            .collect();
    }
    all
}

/// Where each element is, in half bytes from the start of the buffer, in the order of indices.
/// Computed without the library, from strides and offset; `None` if there are too many.
pub fn halves(layout: &Layout) -> Option<Vec<usize>> {
    if layout.elements() > MOST {
        return None;
    }
    let width = layout.dtype().bits() / 4;
    let place = |index: Vec<usize>| {
        let steps =
            index.iter().zip(layout.strides()).map(|(&at, &step)| at as i128 * step as i128);
        let at = layout.offset() as i128 * 2 + steps.sum::<i128>() * width as i128;
        usize::try_from(at).expect("no element lies before the buffer")
    };
    Some(indices(layout.shape()).into_iter().map(place).collect())
}

/// The half bytes that an element at `start` takes.
pub fn taken(layout: &Layout, start: usize) -> std::ops::Range<usize> {
    start..start + layout.dtype().bits() / 4
}
