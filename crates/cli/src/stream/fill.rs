//! Bytes that lie together, on their way into a tensor that may have gaps between its rows.

use std::io::{self, Read};

use tenure::{ImageLayout, TensorDyn};

/// Why a tensor was not filled.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unfilled {
    /// The bytes cannot be read.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// The tensor cannot be written.
    #[error(transparent)]
    Tensor(#[from] tenure::Error),
}

/// Reads a tensor's elements: planes and rows one after the other, without gaps between them.
pub(crate) fn fill(tensor: &TensorDyn, from: &mut impl Read) -> Result<(), Unfilled> {
    let Some(layout) = tensor.image_layout() else {
        return Ok(from.read_exact(tensor.map()?.as_mut_slice())?);
    };
    let (format, dtype) = (layout.format(), layout.dtype());
    let packed = ImageLayout::new(format, dtype, layout.width(), layout.height(), None)
        .map_err(tenure::Error::from)?;
    for (index, (plane, packed)) in layout.planes().iter().zip(packed.planes()).enumerate() {
        let target = tensor.plane(index)?;
        let mut bytes = target.map()?;
        for row in bytes.as_mut_slice().chunks_mut(plane.row_stride.max(1)) {
            let used = row.len().min(packed.row_stride);
            let (row, _) = row.split_at_mut(used);
            from.read_exact(row)?;
        }
    }
    Ok(())
}
