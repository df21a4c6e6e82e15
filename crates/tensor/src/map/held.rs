//! Which bytes a strided guard holds, and where in them an element is.

use std::ops::Range;

use tenure_layout::{Layout, Walk};
use tenure_memory::{ReadRows, RowIter, Rows, WriteRows};

use crate::meta::Placed;

/// The bytes of the elements, without the gaps where these are all alike: rows at one stride, such
/// as those of a region of an image or a column of a matrix. Everything from the first to the last
/// byte for other layouts (a region of a batch of images, say), and while rows would share bytes.
pub(crate) fn rows_of(layout: &Layout) -> Rows {
    let apart = || {
        let walk = Walk::new(layout).ok()?;
        match walk.axes.as_slice() {
            [] => None,
            [axis] => {
                let stride = usize::try_from(axis.write).ok()?;
                Rows::new(walk.start, walk.run, stride, axis.len).ok()
            }
            _ => None,
        }
    };
    apart().unwrap_or_else(|| Rows::from(layout.span()))
}

/// Which row byte `at` is in, counted from the lowest, and where in it.
fn place(rows: &Rows, at: usize) -> (usize, usize) {
    if rows.count() > 1 { (at / rows.stride(), at % rows.stride()) } else { (0, at) }
}

/// Bytes, counted from the lowest, that lie in one row.
pub(crate) fn bytes<'a>(rows: &Rows, held: &RowIter<'a>, bytes: Range<usize>) -> Option<&'a [u8]> {
    let (row, start) = place(rows, bytes.start);
    held.clone().nth(row)?.get(start..start + bytes.len())
}

/// The same of a guard to read.
pub(crate) fn read(held: &ReadRows<Placed>, bytes: Range<usize>) -> Option<&[u8]> {
    let (row, start) = place(&held.rows(), bytes.start);
    held.row(row)?.get(start..start + bytes.len())
}

/// The same of a guard to write.
pub(crate) fn written(held: &WriteRows<Placed>, bytes: Range<usize>) -> Option<&[u8]> {
    let (row, start) = place(&held.rows(), bytes.start);
    held.row(row)?.get(start..start + bytes.len())
}

/// The same, to write.
pub(crate) fn write(held: &mut WriteRows<Placed>, bytes: Range<usize>) -> Option<&mut [u8]> {
    let (row, start) = place(&held.rows(), bytes.start);
    held.row_mut(row)?.get_mut(start..start + bytes.len())
}
