//! Elements in the order of their indices, without gaps: how every format has them.

use std::io::Write;

use tenure_memory::{Access, Hold};
use tenure_tensor::{
    self as tensor, DType, Dyn, ElementKind, ImageLayout, Layout, Tensor, TensorDyn, TensorMemory,
    TensorRead,
};

use crate::Result;
use crate::order::{Order, reverse};

/// Bytes that are looked at together where elements are changed on their way: whole elements.
const CHUNK: usize = 4096;
/// Bytes that are copied together where others may write them: whole elements.
const PIECE: usize = 1 << 18;

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
        let image = ImageLayout::new(width, height, format, dtype, None)?.tensor_layout()?;
        // Leading dimensions are a batch, which is copied as it is.
        if image.rank() == tensor.rank() {
            return Ok(image);
        }
    }
    Ok(Layout::contiguous(dtype, tensor.shape())?)
}

/// What [`together`] gave, held until it is written.
pub(crate) struct Elements {
    tensor: TensorDyn,
    held: Held,
}

enum Held {
    /// Nobody writes the bytes meanwhile.
    Still(TensorRead<Dyn>),
    /// Foreign code may, so there is no reference to them: they are copied, piece by piece.
    Lent(Hold),
}

impl Elements {
    pub(crate) fn hold(together: TensorDyn) -> Result<Elements> {
        let held = match together.map_read() {
            Ok(still) => Held::Still(still),
            Err(tensor::Error::Memory(error)) if error.is_busy() => {
                let span = together.layout().span();
                let hold = together.buffer().hold(Access::KernelRead, span);
                Held::Lent(hold.map_err(tensor::Error::from)?)
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Elements { tensor: together, held })
    }

    pub(crate) fn shape(&self) -> &[usize] {
        self.tensor.shape()
    }

    /// Writes the elements, with their bytes in this order; truth values as 0 and 1, where ours may
    /// be any byte.
    pub(crate) fn write(&self, writer: &mut impl Write, order: Order) -> Result<()> {
        // A mapped file that was cut off meanwhile has zeros for its end.
        match &self.held {
            Held::Still(bytes) => {
                self.write_bytes(writer, bytes.as_slice(), order)?;
                Ok(bytes.intact()?)
            }
            Held::Lent(hold) => {
                let span = self.tensor.layout().span();
                let mut piece = vec![0; PIECE.min(span.len())];
                for start in span.clone().step_by(PIECE) {
                    let end = span.end.min(start.saturating_add(PIECE));
                    piece.truncate(end - start);
                    let bytes =
                        self.tensor.buffer().slice(start..end).map_err(tensor::Error::from)?;
                    let layout = Layout::contiguous(DType::U8, &[end - start])
                        .map_err(tensor::Error::from)?;
                    TensorDyn::from_buffer(bytes, layout)?.copy_to_flat(&mut piece)?;
                    self.write_bytes(writer, &piece, order)?;
                }
                Ok(hold.raw().intact().map_err(tensor::Error::from)?)
            }
        }
    }

    /// Writes a part that begins and ends with an element.
    fn write_bytes(&self, writer: &mut impl Write, bytes: &[u8], order: Order) -> Result<()> {
        let dtype = self.tensor.dtype();
        let reversed = order.reversed(dtype);
        if dtype != DType::Bool && reversed == 1 {
            return Ok(writer.write_all(bytes)?);
        }
        for chunk in bytes.chunks(CHUNK) {
            let mut values = chunk.to_vec();
            match dtype {
                DType::Bool => values.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0)),
                _ => reverse(&mut values, reversed),
            }
            writer.write_all(&values)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every way to the bytes, also that of elements which foreign code may write.
    #[test]
    fn elements_are_written_in_either_order() {
        let numbers: Vec<u32> = (0..200_000u32).map(|n| n.wrapping_mul(0x9e37_79b9)).collect();
        let t = Tensor::<u32>::from_slice(&numbers, &[numbers.len()]).unwrap();
        let little: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let big: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
        for lent in [false, true] {
            let lent =
                lent.then(|| t.buffer().hold(Access::ExportWrite, t.layout().span()).unwrap());
            for (order, expected) in [(Order::Little, &little), (Order::Big, &big)] {
                let elements = Elements::hold(together(&t).unwrap()).unwrap();
                assert_eq!(matches!(elements.held, Held::Lent(_)), lent.is_some());
                let mut written = vec![];
                elements.write(&mut written, order).unwrap();
                assert!(written == *expected, "{order:?}");
            }
        }
        let truth = Tensor::<u8>::from_slice(&[0, 1, 2, 255], &[4]).unwrap().to_dyn();
        let layout = truth.layout().with_dtype(DType::Bool).unwrap();
        let truth = TensorDyn::from_buffer(truth.buffer().clone(), layout).unwrap();
        let mut written = vec![];
        Elements::hold(truth).unwrap().write(&mut written, Order::Big).unwrap();
        assert_eq!(written, [0, 1, 1, 1]);
    }
}
