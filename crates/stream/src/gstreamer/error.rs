//! Why GStreamer cannot have a stream.

use std::io;
use std::path::PathBuf;

use tenure_layout::{DType, ErrorKind, PixelFormat, Remedy};

/// Why GStreamer cannot have a stream.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The stream said no, or ended.
    #[error(transparent)]
    Stream(#[from] crate::Error),
    /// The socket cannot be made.
    #[error("the socket {} cannot be made: {cause}", path.display())]
    Socket {
        /// Its path.
        path: PathBuf,
        /// The system's answer.
        cause: io::Error,
    },
    /// Somebody listens there.
    #[error("somebody listens at {} already: name another socket", .0.display())]
    Taken(PathBuf),
    /// A system call failed.
    #[error("{what} failed: {cause}")]
    System {
        /// The call, in words.
        what: &'static str,
        /// The system's answer.
        cause: io::Error,
    },
    /// Frames that are no images.
    #[error(
        "frames of stream `{name}` are no images ({dtype} {shape:?}): GStreamer gets \
         video/x-raw only"
    )]
    NoImage {
        /// The stream.
        name: String,
        /// Its elements.
        dtype: DType,
        /// Its shape.
        shape: Vec<usize>,
    },
    /// Images that GStreamer has no name for.
    #[error(
        "frames of stream `{name}` are {format} of {dtype}, which GStreamer has no video format \
         for: convert them to nv12 or rgb of u8, say"
    )]
    NoFormat {
        /// The stream.
        name: String,
        /// Its format.
        format: PixelFormat,
        /// Its elements.
        dtype: DType,
    },
    /// Rows that lie elsewhere than GStreamer expects them.
    #[error(
        "frames of stream `{name}` ({format} {width}x{height}) do not lie as GStreamer expects \
         them: plane {plane} is at {offset} with rows {stride} bytes apart, not at {usual_offset} \
         with {usual_stride}; only elements that know GstVideoMeta can read that{}",
        Remedy::AllowVideoMeta.clause()
    )]
    Layout {
        /// The stream.
        name: String,
        /// Its format.
        format: PixelFormat,
        /// Pixels across.
        width: usize,
        /// Pixels down.
        height: usize,
        /// The first plane that lies elsewhere.
        plane: usize,
        /// Where it begins, in bytes.
        offset: usize,
        /// Bytes between its rows.
        stride: usize,
        /// Where GStreamer expects it.
        usual_offset: usize,
        /// Bytes between rows that GStreamer expects.
        usual_stride: usize,
    },
    /// Planes in memories of several kinds.
    #[error(
        "of the {memories} memories of a frame of stream `{name}` {dmabuf} are DMA-BUFs: GStreamer \
         wants all of them to be, or none"
    )]
    Mixed {
        /// The stream.
        name: String,
        /// How many memories are DMA-BUFs.
        dmabuf: usize,
        /// How many there are.
        memories: usize,
    },
}

impl Error {
    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Stream(error) => error.kind(),
            Error::Socket { .. } | Error::System { .. } => ErrorKind::System,
            Error::Taken(_) => ErrorKind::Exists,
            Error::NoImage { .. }
            | Error::NoFormat { .. }
            | Error::Layout { .. }
            | Error::Mixed { .. } => ErrorKind::Unsupported,
        }
    }

    /// What would help, where a call would.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Error::Stream(error) => error.remedy(),
            Error::Layout { .. } => Some(Remedy::AllowVideoMeta),
            _ => None,
        }
    }
}
