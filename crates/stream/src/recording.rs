//! Recordings of streams: a folder with the frames one after the other in `frames.bin`, their
//! elements little-endian, and a line of JSON for each in `index.jsonl`. Both only grow, so that what was recorded can be read whatever
//! ended it.
//!
//! Nothing in a recording is believed before it is checked: it may come from anybody. Reading one
//! takes the memory of one line, however long the index is.
//!
//! ```
//! use std::time::Duration;
//! use tenure_stream::recording::{Recorder, Recording};
//! use tenure_stream::{Meta, Publisher, Spec, Subscriber};
//! use tenure_tensor::DType;
//!
//! # let directory = tempfile::tempdir()?;
//! # let here = directory.path();
//! # let folder = here.join("kept");
//! let spec = Spec::tensor(DType::U8, &[4])?;
//! let mut publisher = Publisher::builder("numbers")
//! #    .directory(here)
//!     .spec(spec.clone())
//!     .open()?;
//! let mut subscriber = Subscriber::builder("numbers")
//! #    .directory(here)
//!     .open()?;
//! let mut recorder = Recorder::create(&folder)?;
//! publisher.claim()?.publish(Meta::new().blob(b"first"))?;
//! if let Some(frame) = subscriber.next(Duration::from_secs(1))? {
//!     recorder.add(&frame)?;
//! }
//!
//! let mut recording = Recording::open(&folder)?;
//! let entry = recording.next()?.expect("a frame was recorded");
//! assert_eq!((entry.spec(), entry.blob()), (&spec, &b"first"[..]));
//! # drop(subscriber);
//! let slot = publisher.claim_as(entry.spec())?;
//! recording.read(&entry, slot.tensor())?;
//! slot.publish(Meta::new().blob(entry.blob()))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod entry;
mod line;
mod reader;
mod writer;

#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;

pub use entry::Entry;
pub use reader::Recording;
pub use writer::Recorder;

/// The file of the frames.
pub const FRAMES: &str = "frames.bin";
/// The file of the lines.
pub const INDEX: &str = "index.jsonl";
/// The longest line of an index. Blobs and descriptions of frames have limits, and four letters for
/// each of their bytes are enough.
pub const LONGEST_LINE: usize = 256 << 10;

/// Why there is no recording, or no frame of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Something is there where the folder should be made.
    #[error("{} is there already: name another folder", .0.display())]
    Exists(PathBuf),
    /// A file that cannot be written.
    #[error("{} cannot be written: {cause}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        cause: io::Error,
    },
    /// A file that cannot be read, or is no regular file.
    #[error("{} cannot be read: {cause}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        cause: io::Error,
    },
    /// A frame that cannot be recorded: more bytes than its memory, or than there is memory for.
    #[error("a frame of {bytes} bytes cannot be recorded: {reason}")]
    Frame {
        /// Bytes of its elements.
        bytes: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A line that makes no sense.
    #[error("{}: line {number}: {reason}", path.display())]
    Line {
        /// The index.
        path: PathBuf,
        /// The line, counted from 1.
        number: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// An index without a frame.
    #[error("{}: there is no frame in it", .0.display())]
    Empty(PathBuf),
    /// A frame that is not there any more, or a tensor that cannot hold it.
    #[error("{}: {reason}", path.display())]
    Damaged {
        /// The file of the frames.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A tensor was refused.
    #[error(transparent)]
    Tensor(#[from] tenure_tensor::Error),
}

impl Error {
    /// What sort of error it is.
    pub fn kind(&self) -> tenure_layout::ErrorKind {
        use tenure_layout::ErrorKind;
        match self {
            Error::Exists(_) => ErrorKind::Exists,
            Error::Write { .. } | Error::Read { .. } => ErrorKind::System,
            Error::Frame { .. } => ErrorKind::Invalid,
            Error::Line { .. } | Error::Empty(_) | Error::Damaged { .. } => ErrorKind::Damaged,
            Error::Tensor(error) => error.kind(),
        }
    }
}
