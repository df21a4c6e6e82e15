//! The picture that is converted, from a file of any known sort or from a camera.

use std::io::{self, Write};
use std::path::Path;

use tenure::image::{self, codec};
use tenure::layout::order;
use tenure::{DType, DynTensor, ImageLayout, PixelFormat, TensorDyn, TensorMemory, files};

use super::words::RawFrame;
use super::{Problem, camera};
use crate::input;

const HEAP: Option<TensorMemory> = Some(TensorMemory::Mem);

/// Reads a picture: what it is tells its content, not its name.
pub(super) fn read(path: &Path, from: Option<RawFrame>) -> Result<TensorDyn, Problem> {
    if camera::is_one(path) {
        if from.is_some() {
            let (option, for_what) = ("--from", "files; a camera says what it sends");
            return Err(Problem::OptionFor { option, for_what });
        }
        let frame = camera::frame(path)?;
        return if frame.format().is_some() {
            Ok(frame)
        } else {
            // What is no pixels is JPEG, or cannot be shown.
            decode(path, frame.map_read()?.as_slice())
        };
    }
    let bytes = bytes(path)?;
    let array = bytes.starts_with(b"\x93NUMPY");
    match (from, array) {
        (None, false) => decode(path, &bytes),
        (Some(frame), false) => raw(path, frame, &bytes),
        (None, true) => picture(path, npy(path, &bytes)?),
        (Some(frame), true) => raw_array(path, frame, &npy(path, &bytes)?),
    }
}

fn bytes(path: &Path) -> Result<Vec<u8>, Problem> {
    let read = || -> io::Result<Vec<u8>> {
        #[cfg(unix)]
        if input::pipe::is_one(path) {
            // Signals end the command as ever: nothing listens for them.
            let pipe = input::pipe::Pipe::open(path, || false)?;
            return input::read_all(pipe, input::MOST_PICTURE);
        }
        input::bytes(path, input::MOST_PICTURE)
    };
    read().map_err(|cause| Problem::Read { path: path.to_owned(), cause })
}

fn decode(path: &Path, bytes: &[u8]) -> Result<TensorDyn, Problem> {
    if codec::more_follow(bytes) {
        // Whether or not anybody reads it.
        let _ = writeln!(
            anstream::stderr(),
            "note: {} has more pictures after the first, which is the one that is taken; `tenure \
             run` publishes all of them",
            path.display()
        );
    }
    let path = path.to_owned();
    codec::decode(bytes, HEAP).map_err(|cause| match cause {
        image::Error::NoPicture { .. } => Problem::NoPicture { path, cause },
        other => Problem::Damaged { path, cause: other.into() },
    })
}

fn npy(path: &Path, bytes: &[u8]) -> Result<TensorDyn, Problem> {
    let failed =
        |cause: files::Error| Problem::Damaged { path: path.to_owned(), cause: cause.into() };
    files::npy::read(bytes, HEAP).map_err(failed)
}

/// The pixels of a frame, planes and all, without padding; samples of two bytes are little-endian.
fn raw(path: &Path, frame: RawFrame, bytes: &[u8]) -> Result<TensorDyn, Problem> {
    let packed = layout(frame)?;
    let need = packed.packed_bytes();
    if need != bytes.len() {
        return Err(wrong_size(path, frame, bytes.len(), need));
    }
    let tensor = blank(&packed)?;
    {
        let mut map = tensor.map()?;
        let mut rest = bytes;
        for plane in packed.planes() {
            // Rows of odd sizes are further apart in a tensor than in the file.
            let rows = map.as_mut_slice().get_mut(plane.offset..).unwrap_or_default();
            let (own, after) = rest.split_at(plane.row_bytes * plane.rows);
            for (to, from) in rows.chunks_mut(plane.row_stride).zip(own.chunks(plane.row_bytes)) {
                if let Some(to) = to.get_mut(..from.len()) {
                    to.copy_from_slice(from);
                    order::swap_little_endian(to, packed.dtype());
                }
            }
            rest = after;
        }
    }
    Ok(tensor)
}

/// The same out of an array: all planes together in the array's rows, as they are written, or
/// one after another.
fn raw_array(path: &Path, frame: RawFrame, array: &TensorDyn) -> Result<TensorDyn, Problem> {
    let packed = layout(frame)?;
    let shape = packed.tensor_layout().map_err(tenure::tensor::Error::from)?;
    if array.shape() != shape.shape() || array.dtype() != packed.dtype() {
        let mut bytes = array.map_read()?.as_slice().to_vec();
        order::swap_little_endian(&mut bytes, array.dtype());
        return raw(path, frame, &bytes);
    }
    let tensor = blank(&packed)?;
    tensor.map()?.as_mut_slice().copy_from_slice(array.map_read()?.as_slice());
    Ok(tensor)
}

fn layout(frame: RawFrame) -> Result<ImageLayout, Problem> {
    let RawFrame { format, size } = frame;
    let dtype = if format == PixelFormat::P010 { DType::U16 } else { DType::U8 };
    let (width, height) = (size.width as usize, size.height as usize);
    Ok(ImageLayout::new(width, height, format, dtype, None).map_err(tenure::tensor::Error::from)?)
}

fn blank(like: &ImageLayout) -> Result<TensorDyn, Problem> {
    let (width, height, format) = (like.width(), like.height(), like.format());
    Ok(TensorDyn::image(width, height, format, like.dtype(), HEAP, None)?)
}

fn wrong_size(path: &Path, frame: RawFrame, have: usize, need: usize) -> Problem {
    let RawFrame { format, size } = frame;
    let (path, width, height) = (path.to_owned(), size.width, size.height);
    Problem::RawSize { path, have, need, format, width, height }
}

/// An array as a picture.
fn picture(path: &Path, mut array: TensorDyn) -> Result<TensorDyn, Problem> {
    let format = match (array.dtype(), array.shape()) {
        (DType::U8, [_, _] | [_, _, 1]) => Some(PixelFormat::Grey),
        (DType::U8, [_, _, 3]) => Some(PixelFormat::Rgb),
        (DType::U8, [_, _, 4]) => Some(PixelFormat::Rgba),
        (DType::U8, [3, _, _]) => Some(PixelFormat::PlanarRgb),
        (DType::U8, [4, _, _]) => Some(PixelFormat::PlanarRgba),
        _ => None,
    };
    let wrong = || {
        let (dtype, shape) = (array.dtype(), array.shape().to_vec());
        Problem::Array { path: path.to_owned(), dtype, shape }
    };
    let Some(format) = format.filter(|_| !array.is_empty()) else { return Err(wrong()) };
    array.set_format(format)?;
    Ok(array)
}
