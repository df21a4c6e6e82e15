//! Bytes that lie together, on their way into a tensor that may have gaps between its rows.

use std::io::{self, Read};

use tenure_layout::{ErrorKind, order};
use tenure_tensor::TensorDyn;

/// Why a tensor was not filled.
#[derive(Debug, thiserror::Error)]
pub enum Unfilled {
    /// The bytes cannot be read, or there are too few of them.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// The tensor cannot be written.
    #[error(transparent)]
    Tensor(#[from] tenure_tensor::Error),
}

impl Unfilled {
    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Unfilled::Read(_) => ErrorKind::System,
            Unfilled::Tensor(error) => error.kind(),
        }
    }
}

/// Reads a tensor's elements, little-endian: planes and rows without gaps between them. The
/// opposite of [`copy_to_flat`](tenure_tensor::Tensor::copy_to_flat) where the machine is little-endian.
///
/// ```
/// use tenure_tensor::{DType, DynTensor, TensorDyn};
/// let tensor = TensorDyn::new(&[2, 2], DType::U8, None, None)?;
/// tenure_stream::fill(&tensor, &mut &[1, 2, 3, 4][..])?;
/// let mut flat = [0; 4];
/// tensor.copy_to_flat(&mut flat)?;
/// assert_eq!(flat, [1, 2, 3, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the reader ends too early or fails, or somebody holds the tensor. A part of it may have been
/// written then.
pub fn fill(tensor: &TensorDyn, from: &mut impl Read) -> Result<(), Unfilled> {
    let mut fill = |part: &TensorDyn| -> Result<(), Unfilled> {
        let dtype = part.dtype();
        if part.is_contiguous() {
            let mut map = part.map()?;
            from.read_exact(&mut map)?;
            order::swap_little_endian(&mut map, dtype);
            return Ok(());
        }
        for row in part.map_rows()?.rows_mut() {
            from.read_exact(row)?;
            order::swap_little_endian(row, dtype);
        }
        Ok(())
    };
    if tensor.image_layout().is_none() {
        return fill(tensor);
    }
    (0..tensor.plane_count()).try_for_each(|plane| fill(&tensor.plane(plane)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_memory::TensorMemory;
    use tenure_tensor::DynTensor;
    use tenure_tensor::{DType, PixelFormat};

    #[test]
    fn what_lay_together_lies_together_again() {
        for format in PixelFormat::all() {
            let dtype = if format == PixelFormat::P010 { DType::U16 } else { DType::U8 };
            for (width, height, stride) in [(5, 3, None), (6, 4, None), (5, 3, Some(64))] {
                let image = || {
                    let memory = Some(TensorMemory::Mem);
                    TensorDyn::image_builder(width, height, format, dtype)
                        .row_stride(stride)
                        .memory(memory)
                        .build()
                        .unwrap()
                };
                let (one, other) = (image(), image());
                let mut flat: Vec<u8> = (0..one.flat_bytes()).map(|byte| byte as u8 + 1).collect();
                fill(&one, &mut &flat[..]).unwrap();
                let mut again = vec![0; flat.len()];
                one.copy_to_flat(&mut again).unwrap();
                order::swap_little_endian(&mut again, dtype);
                assert_eq!(again, flat, "{format} {width}x{height} {stride:?}");
                flat.pop();
                assert!(matches!(fill(&other, &mut &flat[..]), Err(Unfilled::Read(_))));
            }
        }
    }
}
