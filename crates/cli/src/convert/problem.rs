//! Why a picture was not converted: one line each, with what would help.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use tenure::image;
use tenure::{DType, PixelFormat};

use super::target::Ending;
use crate::page::for_people;

/// Why a picture was not converted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// The conversion was refused.
    #[error("{0}")]
    Image(#[from] image::Error),
    /// A tensor was refused.
    #[error(transparent)]
    Tensor(#[from] tenure::tensor::Error),
    /// The camera gives no frame.
    #[error(transparent)]
    Camera(#[from] crate::capture::Problem),
    /// The input cannot be read.
    #[error("{} cannot be read: {}", path.display(), for_people(&cause.to_string()))]
    Read { path: PathBuf, cause: io::Error },
    /// The input is no picture that is known.
    #[error(
        "{}: {cause}; npy files are known too, and raw frames with --from nv12:1920x1080",
        path.display()
    )]
    NoPicture { path: PathBuf, cause: image::Error },
    /// The input is damaged.
    #[error("{}: {cause}", path.display())]
    Damaged { path: PathBuf, cause: Box<dyn Error + Send + Sync> },
    /// A raw frame of another size.
    #[error(
        "{} has {have} bytes; a frame of {format} with {width}x{height} pixels has {need}",
        path.display()
    )]
    RawSize {
        path: PathBuf,
        have: usize,
        need: usize,
        format: PixelFormat,
        width: u32,
        height: u32,
    },
    /// An array that is no picture.
    #[error(
        "{}: an array of {dtype} {shape:?} is no picture: u8 of [height, width], of \
         [height, width, channels] with 1, 3 or 4 channels or of [channels, height, width] with 3 \
         or 4 is; {}",
        path.display(),
        if *dtype == DType::U8 {
            "--from nv12:1920x1080 names other pixels"
        } else {
            "other numbers have no black and white of their own: make them 0 to 255 of u8 first"
        }
    )]
    Array { path: PathBuf, dtype: DType, shape: Vec<usize> },
    /// A name that does not tell what to write.
    #[error("{} does not tell what to write: name it .png, .jpg, .npy or .raw", .0.display())]
    Ending(PathBuf),
    /// A picture file for what is no picture.
    #[error(
        "{} files hold u8, not {dtype}: write .npy or .raw, or leave --dtype, --scale and \
         --normalize out", ending.name()
    )]
    NotBytes { ending: Ending, dtype: DType },
    /// A normalisation of integers.
    #[error(
        "--dtype {0} stores values as they are (i8 less 128): say --dtype f32, or leave --scale \
         and --normalize out"
    )]
    Integers(DType),
    /// An option for something else.
    #[error("{option} is for {for_what}")]
    OptionFor { option: &'static str, for_what: &'static str },
    /// An output that cannot be written.
    #[error("{} cannot be written: {}", path.display(), for_people(&cause.to_string()))]
    Write { path: PathBuf, cause: Box<dyn Error + Send + Sync> },
    /// A folder for one picture.
    #[error("{} is a folder, and {} is one picture: name a file", output.display(), input.display())]
    IntoFolder { input: PathBuf, output: PathBuf },
    /// A folder without pictures.
    #[error("there is no jpg or png file in {}", .0.display())]
    NoPictures(PathBuf),
    /// Two pictures for one file.
    #[error("{first} and {second} would both become {name}: rename one of them")]
    Collision { first: String, second: String, name: String },
    /// Some pictures of a folder.
    #[error("{failed} of {all} pictures were not converted; the first: {first}")]
    SomeFailed { failed: usize, all: usize, first: String },
}
