//! The tensor itself: a buffer, and what its bytes mean.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::{Dyn, ElementKind};
use smallvec::SmallVec;
use tenure_layout::{Colour, DType, Layout, Quantization};
use tenure_memory::{Buffer, BufferIdentity, LogicalMemorySpace, Refusal, TensorMemory};

use crate::handle::ViewId;
use crate::meta::{Meta, Parts};
use crate::{Error, Result};

/// Elements of one type in some memory.
///
/// `Tensor<f32>` knows its element type at compile time; [`TensorDyn`] at run time. Both are this
/// type, and what does not need the element type is the same code.
///
/// A tensor is a handle: clones and views are more handles to the same bytes, and the
/// ledger of the allocation keeps their uses apart.
#[repr(transparent)]
pub struct Tensor<E: ElementKind = Dyn> {
    pub(crate) parts: Arc<Parts>,
    pub(crate) element: PhantomData<fn() -> E>,
}

/// A tensor whose element type is known at run time.
///
/// ```
/// use tenure_tensor::{DType, PixelFormat, DynTensor, TensorDyn};
/// let mut t = TensorDyn::new(&[480, 640, 3], DType::U8, None, None)?;
/// t.set_format(PixelFormat::Rgb)?;
/// assert_eq!((t.width(), t.height()), (Some(640), Some(480)));
/// assert_eq!(t.effective_row_stride(), Some(1920));
/// # Ok::<(), tenure_tensor::Error>(())
/// ```
pub type TensorDyn = Tensor<Dyn>;

impl<E: ElementKind> Tensor<E> {
    /// A tensor over `buffer`; the caller has checked that everything fits.
    pub(crate) fn assemble(buffer: Buffer, meta: Meta) -> Tensor<E> {
        let parts = Parts { buffer, other_planes: SmallVec::new(), meta, view: ViewId::default() };
        Tensor { parts: Arc::new(parts), element: PhantomData }
    }

    /// The same tensor with the element type known in another way.
    pub(crate) fn retyped<F: ElementKind>(&self) -> Tensor<F> {
        Tensor { parts: Arc::clone(&self.parts), element: PhantomData }
    }

    /// The description, to change; guards go on with the one they have.
    pub(crate) fn meta_mut(&mut self) -> &mut Meta {
        &mut Arc::make_mut(&mut self.parts).meta
    }

    /// Whether nobody else has a handle to the elements: no clone, view, guard or export.
    /// A tensor that was lent, or came back from DLPack to be read only, does not ask who has the
    /// memory below.
    ///
    /// ```
    /// use tenure_tensor::Tensor;
    /// let mut tensor = Tensor::<u8>::new(&[4], None, None)?;
    /// let view = tensor.slice(0, 0..2)?;
    /// assert!(!tensor.is_only_handle());
    /// drop(view);
    /// assert!(tensor.is_only_handle());
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    pub fn is_only_handle(&mut self) -> bool {
        let Some(parts) = Arc::get_mut(&mut self.parts) else { return false };
        parts.buffer.is_only_handle() && parts.other_planes.iter_mut().all(Buffer::is_only_handle)
    }

    /// The mechanism the bytes were obtained with.
    pub fn memory(&self) -> TensorMemory {
        self.parts.buffer.memory()
    }

    /// Where the bytes live.
    pub fn space(&self) -> LogicalMemorySpace {
        self.parts.buffer.space()
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.parts.meta.layout.dtype()
    }

    /// Elements per dimension.
    pub fn shape(&self) -> &[usize] {
        self.parts.meta.layout.shape()
    }

