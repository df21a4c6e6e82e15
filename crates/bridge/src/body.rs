//! The elements of a frame on their way: into a body, and out of it into a slot.

use std::borrow::Cow;
use std::io::Read;

use tenure_image::codec;
use tenure_layout::order;
use tenure_stream::Unfilled;
use tenure_tensor::TensorDyn;

use crate::packet::{Encoding, Fault, Head, is_photograph};
use crate::{Compression, Error, Result};

/// A body that came from somewhere: in pieces that are read one after the other, or as a whole.
pub trait Carried {
    /// Its bytes in one piece.
    fn whole(&self) -> Cow<'_, [u8]>;

    /// Its bytes one after the other.
    fn reader(&self) -> impl Read + '_;
}

impl Carried for [u8] {
    fn whole(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(self)
    }

    fn reader(&self) -> impl Read + '_ {
        self
    }
}

/// The body of a frame: its elements, little-endian. The head is told how the elements lie in it: what does not get smaller, or
/// cannot be such a file, stays as it is.
///
/// ```
/// use tenure_bridge::packet::Head;
/// use tenure_bridge::{Compression, pack, unpack};
/// use tenure_tensor::{DType, DynTensor, TensorDyn};
///
/// let zeros = TensorDyn::new(&[64, 64], DType::F32, None, None)?;
/// let mut head = Head::of(&zeros)?;
/// let body = pack(&zeros, &mut head, Compression::Lossless)?;
/// assert!(body.len() < 200 && head.bytes == 4 * 64 * 64);
/// unpack(&head, &body[..], &zeros)?;
/// # Ok::<(), tenure_bridge::Error>(())
/// ```
///
/// # Errors
/// If somebody writes the tensor, or its memory cannot be read.
pub fn pack(tensor: &TensorDyn, head: &mut Head, compression: Compression) -> Result<Vec<u8>> {
    if let Compression::Jpeg { quality } = compression
        && is_photograph(&head.description)
    {
        let mut file = vec![];
        codec::encode_jpeg(tensor, quality, &mut file)?;
        head.encoding = Encoding::Jpeg;
        return Ok(file);
    }
    head.encoding = Encoding::Plain;
    let mut flat = zeros(head.bytes)?;
    tensor.copy_to_flat(&mut flat)?;
    order::swap_little_endian(&mut flat, tensor.dtype());
    if compression == Compression::Lossless {
        let small = lz4_flex::block::compress(&flat);
        if small.len() < flat.len() {
            head.encoding = Encoding::Lz4;
            return Ok(small);
        }
    }
    Ok(flat)
}

/// Brings a body into a tensor as its head describes it.
///
/// # Errors
/// If the body is not what the head says, or the tensor is another or held by somebody. What the
/// tensor contains then is not defined.
pub fn unpack(head: &Head, body: &(impl Carried + ?Sized), tensor: &TensorDyn) -> Result<()> {
    if tensor.flat_bytes() != head.bytes {
        let (found, expected) = (tensor.flat_bytes() as u64, head.bytes as u64);
        return Err(Fault::Bytes { found, expected }.into());
    }
    match head.encoding {
        Encoding::Plain => fill(tensor, &mut body.reader()),
        Encoding::Lz4 => {
            if lies_together(tensor) {
                let mut map = tensor.map()?;
                decompress(&body.whole(), map.as_mut_slice())?;
                order::swap_little_endian(map.as_mut_slice(), tensor.dtype());
                return Ok(());
            }
            let mut flat = zeros(head.bytes)?;
            decompress(&body.whole(), &mut flat)?;
            fill(tensor, &mut &flat[..])
        }
        Encoding::Jpeg => {
            let file = body.whole();
            let found = codec::FileFormat::of_bytes(&file)?;
            if found != codec::FileFormat::Jpeg {
                return Err(Fault::Body(format!("it is {} and not jpeg", found.name())).into());
            }
            // Another handle to the same memory; what it learns about colours is not told.
            Ok(codec::decode_into(&file, &mut tensor.clone())?)
        }
    }
}

/// So many zeros, if there is memory for them.
fn zeros(bytes: usize) -> Result<Vec<u8>> {
    let mut zeros = vec![];
    zeros.try_reserve_exact(bytes).map_err(|_| Error::NoMemory { bytes })?;
    zeros.resize(bytes, 0);
    Ok(zeros)
}

fn decompress(from: &[u8], into: &mut [u8]) -> Result<()> {
    let expected = into.len() as u64;
    let answer = lz4_flex::block::decompress_into(from, into);
    let found = answer.map_err(|error| Fault::Body(error.to_string()))? as u64;
    if found == expected { Ok(()) } else { Err(Fault::Bytes { found, expected }.into()) }
}

/// Whether a tensor's elements without gaps are its memory as it is, which then needs no copy.
pub(crate) fn lies_together(tensor: &TensorDyn) -> bool {
    let together = tensor.image_layout().is_none_or(|layout| {
        let mut next = 0;
        layout.planes().iter().all(|plane| {
            let follows = plane.offset == next && plane.row_stride == plane.row_bytes;
            next = plane.offset.saturating_add(plane.row_bytes.saturating_mul(plane.rows));
            follows
        })
    });
    together
        && !tensor.is_multi_buffer()
        && tensor.is_contiguous()
        && tensor.size_bytes() == tensor.flat_bytes()
}

/// Reads a tensor's elements: planes and rows one after the other, without gaps between them.
fn fill(tensor: &TensorDyn, from: &mut impl Read) -> Result<()> {
    tenure_stream::fill(tensor, from).map_err(|unfilled| match unfilled {
        Unfilled::Read(error) => Fault::Body(error.to_string()).into(),
        Unfilled::Tensor(error) => error.into(),
    })
}
