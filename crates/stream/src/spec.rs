//! What the frames of a stream look like.

use std::fmt;

use tenure_layout::{Colour, DType, ImageLayout, Layout, PixelFormat, Quantization};
use tenure_memory::Buffer;
use tenure_tensor::{Tensor, TensorDyn};

use crate::Result;

/// What a frame looks like: what [`crate::Publisher::claim_as`] makes tensors of.
///
/// ```
/// use tenure_stream::Spec;
/// use tenure_tensor::{Colour, DType, PixelFormat};
/// let input = Spec::tensor(DType::F32, &[1, 3, 640, 640])?;
/// let frame = Spec::image(1920, 1080, PixelFormat::Nv12)?.with_colour(Colour::HD);
/// assert_eq!((input.bytes(), frame.bytes()), (4_915_200, 3_110_400));
/// # Ok::<(), tenure_stream::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a description does nothing until a publisher is given it"]
pub struct Spec {
    shape: Shape,
    colour: Option<Colour>,
    quantization: Option<Quantization>,
}

#[derive(Debug, Clone, PartialEq)]
enum Shape {
    Tensor(Layout),
    Image { layout: ImageLayout },
}

impl Spec {
    /// Elements without gaps.
    ///
    /// # Errors
    /// If the shape does not fit the address space.
    pub fn tensor(dtype: DType, shape: &[usize]) -> Result<Spec> {
        Ok(Spec::of(Shape::Tensor(Layout::contiguous(dtype, shape)?)))
    }

    /// An image of bytes with the smallest row stride, in every memory. For frames that GPUs import
    /// give [`Spec::image_of`] the stride of [`ImageLayout::importable_stride`].
    ///
    /// Width and height come before the format, as in [`Tensor::image`](tenure_tensor::Tensor::image)
    /// and everywhere else: a format between two numbers of one meaning is easily put elsewhere.
    ///
    /// # Errors
    /// If the size is zero or too large.
    pub fn image(width: usize, height: usize, format: PixelFormat) -> Result<Spec> {
        Spec::image_of(width, height, format, DType::U8, None)
    }

    /// An image of any elements, whose rows are `row_stride` bytes apart if that is given.
    ///
    /// # Errors
    /// If the format cannot have such elements, or the size or stride is impossible.
    pub fn image_of(
        width: usize,
        height: usize,
        format: PixelFormat,
        dtype: DType,
        row_stride: Option<usize>,
    ) -> Result<Spec> {
        let layout = ImageLayout::new(width, height, format, dtype, row_stride)?;
        Ok(Spec::of(Shape::Image { layout }))
    }

    /// What a tensor looks like, without its gaps.
    ///
    /// # Errors
    /// If its shape is impossible.
    pub fn like(tensor: &TensorDyn) -> Result<Spec> {
        let mut spec = match tensor.image_layout() {
            Some(image) if !is_batch(tensor) => {
                let (width, height) = (image.width(), image.height());
                Spec::image_of(width, height, image.format(), tensor.dtype(), None)?
            }
            _ => Spec::tensor(tensor.dtype(), tensor.shape())?,
        };
        spec.colour = tensor.colour();
        spec.quantization = tensor.quantization().cloned();
        Ok(spec)
    }

    fn of(shape: Shape) -> Spec {
        Spec { shape, colour: None, quantization: None }
    }

    /// With a colour description.
    pub fn with_colour(mut self, colour: Colour) -> Spec {
        self.colour = Some(colour);
        self
    }

    /// With a quantisation.
    pub fn with_quantization(mut self, quantization: Quantization) -> Spec {
        self.quantization = Some(quantization);
        self
    }

    /// Bytes that a frame needs.
    pub fn bytes(&self) -> usize {
        match &self.shape {
            Shape::Tensor(layout) => layout.span().end,
            Shape::Image { layout, .. } => layout.allocation_bytes(),
        }
    }

