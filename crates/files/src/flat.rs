//! Elements in the order of their indices, without gaps: how every format has them.

use std::io::Write;

use tenure_tensor::{DType, ElementKind, ImageLayout, Layout, Tensor, TensorDyn, TensorMemory};

use crate::{Error, Result};

/// Bytes that are looked at together where elements are changed on their way.
const CHUNK: usize = 4096;

/// The tensor as it is, if it lies together; otherwise a copy that does. Images have the shape that
/// they have without row padding, all planes together.
pub(crate) fn together<E: ElementKind>(tensor: &Tensor<E>) -> Result<TensorDyn> {
    if lies_together(tensor) {
        Ok(tensor.to_dyn())
    } else {
        Ok(tensor.to(Some(TensorMemory::Mem))?.to_dyn())
    }
}

fn lies_together<E: ElementKind>(tensor: &Tensor<E>) -> bool {
    let whole = !tensor.is_multi_buffer() && tensor.flat_bytes() == tensor.size_bytes();
    whole && tensor.is_contiguous()
}

/// The layout that [`together`] gives, before anything is copied.
pub(crate) fn layout<E: ElementKind>(tensor: &Tensor<E>) -> Result<Layout> {
    let dtype = tensor.dtype();
    if let (false, Some(format), Some(width), Some(height)) =
        (lies_together(tensor), tensor.format(), tensor.width(), tensor.height())
    {
        let image = ImageLayout::new(format, dtype, width, height, None)?.tensor_layout()?;
        // Leading dimensions are a batch, which is copied as it is.
        if image.rank() == tensor.rank() {
            return Ok(image);
        }
    }
    Ok(Layout::contiguous(dtype, tensor.shape())?)
}

/// Writes what [`together`] gave; truth values as 0 and 1, where ours may be any byte.
pub(crate) fn write(writer: &mut impl Write, together: &TensorDyn) -> Result<()> {
    let bytes = together.map_read()?;
    if together.dtype() == DType::Bool {
        for chunk in bytes.as_slice().chunks(CHUNK) {
            let values: Vec<u8> = chunk.iter().map(|byte| u8::from(*byte != 0)).collect();
            writer.write_all(&values)?;
        }
    } else {
        writer.write_all(bytes.as_slice())?;
    }
    // A mapped file that was cut off meanwhile has zeros for its end.
    bytes.intact().map_err(Error::from)
}
