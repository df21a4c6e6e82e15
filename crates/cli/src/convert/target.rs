//! The file that is written, by its ending.

use std::error::Error;
use std::io::Write;
use std::path::Path;

use tenure::files::{self, whole};
use tenure::image::codec;
use tenure::layout::order;
use tenure::{DType, TensorDyn};

use super::Problem;
use crate::copied;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Ending {
    /// A picture, exact
    Png,
    /// A picture, small
    Jpg,
    /// An array of numpy
    Npy,
    /// The elements and nothing else
    Raw,
}

impl Ending {
    /// By the name of the file.
    pub(crate) fn of(path: &Path) -> Result<Ending, Problem> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            Some("png") => Ok(Ending::Png),
            Some("jpg" | "jpeg") => Ok(Ending::Jpg),
            Some("npy") => Ok(Ending::Npy),
            Some("raw") => Ok(Ending::Raw),
            _ => Err(Problem::Ending(path.to_owned())),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Ending::Png => "png",
            Ending::Jpg => "jpg",
            Ending::Npy => "npy",
            Ending::Raw => "raw",
        }
    }

    /// Whether alpha is kept.
    pub(super) fn has_alpha(self) -> bool {
        self != Ending::Jpg
    }

    /// Whether it can hold such elements.
    pub(crate) fn check(self, dtype: DType) -> Result<(), Problem> {
        match self {
            Ending::Png | Ending::Jpg if dtype != DType::U8 => {
                Err(Problem::NotBytes { ending: self, dtype })
            }
            _ => Ok(()),
        }
    }
}

/// Writes a tensor, whole or not at all; says how many bytes the file has.
pub(crate) fn write(
    path: &Path,
    ending: Ending,
    tensor: &TensorDyn,
    quality: u8,
) -> Result<u64, Problem> {
    type Cause = Box<dyn Error + Send + Sync>;
    let written = whole::write(path, whole::Existing::Replace, |out| -> Result<(), Cause> {
        // Before anything else: other crates write, and copy for it.
        copied::check(tensor)?;
        match ending {
            Ending::Png => codec::encode_png(tensor, out)?,
            Ending::Jpg => codec::encode_jpeg(tensor, quality, out)?,
            Ending::Npy => files::npy::write(out, tensor)?,
            Ending::Raw => {
                let mut bytes = copied::flat(tensor)?;
                order::swap_little_endian(&mut bytes, tensor.dtype());
                out.write_all(&bytes)?;
            }
        }
        Ok(())
    });
    written.map_err(|cause| Problem::Write { path: path.to_owned(), cause })
}
