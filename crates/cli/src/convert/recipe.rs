//! What the options mean for one picture: the conversion, and the tensor it goes into.

use tenure::image::{
    Convert, EngineKind, Fit, ImageProcessor, ImageProcessorConfig, Normalize, Rotation,
};
use tenure::{Colour, DType, PixelFormat, TensorDyn, TensorMemory};

use super::target::Ending;
use super::words::{FitWord, Flip};
use super::{Options, Problem};

/// What is done to every picture.
#[derive(Debug)]
pub(super) struct Recipe<'a> {
    options: &'a Options,
    /// All but the colours of the source.
    convert: Convert,
    pub(super) dtype: DType,
}

impl Recipe<'_> {
    /// Checks what can be checked without a picture.
    pub(super) fn new(options: &Options) -> Result<Recipe<'_>, Problem> {
        let fill = options.fill.unwrap_or_default();
        let fit = match options.fit {
            FitWord::Letterbox => Fit::Letterbox { fill: fill.0 },
            _ if options.fill.is_some() => {
                return Err(Problem::OptionFor { option: "--fill", for_what: "--fit letterbox" });
            }
            FitWord::Stretch => Fit::Stretch,
            FitWord::Cover => Fit::Cover,
        };
        let normalize = match (options.scale, options.normalize) {
            (Some(scale), _) => Normalize::scale(scale.0),
            (None, Some(word)) => word.normalize(),
            (None, None) => Normalize::NONE,
        };
        let changes = normalize != Normalize::NONE;
        let dtype = options.dtype.unwrap_or(if changes { DType::F32 } else { DType::U8 });
        if changes && matches!(dtype, DType::U8 | DType::I8) {
            return Err(Problem::Integers(dtype));
        }
        let (horizontal, vertical) = match options.flip {
            None => (false, false),
            Some(Flip::Horizontal) => (true, false),
            Some(Flip::Vertical) => (false, true),
            Some(Flip::Both) => (true, true),
        };
        let mut convert = Convert::new()
            .with_fit(fit)
            .with_filter(options.filter)
            .with_normalize(normalize)
            .with_rotation(Rotation::from_degrees(options.rotate)?)
            .with_flips(horizontal, vertical);
        convert.crop = options.crop;
        Ok(Recipe { options, convert, dtype })
    }

    /// A processor that works as asked for, with so many threads.
    pub(super) fn processor(&self, threads: Option<usize>) -> Result<ImageProcessor, Problem> {
        let engines = match self.options.engine {
            Some(engine) => Some(vec![engine]),
            None if self.options.explain => Some(EngineKind::all().collect()),
            None => None,
        };
        Ok(ImageProcessor::with_config(&ImageProcessorConfig { engines, threads })?)
    }

    /// The conversion of this picture, and the tensor that it goes into.
    pub(super) fn prepare(
        &self,
        source: &TensorDyn,
        ending: Ending,
    ) -> Result<(Convert, TensorDyn), Problem> {
        let options = self.options;
        ending.check(self.dtype)?;
        let mut convert = self.convert.clone();
        let given = options.matrix.is_some() || options.range.is_some();
        if given {
            let own = source.colour().unwrap_or(Colour::JPEG);
            let matrix = options.matrix.map_or(own.matrix, |word| word.matrix());
            let range = options.range.map_or(own.range, |word| word.range());
            convert.colour = Some(Colour { matrix, range });
        }
        let from = source.format().unwrap_or(PixelFormat::Rgb);
        let format = options.format.unwrap_or(match from {
            PixelFormat::Grey => PixelFormat::Grey,
            _ if from.channels() == 4 && ending.has_alpha() => PixelFormat::Rgba,
            _ => PixelFormat::Rgb,
        });
        let (width, height) = self.size(source);
        let heap = Some(TensorMemory::Mem);
        let mut target = TensorDyn::image(width, height, format, self.dtype, None, heap, None)?;
        if format.is_yuv() {
            target.set_colour(convert.colour.or(source.colour()));
        }
        Ok((convert, target))
    }

    /// What is asked for, or the source as it is cropped and turned.
    fn size(&self, source: &TensorDyn) -> (usize, usize) {
        if let Some(to) = self.options.to {
            return (to.width as usize, to.height as usize);
        }
        let whole = (source.width().unwrap_or(0), source.height().unwrap_or(0));
        let (width, height) = self.convert.crop.map_or(whole, |crop| (crop.width, crop.height));
        match self.convert.rotation {
            Rotation::None | Rotation::Half => (width, height),
            Rotation::Quarter | Rotation::ThreeQuarters => (height, width),
        }
    }
}
