//! Model files by path: which format, and the graph in it.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;

use crate::{Error, Graph, Result, onnx, tflite};

/// Bytes that tell the format.
const START: u64 = 8;
/// A file with more bytes is read without its weights.
const LARGE: u64 = 1 << 20;
/// The most bytes that are held of a file, which is what TFLite can address.
const MOST: usize = 1 << 31;

/// A format of model files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Open Neural Network Exchange: a protocol buffer.
    Onnx,
    /// TensorFlow Lite: a flatbuffer.
    Tflite,
}

impl Format {
    /// The format of a file that begins with these bytes.
    pub fn of(bytes: &[u8]) -> Option<Format> {
        if bytes.get(4..8) == Some(b"TFL3") {
            return Some(Format::Tflite);
        }
        // A model begins with a low field number, usually its version (field 1, a number).
        let first = *bytes.first()?;
        let wire = matches!(first & 7, 0 | 2);
        (wire && matches!(first >> 3, 1..=8)).then_some(Format::Onnx)
    }
}

/// The graph of a model file, whichever format it has. `dims` is for ONNX: values of symbolic
/// dimensions, by name.
///
/// # Errors
///
/// What is wrong with the file.
pub fn read(path: &Path, dims: &BTreeMap<String, u64>) -> Result<Graph> {
    match contents(path).map_err(|cause| Error::Io { path: path.to_owned(), cause })? {
        Contents::Whole(bytes) => read_bytes(&bytes, dims),
        Contents::Skeleton(skeleton) => onnx::read_skeleton(&skeleton, dims),
        Contents::TooMuch(what, most) => Err(Error::TooMany { what, most }),
    }
}

/// As much of a file as is needed.
enum Contents {
    Whole(Vec<u8>),
    Skeleton(onnx::Skeleton),
    /// More than can be held, of what, and how much that is.
    TooMuch(&'static str, usize),
}

fn contents(path: &Path) -> io::Result<Contents> {
    // Neither a pipe without a writer nor a device keeps anybody waiting.
    let (mut file, len) = tenure_memory::regular::open(path)?;
    let mut start = Vec::new();
    file.by_ref().take(START).read_to_end(&mut start)?;
    // What is of no format needs no more of itself to say so.
    let Some(format) = Format::of(&start) else { return Ok(Contents::Whole(start)) };
    // The graph takes memory, too.
    let free = tenure_memory::available_memory()
        .map_or(usize::MAX, |bytes| usize::try_from(bytes / 2).unwrap_or(usize::MAX));
    let most = MOST.min(free);
    if len > LARGE && format == Format::Onnx {
        let skeleton = onnx::skim(file, len, onnx::SMALL, most as u64)?;
        let too_much = Contents::TooMuch("bytes besides weights", most);
        return Ok(skeleton.map_or(too_much, Contents::Skeleton));
    }
    let rest = len.saturating_sub(start.len() as u64);
    let Some(room) = usize::try_from(rest).ok().filter(|_| len <= most as u64) else {
        return Ok(Contents::TooMuch("bytes", most));
    };
    start.try_reserve_exact(room).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    // What somebody adds meanwhile is not read.
    file.take(rest).read_to_end(&mut start)?;
    Ok(Contents::Whole(start))
}

/// The graph of a model in memory.
///
/// # Errors
///
/// What is wrong with the file.
pub fn read_bytes(bytes: &[u8], dims: &BTreeMap<String, u64>) -> Result<Graph> {
    match Format::of(bytes) {
        Some(Format::Onnx) => onnx::read(bytes, dims),
        Some(Format::Tflite) if dims.is_empty() => tflite::read(bytes),
        Some(Format::Tflite) => {
            Err(Error::DimsUnknown { names: dims.keys().cloned().collect(), has: Vec::new() })
        }
        None => Err(Error::UnknownFormat),
    }
}
