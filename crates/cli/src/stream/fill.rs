//! Bytes that lie together, on their way into a tensor that may have gaps between its rows.

use std::io::{self, Read};

use tenure::TensorDyn;

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
    for (index, plane) in layout.planes().iter().enumerate() {
        let target = tensor.plane(index)?;
        let mut bytes = target.map()?;
        for row in bytes.as_mut_slice().chunks_mut(plane.row_stride.max(1)) {
            // The last row may end with its samples.
            let (row, _gap) = row.split_at_mut(row.len().min(plane.row_bytes));
            from.read_exact(row)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure::{DType, PixelFormat, TensorMemory};

    #[test]
    fn what_lay_together_lies_together_again() {
        for format in PixelFormat::all() {
            let dtype = if format == PixelFormat::P010 { DType::U16 } else { DType::U8 };
            for (width, height, stride) in [(5, 3, None), (6, 4, None), (5, 3, Some(64))] {
                let image = || {
                    let memory = Some(TensorMemory::Mem);
                    TensorDyn::image(width, height, format, dtype, stride, memory, None).unwrap()
                };
                let (one, other) = (image(), image());
                let mut flat: Vec<u8> = (0..one.flat_bytes()).map(|byte| byte as u8 + 1).collect();
                fill(&one, &mut &flat[..]).unwrap();
                let mut again = vec![0; flat.len()];
                one.copy_to_flat(&mut again).unwrap();
                assert_eq!(again, flat, "{format} {width}x{height} {stride:?}");
                flat.pop();
                assert!(matches!(fill(&other, &mut &flat[..]), Err(Unfilled::Read(_))));
            }
        }
    }
}
