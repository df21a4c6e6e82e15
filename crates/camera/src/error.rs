//! Everything that can go wrong with a camera, with the values that were wrong.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;

use crate::formats::size_words;
use crate::holders::{self, Holder};
use crate::{FourCc, FrameSizes};

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there is no camera, no stream or no frame.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The device cannot be opened.
    #[error("cannot open {}: {cause}{}", path.display(), advice(cause))]
    Open {
        /// The path.
        path: PathBuf,
        /// The system's answer.
        cause: io::Error,
    },
    /// The device can be opened but gives no frames.
    #[error("{} is no camera: it is {found}", path.display())]
    NotACamera {
        /// The path.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// Somebody else is using the camera.
    #[error("{} is busy ({what}): {}", path.display(), holders::words(holders))]
    Busy {
        /// The path.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// Who has it open.
        holders: Vec<Holder>,
    },
    /// The camera is gone.
    #[error("{} is gone: the camera was unplugged", path.display())]
    Unplugged {
        /// The path.
        path: PathBuf,
    },
    /// The camera does not have this format.
    #[error("{} has no format {wanted}; it has {}", path.display(), list(has))]
    NoFormat {
        /// The path.
        path: PathBuf,
        /// What was asked for.
        wanted: FourCc,
        /// What there is.
        has: Vec<FourCc>,
    },
    /// The camera does not have this size.
    #[error(
        "{} gives no {format} frames of {}x{}; the nearest are {}x{}{}",
        path.display(), wanted.0, wanted.1, nearest.0, nearest.1, size_words(has)
    )]
    NoSize {
        /// The path.
        path: PathBuf,
        /// The format.
        format: FourCc,
        /// Width and height asked for.
        wanted: (u32, u32),
        /// Width and height that the driver offers instead.
        nearest: (u32, u32),
        /// All sizes that it lists.
        has: Vec<FrameSizes>,
    },
    /// Letters that are no code.
    #[error("{word:?} is no four-character code (NV12, YUYV, GREY, MJPG, …)")]
    BadFourCc {
        /// The letters.
        word: String,
    },
    /// No frame came in time.
    #[error("no frame came within {after:?}")]
    Timeout {
        /// How long was waited.
        after: Duration,
    },
    /// No frame came in time because the driver has no buffer to fill.
    #[error("no frame can come: all {held} buffers are held by the program; drop frames first")]
    Starved {
        /// Frames that are held.
        held: usize,
    },
    /// The stream is paused.
    #[error("the stream is paused: call resume() first")]
    Paused,
    /// The driver cannot export its buffers.
    #[error("{} does not export its buffers as DMA-BUF: {cause}", path.display())]
    NoExport {
        /// The path.
        path: PathBuf,
        /// The system's answer.
        cause: io::Error,
    },
    /// The driver refuses to capture into memory from outside.
    #[error(
        "{} refuses to capture into this DMA-BUF: {cause}{}",
        path.display(), refusal_words(cause)
    )]
    BufferRefused {
        /// The path.
        path: PathBuf,
        /// The system's answer.
        cause: io::Error,
    },
    /// Memory from outside that does not fit the frames.
    #[error("buffer {index} has {have} bytes for plane {plane}, the camera writes {need}")]
    BufferTooSmall {
        /// Which buffer.
        index: usize,
        /// Which plane.
        plane: usize,
        /// Its bytes.
        have: usize,
        /// Bytes of the plane.
        need: usize,
    },
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
    #[error("{} has no control {name:?}", path.display())]
    NoControl {
        /// The path.
        path: PathBuf,
        /// What was asked for.
        name: String,
    },
    /// A system call failed.
    #[error("{}: {what} failed: {cause}", path.display())]
    System {
        /// The path.
        path: PathBuf,
        /// The call, in words.
        what: &'static str,
        /// The system's answer.
        cause: io::Error,
    },
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
                Error::Busy { path, what, holders }
            }
            _ => Error::System { path, what, cause: errno.into() },
        }
    }

    /// Whether waiting longer could help.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Error::Timeout { .. } | Error::Starved { .. })
    }

    /// Whether the camera is gone.
    pub fn is_unplugged(&self) -> bool {
        matches!(self, Error::Unplugged { .. })
    }
}

fn advice(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::PermissionDenied => {
            " (add the user to the group that owns it, usually video)"
        }
        io::ErrorKind::NotFound => " (list what there is with tenure_camera::cameras())",
        _ => "",
    }
}

fn refusal_words(cause: &io::Error) -> &'static str {
    match cause.raw_os_error() {
        Some(libc::EFAULT | libc::EINVAL | libc::ENOMEM | libc::EIO) => {
            " (its hardware may need contiguous memory: take a CMA heap such as \
             Source::Heap(\"reserved\"), or let the driver export its own buffers)"
        }
        _ => "",
    }
}

fn list(codes: &[FourCc]) -> String {
    if codes.is_empty() {
        return "none".to_owned();
    }
    codes.iter().map(FourCc::to_string).collect::<Vec<_>>().join(", ")
}
