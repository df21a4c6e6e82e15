//! Recordings that are being made.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tenure_layout::order;
use tenure_memory::available_memory;
use tenure_tensor::TensorDyn;

use super::line::Line;
use super::{Error, FRAMES, INDEX};
use crate::Frame;

/// A recording that is being made.
#[derive(Debug)]
pub struct Recorder {
    folder: PathBuf,
    frames: BufWriter<File>,
    index: BufWriter<File>,
    offset: u64,
    copy_limit: Option<u64>,
    flat: Vec<u8>,
}

/// A frame may take this part of the memory that is available, where no limit is set.
const SHARE: u64 = 4;
/// Frames up to this need not ask how much there is.
const SMALL: u64 = 16 << 20;

fn unwritten(path: PathBuf) -> impl FnOnce(io::Error) -> Error {
    move |cause| Error::Write { path, cause }
}

impl Recorder {
    /// Makes a folder that is not there yet, and an empty recording in it.
    ///
    /// # Errors
    /// If something of this name is there, or the system refuses.
    pub fn create(folder: &Path) -> Result<Recorder, Error> {
        match fs::create_dir(folder) {
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
                return Err(Error::Exists(folder.to_owned()));
            }
            made => made.map_err(unwritten(folder.to_owned()))?,
        }
        let open = |name| {
            let path = folder.join(name);
            File::create_new(&path).map(BufWriter::new).map_err(unwritten(path))
        };
        let (frames, index) = (open(FRAMES)?, open(INDEX)?);
        let (folder, copy_limit, flat) = (folder.to_owned(), None, vec![]);
        Ok(Recorder { folder, frames, index, offset: 0, copy_limit, flat })
    }

    /// At most so many bytes for the copy of a frame that is made on the way to the file [default: a
    /// quarter of the memory that is available when the frame comes]. How large frames are, the
    /// producer decides.
    pub fn set_copy_limit(&mut self, bytes: u64) {
        self.copy_limit = Some(bytes);
    }

    /// Adds a frame, and gives the bytes of its elements. They are written first, so that whoever
    /// knows of a frame has all of it.
    ///
    /// # Errors
    /// If the frame is larger than its memory, than the limit or than there is memory for, cannot be
    /// read, or the system refuses to write.
    pub fn add(&mut self, frame: &Frame) -> Result<u64, Error> {
        copy(frame.tensor(), self.copy_limit, &mut self.flat)?;
        let path = |name: &str| self.folder.join(name);
        self.frames
            .write_all(&self.flat)
            .and_then(|()| self.frames.flush())
            .map_err(unwritten(path(FRAMES)))?;
        let line = Line::new(frame, self.offset);
        let mut line = serde_json::to_vec(&line)
            .map_err(|cause| Error::Write { path: path(INDEX), cause: cause.into() })?;
        line.push(b'\n');
        self.index
            .write_all(&line)
            .and_then(|()| self.index.flush())
            .map_err(unwritten(path(INDEX)))?;
        let bytes = self.flat.len() as u64;
        self.offset += bytes;
        Ok(bytes)
    }
}

/// The elements without gaps, in a buffer that is used again.
fn copy(tensor: &TensorDyn, limit: Option<u64>, flat: &mut Vec<u8>) -> Result<(), Error> {
    let bytes = tensor.flat_bytes();
    let refuse = |reason| Error::Frame { bytes, reason };
    if bytes > memory(tensor)? {
        return Err(refuse("that is more than the memory that it came with"));
    }
    let wide = bytes as u64;
    if limit.is_some_and(|limit| wide > limit) {
        return Err(refuse("that is more than the limit that was set for a copy"));
    }
    // What an earlier frame took is there already.
    let asks = limit.is_none() && wide > SMALL && bytes > flat.capacity();
    if asks && available_memory().is_some_and(|available| wide > available / SHARE) {
        return Err(refuse("a copy would take more than a quarter of the available memory"));
    }
    if let Some(more) = bytes.checked_sub(flat.len()) {
        flat.try_reserve_exact(more).map_err(|_| refuse("there is no memory for a copy"))?;
    }
    flat.resize(bytes, 0);
    tensor.copy_to_flat(flat)?;
    order::swap_little_endian(flat, tensor.dtype());
    Ok(())
}

/// Bytes of a tensor's memory.
fn memory(tensor: &TensorDyn) -> Result<usize, Error> {
    let planes = match tensor.image_layout() {
        Some(layout) if tensor.is_multi_buffer() => layout.planes().len(),
        _ => return Ok(tensor.buffer().len()),
    };
    let mut bytes = 0usize;
    for plane in 0..planes {
        // Only compared with what the elements take.
        bytes = bytes.saturating_add(tensor.plane_buffer(plane)?.len());
    }
    Ok(bytes)
}