    /// Bytes of a frame's elements alone: rows and planes one after the other, without gaps.
    pub fn flat_bytes(&self) -> usize {
        match &self.shape {
            Shape::Tensor(layout) => layout.span().end,
            Shape::Image { layout, .. } => layout.packed_bytes(),
        }
    }

    /// Whether frames of `other` look as this declares: the same elements and shape, or the same
    /// picture. Where rows lie is not declared, nor is what this does not name: colour,
    /// quantisation, and that elements are a picture.
    pub fn admits(&self, other: &Spec) -> bool {
        let same = match (&self.shape, &other.shape) {
            (Shape::Tensor(this), Shape::Tensor(other)) => {
                (this.dtype(), this.shape()) == (other.dtype(), other.shape())
            }
            (Shape::Tensor(this), Shape::Image { layout, .. }) => {
                let other = layout.tensor_layout();
                other.is_ok_and(|other| {
                    (this.dtype(), this.shape()) == (other.dtype(), other.shape())
                })
            }
            (Shape::Image { layout: this, .. }, Shape::Image { layout: other, .. }) => {
                picture(this) == picture(other)
            }
            (Shape::Image { .. }, Shape::Tensor(_)) => false,
        };
        same && self.admits_meaning(other.colour, other.quantization.as_ref())
    }

    /// The same for a tensor that exists.
    pub(crate) fn admits_tensor(&self, tensor: &TensorDyn) -> bool {
        let same = match &self.shape {
            Shape::Tensor(this) => (this.dtype(), this.shape()) == (tensor.dtype(), tensor.shape()),
            Shape::Image { layout, .. } => {
                !is_batch(tensor)
                    && tensor.image_layout().is_some_and(|it| picture(it) == picture(layout))
            }
        };
        same && self.admits_meaning(tensor.colour(), tensor.quantization())
    }

    fn admits_meaning(&self, colour: Option<Colour>, quantization: Option<&Quantization>) -> bool {
        (self.colour.is_none() || self.colour == colour)
            && (self.quantization.is_none() || self.quantization.as_ref() == quantization)
    }

    /// The tensor over memory that is large enough.
    pub(crate) fn over(&self, buffer: Buffer) -> Result<TensorDyn> {
        let mut tensor = match &self.shape {
            Shape::Tensor(layout) => Tensor::from_buffer(buffer, layout.clone())?,
            Shape::Image { layout, .. } => {
                let places: Vec<(usize, Option<usize>)> = layout
                    .planes()
                    .iter()
                    .map(|plane| (plane.offset, Some(plane.row_stride)))
                    .collect();
                let (width, height) = (layout.width(), layout.height());
                let (format, dtype) = (layout.format(), layout.dtype());
                TensorDyn::from_plane_buffers(&[buffer], &places, width, height, format, dtype)?
            }
        };
        tensor.set_colour(self.colour);
        tensor.set_quantization(self.quantization.clone())?;
        Ok(tensor)
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.shape {
            Shape::Tensor(layout) => write!(f, "{} {:?}", layout.dtype(), layout.shape())?,
            Shape::Image { layout, .. } => {
                let (format, dtype, width, height) = picture(layout);
                write!(f, "{format} {width}x{height} of {dtype}")?;
            }
        }
        if let Some(colour) = self.colour {
            write!(f, " in {colour:?}")?;
        }
        match &self.quantization {
            Some(quantization) => write!(f, " with {quantization:?}"),
            None => Ok(()),
        }
    }
}

/// What makes two pictures look alike.
fn picture(layout: &ImageLayout) -> (PixelFormat, DType, usize, usize) {
    (layout.format(), layout.dtype(), layout.width(), layout.height())
}

/// Whether a tensor counts images in leading dimensions.
fn is_batch(tensor: &TensorDyn) -> bool {
    let rank = tensor.image_layout().and_then(|image| image.tensor_layout().ok());
    rank.is_some_and(|one| one.rank() < tensor.rank())
}
