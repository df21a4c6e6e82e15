//! Recordings that are being made.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tenure_layout::order;
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
    flat: Vec<u8>,
}

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
        Ok(Recorder { folder: folder.to_owned(), frames, index, offset: 0, flat: vec![] })
    }

    /// Adds a frame, and gives the bytes of its elements. They are written first, so that whoever
    /// knows of a frame has all of it.
    ///
    /// # Errors
    /// If the frame is larger than its memory or than there is memory for, cannot be read, or the
    /// system refuses to write.
    pub fn add(&mut self, frame: &Frame) -> Result<u64, Error> {
        copy(frame.tensor(), &mut self.flat)?;
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
fn copy(tensor: &TensorDyn, flat: &mut Vec<u8>) -> Result<(), Error> {
    let bytes = tensor.flat_bytes();
    let refuse = |reason| Error::Frame { bytes, reason };
    if bytes > memory(tensor)? {
        return Err(refuse("that is more than the memory that it came with"));
    }
    let more = bytes.saturating_sub(flat.len());
    flat.try_reserve_exact(more).map_err(|_| refuse("there is no memory for a copy"))?;
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
        bytes = bytes.saturating_add(tensor.plane_buffer(plane)?.len());
    }
    Ok(bytes)
}
