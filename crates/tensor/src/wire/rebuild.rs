//! Between tensors and their descriptions.

use smallvec::SmallVec;
use tenure_layout::Layout;
use tenure_memory::{Buffer, MessageFault};

use super::{Description, Fault, ImageDescription};
use crate::{ElementKind, Error, Result, Sharing, Tensor, TensorDyn};

impl Description {
    /// The description of a tensor whose memory is shared in this way.
    ///
    /// # Errors
    /// If a lazy buffer cannot be allocated, and [`Fault::Packed`] for a tensor that no receiver
    /// takes because its elements are more than its memory holds (broadcast).
    pub fn of<E: ElementKind>(tensor: &Tensor<E>, sharing: Sharing) -> Result<Description> {
        tensor.parts.buffer.ensure()?;
        let layout = tensor.layout();
        check_packed(
            layout,
            std::iter::once(&tensor.parts.buffer).chain(&tensor.parts.other_planes),
        )?;
        let starts: SmallVec<[usize; 4]> = std::iter::once(&tensor.parts.buffer)
            .chain(&tensor.parts.other_planes)
            .map(Buffer::start)
            .collect();
        let first = tensor.parts.buffer.start();
        let image = tensor.image_layout().map(|image| {
            let planes = image.planes().iter().enumerate().map(|(index, plane)| {
                let descriptor = if tensor.is_multi_buffer() { index } else { 0 };
                let start = starts.get(descriptor).copied().unwrap_or(first);
                (descriptor as u8, start + plane.offset, plane.row_stride)
            });
            ImageDescription {
                format: image.format(),
                width: image.width(),
                height: image.height(),
                planes: planes.collect(),
            }
        });
        Ok(Description {
            dtype: tensor.dtype(),
            shape: layout.shape().to_vec(),
            strides: layout.strides().to_vec(),
            offset: first + layout.offset(),
            read_only: sharing == Sharing::ReadOnly,
            image,
            colour: tensor.colour(),
            quantization: tensor.quantization().cloned(),
            name: tensor.name().map(str::to_owned),
        })
    }

    /// The tensor over the memory that came along: one buffer, or one for each plane. Everything
    /// is checked against the memory.
    ///
    /// # Errors
    /// If the description makes no sense for these buffers.
    pub fn over(&self, buffers: &[Buffer]) -> Result<TensorDyn> {
        let Description { dtype, shape, strides, offset, .. } = self;
        let layout = Layout::strided(*dtype, shape, strides, *offset)?;
        let planes = self.image.as_ref().map_or(1, |image| image.planes.len());
        let first = match buffers {
            [first] => first,
            [first, ..] if buffers.len() == planes => first,
            _ => {
                let reason = MessageFault::Descriptors { found: buffers.len(), expected: planes };
                return Err(
                    tenure_memory::Error::from(tenure_memory::detail::Message { reason }).into()
                );
            }
        };
        let mut tensor = match &self.image {
            Some(image) => rebuild_image(image, &layout, buffers)?,
            None => Tensor::from_buffer(first.clone(), layout)?,
        };
        check_packed(tensor.layout(), buffers)?;
        tensor.set_colour(self.colour);
        tensor.set_quantization(self.quantization.clone())?;
        tensor.trim_to_span()
    }
}

/// What memory is counted in: the kernel gives no less, so small broadcast tensors travel.
const PAGE: usize = 4096;

/// An error if there are more elements than the memory has bytes for, in whole pages: strides of
/// zero or less than an element let a few bytes stand for any number of elements.
fn check_packed<'a>(layout: &Layout, buffers: impl IntoIterator<Item = &'a Buffer>) -> Result<()> {
    let mut memory = 0usize;
    for buffer in buffers {
        let bytes = buffer.raw()?.size();
        memory = memory.saturating_add(bytes.checked_next_multiple_of(PAGE).unwrap_or(bytes));
    }
    match layout.packed_bytes() {
        packed if packed > memory => Err(Fault::Packed { packed, memory }.into()),
        _ => Ok(()),
    }
}

fn rebuild_image(
    image: &ImageDescription,
    layout: &Layout,
    buffers: &[Buffer],
) -> Result<TensorDyn> {
    let places: SmallVec<[(usize, Option<usize>); 4]> =
        image.planes.iter().map(|&(_, offset, stride)| (offset, Some(stride))).collect();
    for (index, &(descriptor, ..)) in image.planes.iter().enumerate() {
        // Planes are in one memory, or each in its own, in order.
        let expected = if buffers.len() == 1 { 0 } else { index };
        if usize::from(descriptor) != expected {
            let (found, limit) = (descriptor.into(), expected as u64);
            return Err(Fault::TooLarge { what: "descriptor of a plane", found, limit }.into());
        }
    }
    let one = TensorDyn::from_plane_buffers(
        buffers,
        &places,
        image.width,
        image.height,
        image.format,
        layout.dtype(),
    )?;
    if alike(one.layout(), layout) {
        return Ok(one);
    }
    // A batch, or a grey image without a dimension for its channel: the description's own layout,
    // whose (first) image must be the one described.
    let refuse = || {
        let (shape, strides) = (layout.shape().into(), layout.strides().into());
        Error::from(crate::detail::NotImageStrides { shape, strides, format: image.format })
    };
    let [buffer] = buffers else { return Err(refuse()) };
    let tensor = Tensor::from_buffer(buffer.clone(), layout.clone())?.with_format(image.format)?;
    if tensor.image_layout() == one.image_layout() { Ok(tensor) } else { Err(refuse()) }
}

/// Whether two layouts have the same elements at the same indices.
fn alike(a: &Layout, b: &Layout) -> bool {
    let steps = |(&dim, (s, t)): (&usize, (&isize, &isize))| dim <= 1 || s == t;
    (a.dtype(), a.shape(), a.offset()) == (b.dtype(), b.shape(), b.offset())
        && a.shape().iter().zip(a.strides().iter().zip(b.strides())).all(steps)
}
