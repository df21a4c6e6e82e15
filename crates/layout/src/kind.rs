//! The sorts of errors: one list for every crate and every language.

use std::fmt;

/// What sort of error it is: what a program can decide by, without knowing every error.
///
/// Every error type of every crate has `kind()`. The C library's status codes and the exception
/// classes of Python are made from it.
///
/// ```
/// use tenure_layout::{DType, ErrorKind};
/// let error = "float".parse::<DType>().unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Invalid);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A value is wrong: a shape, a code, a region, a word.
    Invalid,
    /// An element type that this cannot be done with.
    WrongType,
    /// Someone uses the bytes, the slot or the device in a way that excludes what was asked:
    /// release that, or wait.
    Busy,
    /// The bytes are read-only.
    ReadOnly,
    /// It makes sense, but not for this: a descriptor of heap memory, a slice of strided elements.
    Unsupported,
    /// The memory, engine or device does not exist on this machine or in this build.
    Unavailable,
    /// There is no room for so many bytes.
    OutOfMemory,
    /// Nothing has this name or number.
    NotFound,
    /// Something has this name already.
    Exists,
    /// A file or a message is not what its format asks for, or has lost bytes.
    Damaged,
    /// The other side closed the connection, or the stream has ended.
    Closed,
    /// The producer of a stream disconnected this consumer, which held its frames for too long.
    Evicted,
    /// The other side refused, or is not trusted.
    Refused,
    /// The other side, or the camera, did not answer in time.
    NoAnswer,
    /// It was made before this process was forked off, and stays the other process's: make it here.
    Forked,
    /// A callback asked to stop.
    Stopped,
    /// The operating system refused.
    System,
}

impl ErrorKind {
    /// Every kind.
    pub const ALL: [ErrorKind; 17] = [
        ErrorKind::Invalid,
        ErrorKind::WrongType,
        ErrorKind::Busy,
        ErrorKind::ReadOnly,
        ErrorKind::Unsupported,
        ErrorKind::Unavailable,
        ErrorKind::OutOfMemory,
        ErrorKind::NotFound,
        ErrorKind::Exists,
        ErrorKind::Damaged,
        ErrorKind::Closed,
        ErrorKind::Evicted,
        ErrorKind::Refused,
        ErrorKind::NoAnswer,
        ErrorKind::Forked,
        ErrorKind::Stopped,
        ErrorKind::System,
    ];

    /// The kind in a few words.
    pub const fn words(self) -> &'static str {
        match self {
            ErrorKind::Invalid => "invalid value",
            ErrorKind::WrongType => "wrong element type",
            ErrorKind::Busy => "busy",
            ErrorKind::ReadOnly => "read-only",
            ErrorKind::Unsupported => "not supported",
            ErrorKind::Unavailable => "not available",
            ErrorKind::OutOfMemory => "out of memory",
            ErrorKind::NotFound => "not found",
            ErrorKind::Exists => "exists already",
            ErrorKind::Damaged => "damaged",
            ErrorKind::Closed => "closed",
            ErrorKind::Evicted => "evicted",
            ErrorKind::Refused => "refused",
            ErrorKind::NoAnswer => "no answer",
            ErrorKind::Forked => "from before a fork",
            ErrorKind::Stopped => "stopped",
            ErrorKind::System => "system error",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.words())
    }
}
