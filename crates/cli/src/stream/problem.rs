//! Why nothing came of a stream: one line each, with what would help.

use std::path::PathBuf;
use std::time::Duration;

use tenure::DType;
use tenure::stream::{self, recording};

use crate::page::for_people;

/// Why nothing came of a stream.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// The stream said no.
    #[error("{}", for_people(&.0.to_string()))]
    Stream(stream::Error),
    /// GStreamer cannot have it.
    #[error("{}", for_people(&.0.to_string()))]
    GStreamer(stream::gstreamer::Error),
    /// There is no such stream.
    #[error("nobody publishes stream `{name}`: {}", streams_words(there))]
    NoStream {
        /// What was asked for.
        name: String,
        /// The streams that there are.
        there: Vec<String>,
    },
    /// It was told to end before a producer answered.
    #[error("stream `{0}`: told to end before a producer answered")]
    Unanswered(String),
    /// A tensor was refused.
    #[error(transparent)]
    Tensor(#[from] tenure::tensor::Error),
    /// No frame came.
    #[error("stream `{name}` gave no frame within {} s: is its producer stuck?", after.as_secs_f64())]
    NoFrame {
        /// The stream.
        name: String,
        /// How long it was waited for.
        after: Duration,
    },
    /// A name that does not tell what to write.
    #[error(transparent)]
    Convert(#[from] crate::convert::Problem),
    /// What is no picture.
    #[error("frames of `{name}` are no pictures ({dtype} {shape:?}): write .npy or .raw")]
    NoPicture {
        /// The stream.
        name: String,
        /// Its elements.
        dtype: DType,
        /// Its shape.
        shape: Vec<usize>,
    },
    /// Something is there.
    #[error("{} is there already: name another folder with -o", .0.display())]
    Exists(PathBuf),
    /// No recording, or a damaged one.
    #[error("{}", for_people(&.0.to_string()))]
    Recording(recording::Error),
    /// No thread.
    #[error("no thread could be started: {0}")]
    Thread(std::io::Error),
    /// A frame that is too large.
    #[error(transparent)]
    Uncopied(#[from] crate::copied::Uncopied),
}

impl From<recording::Error> for Problem {
    fn from(error: recording::Error) -> Problem {
        match error {
            recording::Error::Exists(path) => Problem::Exists(path),
            other => Problem::Recording(other),
        }
    }
}

impl From<stream::Error> for Problem {
    fn from(error: stream::Error) -> Problem {
        match error {
            stream::Error::NoStream(no) => Problem::NoStream { name: no.name, there: there() },
            other => Problem::Stream(other),
        }
    }
}

impl From<stream::gstreamer::Error> for Problem {
    fn from(error: stream::gstreamer::Error) -> Problem {
        match error {
            stream::gstreamer::Error::Stream(error) => error.into(),
            other => Problem::GStreamer(other),
        }
    }
}

/// The streams that can be had.
fn there() -> Vec<String> {
    let streams = stream::list().unwrap_or_default().into_iter().filter(|stream| stream.alive);
    streams.map(|stream| stream.name).collect()
}

fn streams_words(there: &[String]) -> String {
    if there.is_empty() {
        let directory = stream::directory();
        return format!("there is no stream in {}; `tenure run` makes some", directory.display());
    }
    format!("there are {}", there.join(", "))
}
