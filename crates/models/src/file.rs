//! Model files by path: which format, and the graph in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::{Error, Graph, Result, onnx, tflite};

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
    let bytes = fs::read(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
    read_bytes(&bytes, dims)
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
