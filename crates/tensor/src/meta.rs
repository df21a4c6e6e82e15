//! What a tensor knows besides its buffer; shared between a tensor and its guards.

use std::ops::Range;

use tenure_layout::{Colour, ImageLayout, Layout, Quantization};

/// Everything that describes the bytes.
#[derive(Debug, Clone)]
pub(crate) struct Meta {
    /// Offsets count from the start of the tensor's buffer.
    pub(crate) layout: Layout,
    pub(crate) image: Option<Image>,
    pub(crate) colour: Option<Colour>,
    pub(crate) quantization: Option<Quantization>,
    /// Where the first byte was put by the caller.
    pub(crate) given_offset: Option<usize>,
}

/// What is known of a tensor that is an image (or a batch of them: then of the first).
#[derive(Debug, Clone)]
pub(crate) struct Image {
    pub(crate) layout: ImageLayout,
    /// The row stride that the caller gave.
    pub(crate) given_stride: Option<usize>,
}

impl Meta {
    pub(crate) fn new(layout: Layout) -> Meta {
        Meta { layout, image: None, colour: None, quantization: None, given_offset: None }
    }

    /// Bytes of the (first) buffer that belong to the tensor, from the first to the last. Planes
    /// in buffers of their own are not counted.
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

    /// Whether the tensor has leading dimensions that count images.
    pub(crate) fn batched(&self) -> bool {
        self.image.as_ref().is_some_and(|image| {
            image.layout.tensor_layout().is_ok_and(|one| one.rank() < self.layout.rank())
        })
    }
}