    /// Elements between neighbours of each dimension.
    pub fn strides(&self) -> &[isize] {
        self.parts.meta.layout.strides()
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.parts.meta.layout.rank()
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.parts.meta.layout.elements()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all elements without gaps.
    pub fn size_bytes(&self) -> usize {
        self.parts.meta.layout.packed_bytes()
    }

    /// Bytes of the buffer: what the tensor could be re-pointed at with
    /// [`Tensor::configure_image`].
    pub fn capacity_bytes(&self) -> usize {
        self.parts.buffer.len()
    }

    /// Whether the elements follow each other in row-major order without gaps.
    pub fn is_contiguous(&self) -> bool {
        self.parts.meta.layout.is_contiguous()
    }

    /// Which bytes of [`Tensor::buffer`] the elements are.
    pub fn layout(&self) -> &Layout {
        &self.parts.meta.layout
    }

    /// The buffer (of the first plane).
    pub fn buffer(&self) -> &Buffer {
        &self.parts.buffer
    }

    /// Which buffer this is: a key for caches. Views have the same.
    pub fn buffer_identity(&self) -> &BufferIdentity {
        self.parts.buffer.identity()
    }

    /// The name it was made with.
    pub fn name(&self) -> Option<&str> {
        self.parts.buffer.name()
    }

    /// Which memories an automatic choice tried before the one that served, and why they did not.
    /// Empty if the memory was named or is not allocated yet.
    pub fn refusals(&self) -> &[Refusal] {
        if self.parts.buffer.is_placed() {
            self.parts.buffer.raw().map_or(&[], |raw| raw.refusals())
        } else {
            &[]
        }
    }

    /// Whether elements may be written.
    ///
    /// # Errors
    /// If a lazy buffer cannot be allocated.
    pub fn is_writable(&self) -> Result<bool> {
        Ok(self.parts.buffer.raw()?.writable())
    }

    /// The colour description, if it has one.
    pub fn colour(&self) -> Option<Colour> {
        self.parts.meta.colour
    }

    /// Sets or removes the colour description.
    pub fn set_colour(&mut self, colour: Option<Colour>) {
        self.meta_mut().colour = colour;
    }

    /// With a colour description.
    pub fn with_colour(mut self, colour: Colour) -> Self {
        self.set_colour(Some(colour));
        self
    }

    /// The quantisation, if it has one.
    pub fn quantization(&self) -> Option<&Quantization> {
        self.parts.meta.quantization.as_ref()
    }

    /// Sets or removes the quantisation.
    ///
    /// # Errors
    /// If the elements are no integers or the axis does not fit the shape.
    pub fn set_quantization(&mut self, quantization: Option<Quantization>) -> Result<()> {
        if let Some(quantization) = &quantization {
            let dtype = self.dtype();
            if !is_integer(dtype) {
                return Err(Error::NotQuantizable { dtype });
            }
            quantization.check_shape(self.shape())?;
        }
        self.meta_mut().quantization = quantization;
        Ok(())
    }

    /// With a quantisation.
    ///
    /// # Errors
    /// As [`Tensor::set_quantization`].
    pub fn with_quantization(mut self, quantization: Quantization) -> Result<Self> {
        self.set_quantization(Some(quantization))?;
        Ok(self)
    }
}

fn is_integer(dtype: DType) -> bool {
    matches!(
        dtype,
        DType::U8
            | DType::I8
            | DType::U16
            | DType::I16
            | DType::U32
            | DType::I32
            | DType::U64
            | DType::I64
            | DType::U4
            | DType::I4
    )
}

impl<E: ElementKind> AsRef<Buffer> for Tensor<E> {
    fn as_ref(&self) -> &Buffer {
        self.buffer()
    }
}

#[cfg(test)]
mod tests {
    use std::any::Any;

    use tenure_layout::PixelFormat;

    use super::*;

    #[test]
    fn every_other_handle_counts() {
        let memory = Some(TensorMemory::Mem);
        let mut tensor = Tensor::<u8>::image(16, 8, PixelFormat::Nv12, memory, None).unwrap();
        type Another = fn(&Tensor<u8>) -> Box<dyn Any>;
        let others: [Another; 6] = [
            |tensor| Box::new(tensor.clone()),
            |tensor| Box::new(tensor.plane(1).unwrap()),
            |tensor| Box::new(tensor.map_read().unwrap()),
            |tensor| Box::new(tensor.buffer().clone()),
            |tensor| Box::new(tensor.buffer().slice(3..4).unwrap()),
            |tensor| Box::new(Arc::clone(tensor.buffer().raw().unwrap())),
        ];
        for other in others {
            assert!(tensor.is_only_handle());
            let other = other(&tensor);
            assert!(!tensor.is_only_handle());
            drop(other);
        }
        assert!(tensor.is_only_handle());
    }
}
