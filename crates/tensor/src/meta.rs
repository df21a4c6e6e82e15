//! What a tensor is made of; shared between a tensor and its guards.
#![expect(unsafe_code, reason = "promises that parts keep what guards, views and values need")]

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use smallvec::SmallVec;
use tenure_layout::{Colour, ImageLayout, Layout, Quantization};
use tenure_memory::backend::Keep;
use tenure_memory::kind::foreign;
use tenure_memory::{Buffer, RawBuffer};

use crate::handle::ViewId;
use crate::{Element, ElementKind, Tensor, TensorDyn};

/// A tensor's memory and what it means.
#[derive(Debug, Clone)]
pub(crate) struct Parts {
    pub(crate) buffer: Buffer,
    /// Buffers of the second and further planes, if they are not in `buffer`.
    pub(crate) other_planes: SmallVec<[Buffer; 1]>,
    pub(crate) meta: Meta,
    pub(crate) view: ViewId,
}

/// Any tensor as one whose element type is known at run time only.
#[inline]
pub(crate) fn untyped<E: ElementKind>(tensor: &Tensor<E>) -> &TensorDyn {
    // SAFETY: `Tensor` is transparent over its parts, and everything else in it is without size,
    // so both types have one layout. What a `TensorDyn` does through a shared reference it does
    // with bytes, which the elements of every type are.
    unsafe { &*std::ptr::from_ref(tensor).cast::<TensorDyn>() }
}

/// The elements of a `Vec` as they lie.
pub(crate) fn adopted<T: Element>(mut values: Vec<T>) -> tenure_memory::Result<RawBuffer> {
    let bytes = std::mem::size_of_val(values.as_slice());
    let address = NonNull::new(values.as_mut_ptr().cast()).filter(|_| bytes > 0);
    // SAFETY: the heap block of a `Vec` stays in place while the `Vec` lives, which moves into the
    // raw buffer and is not touched there; its elements are plain data without padding, so its
    // bytes are initialised and may become any other. Nobody else has the `Vec`.
    unsafe { foreign::adopt(address, bytes, foreign::Description::HEAP, values, None) }
}

/// Parts whose buffer has its place: what a guard keeps.
#[derive(Debug)]
pub(crate) struct Placed(Arc<Parts>);

impl Placed {
    /// `None` while the buffer has no place.
    #[inline]
    pub(crate) fn new(parts: &Arc<Parts>) -> Option<Placed> {
        parts.buffer.raw_if_placed()?;
        Some(Placed(Arc::clone(parts)))
    }

    #[inline]
    pub(crate) fn meta(&self) -> &Meta {
        &self.0.meta
    }

    #[cfg(feature = "dlpack")]
    pub(crate) fn parts(&self) -> &Arc<Parts> {
        &self.0
    }
}

// SAFETY: a buffer is placed exactly once and keeps its allocation, and parts that somebody else
// holds too are never changed (setters make their own copy).
unsafe impl Keep for Placed {
    #[inline]
    fn raw(&self) -> &RawBuffer {
        match self.0.buffer.raw_if_placed() {
            Some(raw) => raw,
            None => unreachable!("a buffer that had its place keeps it"),
        }
    }
}

/// Everything that describes the bytes.
#[derive(Debug, Clone)]
pub(crate) struct Meta {
    /// Offsets count from the start of the tensor's buffer.
    pub(crate) layout: Layout,
    pub(crate) image: Option<Image>,
    pub(crate) colour: Option<Colour>,
    pub(crate) quantization: Option<Quantization>,
    /// Whether the tensor was allocated as it is, so that the bytes between its elements are its
    /// own. Views, and tensors over memory that came from elsewhere, do not know whose those are.
    pub(crate) whole: bool,
    /// Whether the last two dimensions are pixels and their samples: of planes, and of slices of
    /// images and planes.
    pub(crate) pixels: bool,
}

/// What is known of a tensor that is an image (or a batch of them: then of the first).
#[derive(Debug, Clone)]
pub(crate) struct Image {
    pub(crate) layout: ImageLayout,
}

impl Meta {
    pub(crate) fn new(layout: Layout) -> Meta {
        Meta { layout, image: None, colour: None, quantization: None, whole: false, pixels: false }
    }

    /// Of a tensor that is allocated with this layout.
    pub(crate) fn whole(layout: Layout) -> Meta {
        Meta { whole: true, ..Meta::new(layout) }
    }

    /// Bytes of the (first) buffer that belong to the tensor, from the first to the last. Planes
    /// in buffers of their own are not counted.
    #[inline]
    pub(crate) fn span(&self, one_buffer: bool) -> Range<usize> {
        let own = self.layout.span();
        match &self.image {
            Some(image) if one_buffer => {
                let all = image.layout.span();
                own.start.min(all.start)..own.end.max(all.end)
            }
            _ => own,
        }
    }

    /// Where the first row of the first plane is in the (first) buffer; of a tensor that is no
    /// image, its first byte.
    pub(crate) fn first_byte(&self) -> usize {
        let plane = self.image.as_ref().and_then(|image| image.layout.planes().first());
        plane.map_or_else(|| self.layout.span().start, |plane| plane.offset)
    }

    /// Whether the tensor has leading dimensions that count images.
    pub(crate) fn batched(&self) -> bool {
        self.image.as_ref().is_some_and(|image| {
            image.layout.tensor_layout().is_ok_and(|one| one.rank() < self.layout.rank())
        })
    }
}
