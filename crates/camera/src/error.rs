//! Everything that can go wrong with a camera, with the values that were wrong.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use tenure_layout::{ErrorKind, Remedy};

use crate::{detail, holders};

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there is no camera, no stream or no frame.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The device cannot be opened.
    #[error(transparent)]
    Open(Box<detail::Open>),
    /// The device can be opened but gives no frames.
    #[error(transparent)]
    NotACamera(Box<detail::NotACamera>),
    /// Somebody else is using the camera.
    #[error(transparent)]
    Busy(Box<detail::Busy>),
    /// The camera is gone.
    #[error("{} is gone: the camera was unplugged", path.display())]
    Unplugged {
        /// The path.
        path: PathBuf,
    },
    /// The camera does not have this format.
    #[error(transparent)]
    NoFormat(Box<detail::NoFormat>),
    /// The camera does not have this size.
    #[error(transparent)]
    NoSize(Box<detail::NoSize>),
    /// Letters that are no code.
    #[error("{word:?} is no four-character code (NV12, YUYV, GREY, MJPG, …)")]
    BadFourCc {
        /// The letters.
        word: String,
    },
    /// No frame came in time because the driver has no buffer to fill.
    #[error("no frame can come: all {held} buffers are held by the program; drop frames first")]
    Starved {
        /// Frames that are held.
        held: usize,
    },
    /// The stream is paused.
    #[error("the stream is paused{}", Remedy::ResumeCamera.clause())]
    Paused,
    /// The driver cannot export its buffers.
    #[error(transparent)]
    NoExport(Box<detail::NoExport>),
    /// The driver refuses to capture into memory from outside.
    #[error(transparent)]
    BufferRefused(Box<detail::BufferRefused>),
    /// Memory from outside that does not fit the frames.
    #[error(transparent)]
    BufferTooSmall(Box<detail::BufferTooSmall>),
    /// A tensor that frames cannot be captured into.
    #[error("frames cannot be captured into tensor {index}: {reason}")]
    BadBuffer {
        /// Which one.
        index: usize,
        /// Why.
        reason: &'static str,
    },
    /// Fewer buffers than the driver needs.
    #[error("{given} buffers were given, the driver needs {needed}")]
    TooFewBuffers {
        /// How many were given.
        given: usize,
        /// How many are needed.
        needed: usize,
    },
    /// No such control.
    #[error(transparent)]
    NoControl(Box<detail::NoControl>),
    /// A system call failed.
    #[error(transparent)]
    System(Box<detail::System>),
    /// The frame does not make a tensor.
    #[error(transparent)]
    Tensor(#[from] tenure_tensor::Error),
    /// The memory was refused.
    #[error(transparent)]
    Memory(#[from] tenure_memory::Error),
    /// The geometry was refused.
    #[error(transparent)]
    Layout(#[from] tenure_layout::Error),
}

impl Error {
    /// What the driver said, in words.
    pub(crate) fn driver(path: &Path, what: &'static str, errno: Errno) -> Error {
        let path = path.to_owned();
        match errno {
            Errno::NODEV | Errno::NXIO => Error::Unplugged { path },
            Errno::BUSY => {
                let holders = holders::of(&path);
                detail::Busy { path, what, holders }.into()
            }
            _ => detail::System { path, what, cause: errno.into() }.into(),
        }
    }

    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Tensor(error) => error.kind(),
            Error::Memory(error) => error.kind(),
            Error::Layout(error) => error.kind(),
            Error::Busy(_) | Error::Starved { .. } => ErrorKind::Busy,
            Error::Unplugged { .. } => ErrorKind::Closed,
            Error::NotACamera(_)
            | Error::NoFormat(_)
            | Error::NoSize(_)
            | Error::NoExport(_)
            | Error::BufferRefused(_) => ErrorKind::Unsupported,
            Error::NoControl(_) => ErrorKind::NotFound,
            Error::Open(_) | Error::System(_) => ErrorKind::System,
            Error::BadFourCc { .. }
            | Error::Paused
            | Error::BufferTooSmall(_)
            | Error::BadBuffer { .. }
            | Error::TooFewBuffers { .. } => ErrorKind::Invalid,
        }
    }

    /// What would help, where a call would.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Error::Tensor(error) => error.remedy(),
            Error::Memory(error) => error.remedy(),
            Error::Open(open) => detail::list_cameras(&open.cause),
            Error::BufferRefused(refused) => detail::other_memory(&refused.cause),
            Error::Paused => Some(Remedy::ResumeCamera),
            _ => None,
        }
    }

    /// The operating system's answer, if it is one. It is part of the text.
    pub fn os_error(&self) -> Option<&io::Error> {
        match self {
            Error::Tensor(error) => error.os_error(),
            Error::Memory(error) => error.os_error(),
            Error::Open(open) => Some(&open.cause),
            Error::NoExport(refused) => Some(&refused.cause),
            Error::BufferRefused(refused) => Some(&refused.cause),
            Error::System(system) => Some(&system.cause),
            _ => None,
        }
    }

    /// Whether another program has the camera, or this one all frames.
    pub fn is_busy(&self) -> bool {
        self.kind() == ErrorKind::Busy
    }

    /// Whether the camera is gone.
    pub fn is_unplugged(&self) -> bool {
        matches!(self, Error::Unplugged { .. })
    }
}
