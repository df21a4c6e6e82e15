//! Why a tensor is not in a file, or a file has no tensors.

use std::io;
use std::path::Path;

use tenure_layout::{ErrorKind, Remedy};

use crate::detail;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why tensors could not be written, found or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The format has no such element type.
    #[error(transparent)]
    NoSuchType(Box<detail::NoSuchType>),
    /// A file that is not what its format asks for.
    #[error(transparent)]
    Damaged(Box<detail::Damaged>),
    /// Something went wrong with one file.
    #[error(transparent)]
    In(Box<detail::In>),
    /// A name of something that has no bytes to map.
    #[error("it is {found}: tensors are in regular files, and in folders with an index of them")]
    NotAFile {
        /// What it is.
        found: &'static str,
    },
    /// A file of no format that is known.
    #[error(
        "it begins with {begins}, which no format does: safetensors, gguf, npy and npz are known{}",
        Remedy::OpenRaw.clause()
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
    #[error(transparent)]
    NoSuchTensor(Box<detail::NoSuchTensor>),
    /// The name of a member that no tensor can be made of: see [`crate::TensorFile::refused`].
    #[error(transparent)]
    NoTensor(Box<detail::NoTensor>),
    /// A tensor that cannot be used where it lies in the file.
    #[error(transparent)]
    NotAView(Box<detail::NotAView>),
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
    /// Compressed tensors that are more than there is memory for.
    #[error(transparent)]
    Inflated(Box<detail::Inflated>),
    /// More bytes than can be counted.
    #[error("all {count} tensors together have more bytes than can be addressed ({})", isize::MAX)]
    TooLarge {
        /// How many tensors.
        count: usize,
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
    /// An alignment at which tensors cannot be loaded.
    #[error("the alignment must be a power of two up to {most} bytes, got {align}")]
    Align {
        /// What was asked for.
        align: usize,
        /// The largest that there is.
        most: usize,
    },
    /// Two tensors of one name.
    #[error("two tensors have the name `{name}`: names must differ")]
    TwoOfOneName {
        /// The name.
        name: String,
    },
    /// A name that says something else in this format.
    #[error(transparent)]
    ReservedName(Box<detail::ReservedName>),
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
            cause => detail::In { path: path.to_owned(), cause }.into(),
        }
    }

    /// What went wrong, without the path.
    pub fn cause(&self) -> &Error {
        match self {
            Error::In(file) => file.cause.cause(),
            other => other,
        }
    }

    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::In(file) => file.cause.kind(),
            Error::Tensor(error) => error.kind(),
            Error::NoSuchType(_) => ErrorKind::WrongType,
            Error::Damaged(_) | Error::UnknownFormat { .. } | Error::CutOff { .. } => {
                ErrorKind::Damaged
            }
            Error::NoSuchTensor(_) => ErrorKind::NotFound,
            Error::NoTensor(_) | Error::NotAView(_) | Error::NotAFile { .. } => {
                ErrorKind::Unsupported
            }
            Error::Open(_) | Error::Read { .. } | Error::Io(_) => ErrorKind::System,
            Error::Inflated(_) => ErrorKind::OutOfMemory,
            Error::Stopped { .. } => ErrorKind::Stopped,
            Error::UnknownWord { .. }
            | Error::TooLarge { .. }
            | Error::NoIndex { .. }
            | Error::Align { .. }
            | Error::TwoOfOneName { .. }
            | Error::ReservedName(_) => ErrorKind::Invalid,
        }
    }

    /// What would help, where a call would.
    pub fn remedy(&self) -> Option<Remedy> {
        match self.cause() {
            Error::Tensor(error) => error.remedy(),
            Error::UnknownFormat { .. } => Some(Remedy::OpenRaw),
            Error::NotAView(_) => Some(Remedy::LoadTensor),
            _ => None,
        }
    }

    /// The operating system's answer, if it is one. It is part of the text.
    pub fn os_error(&self) -> Option<&io::Error> {
        match self.cause() {
            Error::Tensor(error) => error.os_error(),
            Error::Read { cause, .. } | Error::Open(cause) | Error::Io(cause) => Some(cause),
            _ => None,
        }
    }

    /// Whether waiting or dropping a guard would help.
    pub fn is_busy(&self) -> bool {
        self.kind() == ErrorKind::Busy
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
