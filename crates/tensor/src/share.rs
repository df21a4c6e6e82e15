//! Tensors over a Unix socket: the memory by descriptor, the rest as a description.

use std::os::fd::{AsFd, BorrowedFd};

use crate::ElementKind;
use smallvec::SmallVec;
use tenure_layout::Layout;
use tenure_memory::{Buffer, MessageFault, Protection, import, share};

use crate::wire::{Description, Fault, ImageDescription};
use crate::{Error, Result, Tensor, TensorDyn};

/// What the receiver may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Read and write. The two processes agree on who does what when.
    ReadWrite,
    /// Read only, and the kernel sees to it: the memory is sealed, for good, against every new
    /// way of writing. This process goes on writing through the mapping it has.
    ReadOnly,
}

/// Sends a tensor over a connected Unix socket (stream or sequenced packets). No bytes of the
/// tensor are copied.
///
/// ```
/// use std::os::unix::net::UnixStream;
/// use tenure_tensor::{Sharing, Tensor, TensorMemory, receive, send};
/// let (here, there) = UnixStream::pair()?;
/// let t = Tensor::<u8>::new(&[480, 640, 3], Some(TensorMemory::Shm), Some("frame"))?;
/// send(&here, &t, Sharing::ReadOnly)?;
/// // In the other process:
/// let same = receive(&there)?;
/// assert_eq!((same.shape(), same.name()), (t.shape(), Some("frame")));
/// assert!(same.map().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the memory has no descriptor, cannot be sealed, or the socket refuses. Memory that was to
/// be read-only stays sealed then.
pub fn send<E: ElementKind>(socket: impl AsFd, tensor: &Tensor<E>, sharing: Sharing) -> Result<()> {
    let buffers: SmallVec<[&Buffer; 4]> =
        std::iter::once(&tensor.parts.buffer).chain(&tensor.parts.other_planes).collect();
    let body = describe(tensor, sharing)?.encode();
    let mut descriptors: SmallVec<[BorrowedFd<'_>; 4]> = SmallVec::new();
    for buffer in &buffers {
        descriptors.push(buffer.lend_descriptor()?);
    }
    // Last, as it cannot be undone.
    for buffer in buffers.iter().filter(|_| sharing == Sharing::ReadOnly) {
        buffer.raw()?.seal_for_others()?;
    }
    Ok(share::send(socket, &body, &descriptors)?)
}

fn describe<E: ElementKind>(tensor: &Tensor<E>, sharing: Sharing) -> Result<Description> {
    tensor.parts.buffer.ensure()?;
    let layout = tensor.layout();
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

/// Receives a tensor that another process sent. Everything in the message is checked against
/// the memory that came with it; who sent it is known from [`tenure_memory::share::peer`].
///
/// # Errors
/// If the other side is gone, the message is not one of ours, or the memory is not what it says.
/// Descriptors of a refused message are closed.
pub fn receive(socket: impl AsFd) -> Result<TensorDyn> {
    let message = share::receive(socket)?;
    let description = Description::decode(&message.body)?;
    let name = description.name.as_deref();
    let protection =
        if description.read_only { Protection::ReadOnly } else { Protection::AsAllowed };
    let mut buffers: SmallVec<[Buffer; 4]> = SmallVec::new();
    for fd in &message.descriptors {
        buffers.push(import(fd, 0, protection, name)?);
    }
    rebuild(&description, &buffers)
}

/// The tensor of a description over the memory that came with it.
fn rebuild(description: &Description, buffers: &[Buffer]) -> Result<TensorDyn> {
    let Description { dtype, shape, strides, offset, .. } = description;
    let layout = Layout::strided(*dtype, shape, strides, *offset)?;
    let planes = description.image.as_ref().map_or(1, |image| image.planes.len());
    let first = match buffers {
        [first] => first,
        [first, ..] if buffers.len() == planes => first,
        _ => {
            let reason = MessageFault::Descriptors { found: buffers.len(), expected: planes };
            return Err(tenure_memory::Error::Message { reason }.into());
        }
    };
    let mut tensor = match &description.image {
        Some(image) => rebuild_image(image, &layout, buffers)?,
        None => Tensor::from_buffer(first.clone(), layout)?,
    };
    tensor.set_colour(description.colour);
    tensor.set_quantization(description.quantization.clone())?;
    tensor.trim_to_span()
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
        Error::NotImageStrides { shape, strides, format: image.format }
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
