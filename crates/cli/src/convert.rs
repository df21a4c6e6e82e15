//! `tenure convert`: a picture in a file, as a model wants it in another.
//!
//! `words` is what can be said on the command line, `recipe` what it means for a conversion,
//! `source` and `target` are the files, `folder` does many of them, `report` is what is told.

mod camera;
mod folder;
mod one;
mod problem;
mod recipe;
mod report;
mod source;
mod target;
mod words;

use std::path::PathBuf;

use tenure::image::{EngineKind, Filter};
use tenure::layout::Region;
use tenure::{DType, PixelFormat};

use crate::capture::Size;
use crate::failure::Failure;
pub(crate) use problem::Problem;
use target::Ending;
use words::{Fill, FitWord, Flip, MatrixWord, NormalizeWord, RangeWord, RawFrame, Scale};

/// What `tenure convert` is told.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// A jpg, png or npy file, a raw frame, a camera, a folder
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// The file to write, .png, .jpg, .npy or .raw; a folder
    #[arg(value_name = "OUT")]
    output: PathBuf,

    /// Read IN as a raw frame, like nv12:1920x1080
    #[arg(long, value_name = "FORMAT:WxH")]
    from: Option<RawFrame>,

    /// Pixels of the result [default: those of the source]
    #[arg(long, value_name = "WxH")]
    to: Option<Size>,

    /// stretch, letterbox or cover
    #[arg(long, value_name = "FIT", default_value = "stretch", hide_possible_values = true)]
    fit: FitWord,

    /// Around a letterbox: a grey, or R,G,B [default: 114]
    #[arg(long, value_name = "COLOUR")]
    fill: Option<Fill>,

    /// How samples are taken
    #[arg(long, value_name = "FILTER", default_value = "antialiased")]
    filter: Filter,

    /// Pixels of the result [default: rgb, or as they are]
    #[arg(long, value_name = "FORMAT")]
    format: Option<PixelFormat>,

    /// u8, i8 (less 128), f16, bf16, f32 [default: u8, or
    /// f32 with --scale or --normalize]
    #[arg(long, value_name = "TYPE", verbatim_doc_comment)]
    dtype: Option<DType>,

    /// Multiply every value by this, like 1/255
    #[arg(long, value_name = "NUMBER", conflicts_with = "normalize")]
    scale: Option<Scale>,

    /// imagenet: 1/255, less mean, by deviation; or none
    #[arg(long, value_name = "WHICH", hide_possible_values = true)]
    normalize: Option<NormalizeWord>,

    /// bt601, bt709 or bt2020 [default: the source's]
    #[arg(long, value_name = "MATRIX", hide_possible_values = true)]
    matrix: Option<MatrixWord>,

    /// limited or full [default: the source's]
    #[arg(long, value_name = "RANGE", hide_possible_values = true)]
    range: Option<RangeWord>,

    /// Take only this part of the source
    #[arg(long, value_name = "WxH+X+Y", value_parser = words::region)]
    crop: Option<Region>,

    /// Turn clockwise: 90, 180 or 270
    #[arg(long, value_name = "DEGREES", default_value_t = 0)]
    rotate: u32,

    /// After the turn: horizontal, vertical or both
    #[arg(long, value_name = "WAY", hide_possible_values = true)]
    flip: Option<Flip>,

    /// Who does it: cpu or reference [default: the best]
    #[arg(long, value_name = "ENGINE")]
    engine: Option<EngineKind>,

    /// Threads; in a folder, pictures at one time
    #[arg(
        long, value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=1024)
    )]
    threads: Option<u16>,

    /// Quality of .jpg files
    #[arg(
        long, value_name = "1-100", default_value_t = 90,
        value_parser = clap::value_parser!(u8).range(1..=100)
    )]
    quality: u8,

    /// In a folder: png, jpg, npy or raw [default: png, or
    /// npy for floats]
    #[arg(long = "as", value_name = "ENDING", hide_possible_values = true, verbatim_doc_comment)]
    ending: Option<Ending>,

    /// Say what each engine would do, and write nothing
    #[arg(long)]
    explain: bool,

    /// Print one JSON object with stable field names
    #[arg(long)]
    json: bool,
}

/// What `tenure help convert` begins with.
pub(crate) const ABOUT: &str = "\
Convert pictures: to another size, format and type, as a model wants them.

Cropped, turned, mirrored, resized, converted in colour, normalised and stored,
in this order and in one pass. What was done is printed, with the place of the
picture in the result and the way back to the source's pixels. If IN is a
folder, every jpg and png file in it is converted into the folder OUT.

A file that is there is replaced by a whole one, or not at all.";

const EXAMPLES: &str = "\
\x1b[1m\x1b[4mFormats:\x1b[0m
  read:    rgb, bgr, rgba, bgra, grey, yuyv, uyvy, nv12, nv21, nv16, nv24,
           i420, p010, planar-rgb, planar-rgba
  written: rgb, bgr, rgba, bgra, grey, planar-rgb, planar-rgba, nv12
  filters: nearest, bilinear, antialiased, area, bicubic, lanczos3

\x1b[1m\x1b[4mExamples:\x1b[0m
  tenure convert cat.jpg cat.png --to 640x640 --fit letterbox
  tenure convert cat.jpg input.npy --to 224x224 --fit cover \\
         --format planar-rgb --normalize imagenet
  tenure convert frame.raw out.png --from nv12:1920x1080 \\
         --matrix bt709 --range limited
  tenure convert pictures inputs --as npy --to 640x640 --scale 1/255 \\
         --format planar-rgb";

/// Converts, and tells.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let recipe = recipe::Recipe::new(options)?;
    if options.input.is_dir() { folder::run(options, &recipe) } else { one::run(options, &recipe) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_knows_every_word() {
        let help = EXAMPLES.replace(",\n           ", ", ");
        let formats: Vec<_> = PixelFormat::all().map(PixelFormat::name).collect();
        for word in formats.into_iter().chain(Filter::all().map(Filter::name)) {
            let whole = |found: &str| found.trim_matches([',', '\n']) == word;
            assert!(help.split_whitespace().any(whole), "{word}");
        }
    }
}
