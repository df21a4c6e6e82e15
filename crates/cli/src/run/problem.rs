//! Why a camera is not published: one line each, with what would help.

use std::io;
use std::path::PathBuf;

use tenure::{PixelFormat, image, stream};

use super::Camera;
use crate::page::for_people;

/// Why a camera is not published.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// A stream was refused.
    #[error("{}", for_people(&.0.to_string()))]
    Stream(#[from] stream::Error),
    /// The camera said no.
    #[error(transparent)]
    Camera(#[from] crate::capture::Problem),
    /// The conversion makes no sense.
    #[error(transparent)]
    Convert(#[from] crate::convert::Problem),
    /// The conversion was refused.
    #[error("{0}")]
    Image(#[from] image::Error),
    /// A tensor was refused.
    #[error(transparent)]
    Tensor(#[from] tenure::tensor::Error),
    /// A source that is nothing.
    #[error(
        "there is no `{0}` to publish: say test, a camera like /dev/video0, a jpg or png file or a \
         folder of them, a motion JPEG file, a raw video file with --from nv12:1920x1080, a pipe \
         of either (- is the standard input), or stream:NAME"
    )]
    NoSource(String),
    /// A file that cannot be read.
    #[error("{} cannot be read: {}", path.display(), for_people(&cause.to_string()))]
    Read { path: PathBuf, cause: io::Error },
    /// A file that is no picture.
    #[error("{}: {cause}; raw video files need --from nv12:1920x1080", path.display())]
    Picture { path: PathBuf, cause: image::Error },
    /// A folder without pictures.
    #[error("there is no jpg or png file in {}", .0.display())]
    NoPictures(PathBuf),
    /// A raw file of another size.
    #[error(
        "{} has {have} bytes, which are no whole number of frames: one of {format} with \
         {width}x{height} pixels has {need}", path.display()
    )]
    RawSize { path: PathBuf, have: u64, need: usize, format: PixelFormat, width: u32, height: u32 },
    /// A pipe with something else in it.
    #[error(
        "{} must carry motion JPEG (JPEG pictures one after the other), or raw frames with \
         --from nv12:1920x1080: it carries neither", .0.display()
    )]
    Pipe(PathBuf),
    /// A pipe that ended before anything came.
    #[error("{} ended without a picture", .0.display())]
    NoFrames(PathBuf),
    /// A video of pictures that ends where it should not.
    #[error("{}, byte {at}: {reason}", path.display())]
    Video { path: PathBuf, at: u64, reason: String },
    /// Raw frames that end where they should not.
    #[error("{}: {reason}", path.display())]
    Cut { path: PathBuf, reason: String },
    /// A test camera that is too small or too large.
    #[error(
        "a test camera of {width}x{height} pixels cannot be had: from 64x64 to 8192x8192, both \
         numbers even"
    )]
    TestSize { width: u32, height: u32 },
    /// An option that the source does not have.
    #[error("{option} is for {for_what}, and `{source}` is none", source = .name)]
    OptionFor { option: &'static str, for_what: &'static str, name: String },
    /// Frames that are no pictures.
    #[error("the frames of `{0}` are no pictures and cannot be converted: say --no-input")]
    NoPixels(String),
    /// The configuration cannot be used.
    #[error("{}: {reason}", path.display())]
    Config { path: PathBuf, reason: String },
    /// The system gives no thread.
    #[error("no thread can be had for the camera: {}", for_people(&.0.to_string()))]
    Threads(io::Error),
    /// A camera of several.
    #[error("camera `{name}`: {why}{}", others(*more))]
    OfSeveral { name: String, why: Box<Problem>, more: usize },
    /// A mistake of ours.
    #[error("the camera's thread ended with a mistake in the program, which was told above")]
    Panicked,
}

fn others(more: usize) -> String {
    match more {
        0 => String::new(),
        1 => " (and another camera failed)".to_owned(),
        _ => format!(" (and {more} other cameras failed)"),
    }
}

/// What went wrong first, with the camera's name if there are several.
pub(super) fn first(cameras: &[Camera], results: Vec<Result<(), Problem>>) -> Option<Problem> {
    let failed = results.into_iter().zip(cameras);
    let mut failed = failed.filter_map(|(result, camera)| Some((result.err()?, camera)));
    let (why, camera) = failed.next()?;
    if cameras.len() == 1 {
        return Some(why);
    }
    let (name, why) = (camera.name.clone(), Box::new(why));
    Some(Problem::OfSeveral { name, why, more: failed.count() })
}
