//! Why a tensor is not in a file, or a file has no tensors.

use std::io;
use std::path::{Path, PathBuf};

use tenure_tensor::DType;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why tensors could not be written, found or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The format has no such element type.
    #[error("{format} files have no element type {dtype}: {instead}")]
    NoSuchType {
        /// The format: `npy`.
        format: &'static str,
        /// The element type.
        dtype: DType,
        /// What would do.
        instead: &'static str,
    },
    /// A file that is not what its format asks for.
    #[error("the {format} file {what}")]
    Damaged {
        /// The format: `npy`.
        format: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// Something went wrong with one file.
    #[error("{}: {cause}", path.display())]
    In {
        /// The file.
        path: PathBuf,
        /// What; part of the text, so no source besides.
        cause: Box<Error>,
    },
    /// A name of something that has no bytes to map.
    #[error("it is {found}: tensors are in regular files, and in folders with an index of them")]
    NotAFile {
        /// What it is.
        found: &'static str,
    },
    /// A file of no format that is known.
    #[error(
        "it begins with {begins}, which no format does: safetensors, gguf, npy and npz are known; \
         open_raw() takes any file if it is told the element type and the shape"
    )]
    UnknownFormat {
        /// Its first bytes, in words.
        begins: String,
    },
    /// A word that names no format.
    #[error("unknown format {word:?}: known are safetensors, gguf, npy, npz, raw")]
    UnknownWord {
        /// The word.
        word: String,
    },
    /// A folder in which no index says where tensors are.
    #[error(
        "the folder has {found}: one file that ends in .safetensors.index.json says where tensors \
         are, or there is one safetensors file alone"
    )]
    NoIndex {
        /// What is in it.
        found: String,
    },
    /// A name that no tensor of the file has.
    #[error("there is no tensor `{name}` among {count}{}", near_words(near))]
    NoSuchTensor {
        /// The name.
        name: String,
        /// How many tensors there are.
        count: usize,
        /// A name that there is and that is nearly the same.
        near: Option<String>,
    },
    /// The name of a member that no tensor can be made of: see [`crate::TensorFile::refused`].
    #[error("no tensor can be made of `{name}`: {why}")]
    NoTensor {
        /// The name.
        name: String,
        /// Why not.
        why: String,
    },
    /// A tensor that cannot be used where it lies in the file.
    #[error("tensor `{name}` is no view of its file: {why}; load() puts it into memory")]
    NotAView {
        /// The tensor.
        name: String,
        /// Why not.
        why: &'static str,
    },
    /// Bytes that were there when the file was opened and are not now.
    #[error("byte {at} is gone: {had} bytes were there when it was opened, someone has cut it off")]
    CutOff {
        /// The first byte of what was asked for.
        at: u64,
        /// How many bytes there were.
        had: u64,
    },
    /// Bytes that cannot be read.
    #[error("byte {at} cannot be read: {cause}")]
    Read {
        /// The first byte of what was asked for.
        at: u64,
        /// The system's answer; part of the text, so no source besides.
        cause: io::Error,
    },
    /// The file cannot be opened.
    #[error("it cannot be opened: {0}")]
    Open(io::Error),
    /// The progress callback said that it is enough.
    #[error("loading was stopped after {done} of {all} bytes; nothing was loaded")]
    Stopped {
        /// Bytes that had been read.
        done: u64,
        /// Bytes that were asked for.
        all: u64,
    },
    /// Two tensors of one name.
    #[error("two tensors have the name `{name}`: names must differ")]
    TwoOfOneName {
        /// The name.
        name: String,
    },
    /// A name that says something else in this format.
    #[error("no tensor of a {format} file can have the name `{name}`")]
    ReservedName {
        /// The format.
        format: &'static str,
        /// The name.
        name: String,
    },
    /// Whoever takes the bytes takes no more.
    #[error("the bytes cannot be written: {0}")]
    Io(#[from] io::Error),
    /// The tensor cannot be read or made.
    #[error(transparent)]
    Tensor(#[from] tenure_tensor::Error),
}

impl Error {
    /// With the path of the file that it is about.
    pub(crate) fn at(self, path: &Path) -> Error {
        match self {
            Error::In { .. } => self,
            cause => Error::In { path: path.to_owned(), cause: Box::new(cause) },
        }
    }

    /// What went wrong, without the path.
    pub fn cause(&self) -> &Error {
        match self {
            Error::In { cause, .. } => cause.cause(),
            other => other,
        }
    }
}

impl From<tenure_memory::Error> for Error {
    fn from(error: tenure_memory::Error) -> Error {
        Error::Tensor(error.into())
    }
}

impl From<tenure_layout::Error> for Error {
    fn from(error: tenure_layout::Error) -> Error {
        Error::Tensor(error.into())
    }
}

fn near_words(near: &Option<String>) -> String {
    near.as_ref().map_or_else(String::new, |near| format!("; there is `{near}`"))
}
