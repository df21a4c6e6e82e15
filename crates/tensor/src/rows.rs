//! The rows of mapped tensors: the innermost dimensions that lie together, without the gaps.

use crate::ElementKind;
use tenure_layout::Walk;

use crate::map::{TensorMap, TensorRead};

/// Length of a row and distance between rows, in stored elements.
///
/// A row is the longest run without a gap; tensors whose runs are not evenly spaced (a region of
/// a batch of images) have no such distance and are walked by index instead.
fn pitch<E: ElementKind>(walk: &Walk) -> Option<(usize, usize)> {
    let size = size_of::<E::Stored>();
    match walk.axes.as_slice() {
        [] => Some((walk.run / size, walk.run.max(1) / size)),
        [axis] => Some((walk.run / size, axis.write.unsigned_abs() / size)),
        _ => None,
    }
}

impl<E: ElementKind> TensorRead<E> {
    /// The rows without the padding between them: `None` if rows are not evenly spaced. A
    /// contiguous tensor is one row.
    pub fn rows(&self) -> Option<impl Iterator<Item = &[E::Stored]>> {
        let walk = Walk::new(self.layout()).ok()?;
        let (len, pitch) = pitch::<E>(&walk)?;
        Some(self.own_span().chunks(pitch.max(1)).filter_map(move |chunk| chunk.get(..len)))
    }
}

impl<E: ElementKind> TensorMap<E> {
    /// The rows without the padding between them, to write: `None` if rows are not evenly
    /// spaced. A contiguous tensor is one row.
    pub fn rows_mut(&mut self) -> Option<impl Iterator<Item = &mut [E::Stored]>> {
        let walk = Walk::new(self.layout()).ok()?;
        let (len, pitch) = pitch::<E>(&walk)?;
        let slice = self.strided_mut().own_span_mut();
        Some(slice.chunks_mut(pitch.max(1)).filter_map(move |chunk| chunk.get_mut(..len)))
    }
}
