//! What the options mean for one picture: the conversion, and the tensor it goes into.

use tenure::image::{Convert, EngineKind, Fit, ImageProcessor, Normalize, Rotation};
use tenure::{Colour, DType, DynTensor, PixelFormat, TensorDyn, TensorMemory};

use super::target::Ending;
use super::words::{FitWord, Flip, NormalizeWord};
use super::{Conversion, Problem};

/// What is done to every picture.
#[derive(Debug)]
pub(crate) struct Recipe<'a> {
    options: &'a Conversion,
    /// All but the colours of the source.
    convert: Convert,
    pub(super) dtype: DType,
}

/// What is made of one picture.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) convert: Convert,
    pub(crate) format: PixelFormat,
    pub(crate) dtype: DType,
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// How luma and chroma, or grey, are written, if the result has them.
    pub(crate) colour: Option<Colour>,
}

impl Recipe<'_> {
    /// Checks what can be checked without a picture.
    pub(crate) fn new(options: &Conversion) -> Result<Recipe<'_>, Problem> {
        let fill = options.fill.unwrap_or_default();
        let fit = match options.fit.unwrap_or(FitWord::Stretch) {
            FitWord::Letterbox => Fit::Letterbox { fill: fill.0 },
            _ if options.fill.is_some() => {
                return Err(Problem::OptionFor { option: "--fill", for_what: "--fit letterbox" });
            }
            FitWord::Stretch => Fit::Stretch,
            FitWord::Cover => Fit::Cover,
        };
        let normalize = options.normalize.unwrap_or(NormalizeWord::None).normalize(options.scale);
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
        let convert = Convert::new()
            .crop(options.crop)
            .fit(fit)
            .filter(options.filter)
            .normalize(normalize)
            .rotation(Rotation::from_degrees(options.rotate)?)
            .flips(horizontal, vertical);
        Ok(Recipe { options, convert, dtype })
    }

    /// A processor that works as asked for, with so many threads.
    pub(super) fn processor(&self, threads: Option<usize>) -> Result<ImageProcessor, Problem> {
        let engines = self.options.engine.map(|engine| vec![engine]);
        Ok(ImageProcessor::builder().engines(engines).threads(threads).build()?)
    }

    /// One with the engines that `processor` does not try, unless they are asked for.
    pub(super) fn others(&self, processor: &ImageProcessor) -> Result<ImageProcessor, Problem> {
        let tried = |kind: &EngineKind| processor.engines().any(|own| own == *kind);
        let engines = match self.options.engine {
            Some(_) => vec![],
            None => EngineKind::all().filter(|kind| !tried(kind)).collect(),
        };
        let config = ImageProcessor::builder().engines(engines).threads(1);
        Ok(config.build()?)
    }

    /// The same as [`Recipe::processor`] with as many threads as were asked for.
    #[cfg(linux_like)]
    pub(crate) fn usual_processor(&self) -> Result<ImageProcessor, Problem> {
        self.processor(self.options.threads.map(usize::from))
    }

    /// What this picture becomes; `alpha` if it may keep its own.
    pub(crate) fn wanted(&self, source: &TensorDyn, alpha: bool) -> Wanted {
        let options = self.options;
        let mut convert = self.convert.clone();
        let from = source.format().unwrap_or(PixelFormat::Rgb);
        let format = options.format.unwrap_or(match from {
            PixelFormat::Grey => PixelFormat::Grey,
            _ if from.channels() == 4 && alpha => PixelFormat::Rgba,
            _ => PixelFormat::Rgb,
        });
        let own = source.colour().unwrap_or(Colour::JPEG);
        let said = (options.matrix.is_some() || options.range.is_some()).then(|| Colour {
            matrix: options.matrix.map_or(own.matrix, |word| word.matrix()),
            range: options.range.map_or(own.range, |word| word.range()),
        });
        // What is said is how luma is read; of what has none, how it is written.
        let reads_luma = from.is_yuv() || from == PixelFormat::Grey;
        convert = convert.colour(said.filter(|_| reads_luma));
        let colour = match format {
            PixelFormat::Grey => said.filter(|_| !reads_luma),
            _ => said.or(source.colour()).filter(|_| format.is_yuv()),
        };
        let (width, height) = self.size(source);
        Wanted { convert, format, dtype: self.dtype, width, height, colour }
    }

    /// The conversion of this picture, and the tensor that it goes into.
    pub(super) fn prepare(
        &self,
        source: &TensorDyn,
        ending: Ending,
    ) -> Result<(Convert, TensorDyn), Problem> {
        ending.check(self.dtype)?;
        let Wanted { convert, format, dtype, width, height, colour } =
            self.wanted(source, ending.has_alpha());
        let heap = Some(TensorMemory::Mem);
        let mut target = TensorDyn::image(width, height, format, dtype, heap, None)?;
        target.set_colour(colour);
        Ok((convert, target))
    }

    /// What is asked for, or the source as it is cropped and turned.
    fn size(&self, source: &TensorDyn) -> (usize, usize) {
        if let Some(to) = self.options.to {
            return (to.width as usize, to.height as usize);
        }
        let whole = (source.width().unwrap_or(0), source.height().unwrap_or(0));
        let (width, height) =
            self.convert.get_crop().map_or(whole, |crop| (crop.width, crop.height));
        match self.convert.get_rotation() {
            Rotation::None | Rotation::Half => (width, height),
            Rotation::Quarter | Rotation::ThreeQuarters => (height, width),
        }
    }
}
