//! What can be said about a conversion, wherever one is asked for.

use tenure::image::{EngineKind, Filter};
use tenure::layout::Region;
use tenure::{DType, PixelFormat};

use super::words::{self, Fill, FitWord, Flip, MatrixWord, NormalizeWord, RangeWord, Scale};
use crate::capture::Size;

/// Size, format, type and so on of what a picture is converted to.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Conversion {
    /// Pixels of the result [default: those of the source]
    #[arg(long, value_name = "WxH")]
    pub(super) to: Option<Size>,

    /// stretch, letterbox or cover [default: stretch]
    #[arg(long, value_name = "FIT", hide_possible_values = true)]
    pub(super) fit: Option<FitWord>,

    /// Around a letterbox: a grey, or R,G,B [default: 114]
    #[arg(long, value_name = "COLOUR")]
    pub(super) fill: Option<Fill>,

    /// How samples are taken
    #[arg(long, value_name = "FILTER", default_value = "antialiased")]
    pub(super) filter: Filter,

    /// Pixels of the result [default: rgb, or as they are]
    #[arg(long, value_name = "FORMAT")]
    pub(super) format: Option<PixelFormat>,

    /// u8, i8 (less 128), f16, bf16, f32 [default: u8, or
    /// f32 with --scale or --normalize]
    #[arg(long, value_name = "TYPE", verbatim_doc_comment)]
    pub(super) dtype: Option<DType>,

    /// Multiply every value by this, like 1/255
    #[arg(long, value_name = "NUMBER")]
    pub(super) scale: Option<Scale>,

    /// imagenet: --scale or else 1/255, then less its mean
    /// and by its deviation, those of values from 0 to 1;
    /// or none
    #[arg(long, value_name = "WHICH", hide_possible_values = true, verbatim_doc_comment)]
    pub(super) normalize: Option<NormalizeWord>,

    /// bt601, bt709 or bt2020 [default: the source's]
    #[arg(long, value_name = "MATRIX", hide_possible_values = true)]
    pub(super) matrix: Option<MatrixWord>,

    /// limited or full [default: the source's]
    #[arg(long, value_name = "RANGE", hide_possible_values = true)]
    pub(super) range: Option<RangeWord>,

    /// Take only this part of the source
    #[arg(long, value_name = "WxH+X+Y", value_parser = words::region)]
    pub(super) crop: Option<Region>,

    /// Turn clockwise: 90, 180 or 270
    #[arg(long, value_name = "DEGREES", default_value_t = 0)]
    pub(super) rotate: u32,

    /// After the turn: horizontal, vertical or both
    #[arg(long, value_name = "WAY", hide_possible_values = true)]
    pub(super) flip: Option<Flip>,

    /// Who does it: cpu, gl (OpenGL) or reference [default:
    /// the first that can; TENURE_IMAGE_ENGINE names others]
    #[arg(long, value_name = "ENGINE", verbatim_doc_comment)]
    pub(super) engine: Option<EngineKind>,

    /// Threads; in a folder, pictures at one time
    #[arg(
        long, value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=1024)
    )]
    pub(super) threads: Option<u16>,
}

impl Conversion {
    /// What is not said, as detectors want it: a letterbox of 640x640 pixels in planes, `f32` of 0
    /// to 1.
    #[cfg(linux_like)]
    pub(crate) fn for_models(mut self) -> Conversion {
        self.to.get_or_insert(Size { width: 640, height: 640 });
        self.fit.get_or_insert(FitWord::Letterbox);
        self.format.get_or_insert(PixelFormat::PlanarRgb);
        let dtype = *self.dtype.get_or_insert(DType::F32);
        if !matches!(dtype, DType::U8 | DType::I8) && self.normalize.is_none() {
            self.scale.get_or_insert(Scale(1.0 / 255.0));
        }
        self
    }
}
