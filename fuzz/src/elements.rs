//! The slow way: every element of a layout, one by one.

use tenure::layout::Layout;

/// Every index of a shape, in order.
pub fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    let first = (!shape.contains(&0)).then(|| vec![0; shape.len()]);
    std::iter::successors(first, move |index| {
        let mut next = index.clone();
        for (at, len) in next.iter_mut().zip(shape).rev() {
            *at += 1;
            if *at < *len {
                return Some(next);
            }
            *at = 0;
        }
        None
    })
}

/// Where each element is, in half bytes from the start of the buffer, in the order of indices.
/// Computed without the library, from strides and offset; `None` if there are more than `most`.
pub fn halves(layout: &Layout, most: usize) -> Option<Vec<usize>> {
    if layout.elements() > most {
        return None;
    }
    let width = layout.dtype().bits() / 4;
    let place = |index: Vec<usize>| {
        let steps =
            index.iter().zip(layout.strides()).map(|(&at, &step)| at as i128 * step as i128);
        let at = layout.offset() as i128 * 2 + steps.sum::<i128>() * width as i128;
        usize::try_from(at).expect("no element lies before the buffer")
    };
    Some(indices(layout.shape()).map(place).collect())
}

/// The half bytes that an element at `start` takes.
pub fn taken(layout: &Layout, start: usize) -> std::ops::Range<usize> {
    start..start + layout.dtype().bits() / 4
}
