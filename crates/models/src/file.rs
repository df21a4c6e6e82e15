//! Model files by path: which format, and the graph in it.

use std::collections::BTreeMap;
use std::fs::File;
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
        Contents::TooMuch(what) => Err(Error::TooMany { what, most: MOST }),
    }
}

/// As much of a file as is needed.
enum Contents {
    Whole(Vec<u8>),
    Skeleton(onnx::Skeleton),
    /// More than is held, of what.
    TooMuch(&'static str),
}

fn contents(path: &Path) -> io::Result<Contents> {
    let mut file = File::open(path)?;
    let about = file.metadata()?;
    let mut start = Vec::new();
    file.by_ref().take(START).read_to_end(&mut start)?;
    let large = about.is_file() && about.len() > LARGE;
    if large && Format::of(&start) == Some(Format::Onnx) {
        let skeleton = onnx::skim(file, about.len(), onnx::SMALL, MOST as u64)?;
        let too_much = Contents::TooMuch("bytes besides weights");
        return Ok(skeleton.map_or(too_much, Contents::Skeleton));
    }
    // A pipe or a device may have no end.
    file.take(MOST as u64).read_to_end(&mut start)?;
    let all = start.len() <= MOST;
    Ok(if all { Contents::Whole(start) } else { Contents::TooMuch("bytes") })
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
