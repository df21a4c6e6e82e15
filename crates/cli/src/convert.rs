//! `tenure convert`: a picture in a file, as a model wants it in another.
//!
//! `how` and `words` are what can be said about a conversion, `recipe` what it means for a picture,
//! `source` and `target` are the files, `folder` does many of them, `report` is what is told.

mod camera;
mod folder;
mod how;
mod one;
mod problem;
mod recipe;
mod report;
mod source;
mod target;
mod words;

use std::path::PathBuf;

use crate::failure::Failure;
pub(crate) use how::Conversion;
pub(crate) use problem::Problem;
#[cfg(linux_like)]
pub(crate) use {
    recipe::{Recipe, Wanted},
    target::{Ending, write},
    words::RawFrame,
};
#[cfg(not(linux_like))]
use {target::Ending, words::RawFrame};

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

    #[command(flatten)]
    how: Conversion,

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
    let recipe = recipe::Recipe::new(&options.how)?;
    if options.input.is_dir() { folder::run(options, &recipe) } else { one::run(options, &recipe) }
}

#[cfg(test)]
mod tests {
    use tenure::PixelFormat;
    use tenure::image::Filter;

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
