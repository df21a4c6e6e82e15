//! Why there are no frames, or no files of them: one line each, with what would help.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tenure::camera::{self, FourCc};

use crate::page::for_people;

/// Why there are no frames, or no files of them.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// The camera said no.
    #[error("{}", for_people(&.0.to_string()))]
    Camera(camera::Error),
    /// No frame came in time.
    #[error("no frame came within {within:?}")]
    NoFrame {
        /// How long was waited.
        within: Duration,
    },
    /// No such node.
    #[error("there is no {}; {}", path.display(), cameras_words(cameras))]
    NoDevice {
        /// The path.
        path: PathBuf,
        /// The cameras that there are.
        cameras: Vec<String>,
    },
    /// Pictures are wanted of something that is none.
    #[error(
        "frames in {code} cannot be shown as pictures: say --only npy, or name another --format"
    )]
    NoPicture {
        /// The camera's code.
        code: FourCc,
    },
    /// The folder is something else.
    #[error("{} is no folder: name another with -o", .0.display())]
    NotAFolder(PathBuf),
    /// The folder cannot be made, read or written.
    #[error("the folder {} cannot be {what}: {}", path.display(), for_people(&cause.to_string()))]
    Folder {
        /// The path.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// The system's answer.
        cause: io::Error,
    },
    /// Files of these names are there.
    #[error(
        "{}{} there already: name another folder with -o, or say --force to replace",
        first.display(), others(*count)
    )]
    Exists {
        /// The first of them.
        first: PathBuf,
        /// How many there are.
        count: usize,
    },
    /// A file cannot be written.
    #[error("{} cannot be written: {}", path.display(), for_people(&cause.to_string()))]
    Write {
        /// The path.
        path: PathBuf,
        /// Why.
        cause: Box<dyn Error + Send + Sync>,
    },
    /// The system gives no thread to write with.
    #[error("no thread can be had to write files with: {}", for_people(&.0.to_string()))]
    Threads(io::Error),
    /// It ended before the last frame.
    #[error("{why} (after {done} of {wanted} frames)")]
    Midway {
        /// Frames that were written.
        done: usize,
        /// Frames that were asked for.
        wanted: u32,
        /// Why it ended.
        why: Box<Problem>,
    },
}

impl From<camera::Error> for Problem {
    fn from(error: camera::Error) -> Problem {
        match error {
            camera::Error::Open(open) if open.cause.kind() == io::ErrorKind::NotFound => {
                Problem::NoDevice { path: open.path, cameras: cameras() }
            }
            other => Problem::Camera(other),
        }
    }
}

/// The cameras that frames can be had from, in words.
fn cameras() -> Vec<String> {
    let usable = camera::cameras().into_iter().filter(|found| found.capture.is_ok());
    usable.map(|found| found.path.display().to_string()).collect()
}

fn cameras_words(cameras: &[String]) -> String {
    if cameras.is_empty() {
        return "this machine has no camera (see: tenure info)".to_owned();
    }
    format!("the cameras here are {} (see: tenure info)", cameras.join(", "))
}

fn others(count: usize) -> String {
    match count {
        0 | 1 => " is".to_owned(),
        2 => " and one more file are".to_owned(),
        _ => format!(" and {} more files are", count - 1),
    }
}
