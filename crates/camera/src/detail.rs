//! What errors carry that would be too large to be returned in every `Result`: one struct for each
//! such variant of [`Error`].

use std::io;
use std::path::PathBuf;

use tenure_layout::{Clause, Remedy};

use crate::formats::size_words;
use crate::holders::{self, Holder};
use crate::{Error, FourCc, FrameSizes};

macro_rules! boxed {
    ($($name:ident),* $(,)?) => {$(
        impl From<$name> for Error {
            #[cold]
            fn from(detail: $name) -> Error {
                Error::$name(Box::new(detail))
            }
        }
    )*};
}

boxed!(
    BufferRefused,
    BufferTooSmall,
    Busy,
    NoControl,
    NoExport,
    NoFormat,
    NoSize,
    NotACamera,
    Open,
    System
);

/// The device cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot open {}: {cause}{}{}",
    path.display(),
    advice(cause),
    Clause::from(list_cameras(cause))
)]
pub struct Open {
    /// The path.
    pub path: PathBuf,
    /// The system's answer.
    pub cause: io::Error,
}

/// The device can be opened but gives no frames.
#[derive(Debug, thiserror::Error)]
#[error("{} is no camera: it is {found}", path.display())]
pub struct NotACamera {
    /// The path.
    pub path: PathBuf,
    /// What it is.
    pub found: &'static str,
}

/// Somebody else is using the camera.
#[derive(Debug, thiserror::Error)]
#[error("{} is busy ({what}): {}", path.display(), holders::words(holders))]
pub struct Busy {
    /// The path.
    pub path: PathBuf,
    /// What was tried.
    pub what: &'static str,
    /// Who has it open.
    pub holders: Vec<Holder>,
}

/// The camera does not have this format.
#[derive(Debug, thiserror::Error)]
#[error("{} has no format {wanted}; it has {}", path.display(), list(has))]
pub struct NoFormat {
    /// The path.
    pub path: PathBuf,
    /// What was asked for.
    pub wanted: FourCc,
    /// What there is.
    pub has: Vec<FourCc>,
}

/// The camera does not have this size.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} gives no {format} frames of {}x{}; the nearest are {}x{}{}",
    path.display(), wanted.0, wanted.1, nearest.0, nearest.1, size_words(has)
)]
pub struct NoSize {
    /// The path.
    pub path: PathBuf,
    /// The format.
    pub format: FourCc,
    /// Width and height asked for.
    pub wanted: (u32, u32),
    /// Width and height that the driver offers instead.
    pub nearest: (u32, u32),
    /// All sizes that it lists.
    pub has: Vec<FrameSizes>,
}

/// The driver cannot export its buffers.
#[derive(Debug, thiserror::Error)]
#[error("{} does not export its buffers as DMA-BUF: {cause}", path.display())]
pub struct NoExport {
    /// The path.
    pub path: PathBuf,
    /// The system's answer.
    pub cause: io::Error,
}

/// The driver refuses to capture into memory from outside.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} refuses to capture into this DMA-BUF: {cause}{}",
    path.display(), Clause::from(other_memory(cause))
)]
pub struct BufferRefused {
    /// The path.
    pub path: PathBuf,
    /// The system's answer.
    pub cause: io::Error,
}

/// Memory from outside that does not fit the frames.
#[derive(Debug, thiserror::Error)]
#[error("buffer {index} has {have} bytes for plane {plane}, the camera writes {need}")]
pub struct BufferTooSmall {
    /// Which buffer.
    pub index: usize,
    /// Which plane.
    pub plane: usize,
    /// Its bytes.
    pub have: usize,
    /// Bytes of the plane.
    pub need: usize,
}

/// No such control.
#[derive(Debug, thiserror::Error)]
#[error("{} has no control {name:?}", path.display())]
pub struct NoControl {
    /// The path.
    pub path: PathBuf,
    /// What was asked for.
    pub name: String,
}

/// A system call failed.
#[derive(Debug, thiserror::Error)]
#[error("{}: {what} failed: {cause}", path.display())]
pub struct System {
    /// The path.
    pub path: PathBuf,
    /// The call, in words.
    pub what: &'static str,
    /// The system's answer.
    pub cause: io::Error,
}

fn advice(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::PermissionDenied => {
            " (add the user to the group that owns it, usually video)"
        }
        _ => "",
    }
}

/// What would help where the device is not there.
pub(crate) fn list_cameras(cause: &io::Error) -> Option<Remedy> {
    (cause.kind() == io::ErrorKind::NotFound).then_some(Remedy::ListCameras)
}

/// What would help where a driver does not take memory from outside.
pub(crate) fn other_memory(cause: &io::Error) -> Option<Remedy> {
    let hardware = [libc::EFAULT, libc::EINVAL, libc::ENOMEM, libc::EIO];
    let number = cause.raw_os_error()?;
    hardware.contains(&number).then_some(Remedy::CaptureContiguous)
}

fn list(codes: &[FourCc]) -> String {
    if codes.is_empty() {
        return "none".to_owned();
    }
    codes.iter().map(FourCc::to_string).collect::<Vec<_>>().join(", ")
}
