//! What can be said about a conversion, as words.

use std::str::FromStr;

use tenure::image::Normalize;
use tenure::layout::Region;
use tenure::{ColourMatrix, ColourRange, PixelFormat};

use crate::capture::Size;

/// A word that is none of these.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoWord {
    /// No raw frame.
    #[error("say FORMAT:WIDTHxHEIGHT, like nv12:1920x1080")]
    Raw,
    /// No pixel format.
    #[error("{0}")]
    Format(String),
    /// No region.
    #[error("say WIDTHxHEIGHT+X+Y, like 640x480+100+50")]
    Region,
    /// No colour.
    #[error("say a grey of 0 to 255, like 114, or three of them, like 124,116,104")]
    Fill,
    /// No number.
    #[error("say a number or a fraction above zero, like 0.5 or 1/255")]
    Scale,
}

/// The pixels of a raw frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawFrame {
    pub(crate) format: PixelFormat,
    pub(crate) size: Size,
}

impl FromStr for RawFrame {
    type Err = NoWord;

    fn from_str(word: &str) -> Result<RawFrame, NoWord> {
        let (format, size) = word.split_once(':').ok_or(NoWord::Raw)?;
        let format = format
            .parse()
            .map_err(|error: tenure::layout::Error| NoWord::Format(error.to_string()))?;
        Ok(RawFrame { format, size: size.parse().map_err(|_| NoWord::Raw)? })
    }
}

/// Red, green, blue and alpha.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fill(pub(super) [u8; 4]);

impl Default for Fill {
    /// What YOLO models were trained with.
    fn default() -> Fill {
        Fill([114, 114, 114, 255])
    }
}

impl FromStr for Fill {
    type Err = NoWord;

    fn from_str(word: &str) -> Result<Fill, NoWord> {
        let values: Result<Vec<u8>, _> = word.split(',').map(|part| part.trim().parse()).collect();
        match values.as_deref() {
            Ok(&[grey]) => Ok(Fill([grey, grey, grey, 255])),
            Ok(&[red, green, blue]) => Ok(Fill([red, green, blue, 255])),
            _ => Err(NoWord::Fill),
        }
    }
}

/// What values are multiplied by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale(pub(super) f32);

impl FromStr for Scale {
    type Err = NoWord;

    fn from_str(word: &str) -> Result<Scale, NoWord> {
        let number = |part: &str| part.trim().parse::<f64>().ok();
        let value = match word.split_once('/') {
            Some((above, below)) => number(above).zip(number(below)).map(|(a, b)| a / b),
            None => number(word),
        };
        let value = value.map(|value| value as f32);
        value.filter(|value| value.is_finite() && *value > 0.0).map(Scale).ok_or(NoWord::Scale)
    }
}

/// A rectangle, as X11 writes them.
pub(super) fn region(word: &str) -> Result<Region, NoWord> {
    let mut parts = word.split('+');
    let size = parts.next().and_then(|part| part.parse::<Size>().ok());
    let place: Option<Vec<usize>> = parts.map(|part| part.trim().parse().ok()).collect();
    match (size, place.as_deref()) {
        (Some(Size { width, height }), Some(&[x, y])) => {
            Ok(Region::new(x, y, width as usize, height as usize))
        }
        _ => Err(NoWord::Region),
    }
}

/// How a picture of another shape is fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum FitWord {
    /// Over all of it
    Stretch,
    /// As large as fits
    Letterbox,
    /// As small as covers
    Cover,
}

/// What is mirrored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Flip {
    /// Left to right
    Horizontal,
    /// Top to bottom
    Vertical,
    /// Both
    Both,
}

/// Known normalisations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum NormalizeWord {
    /// Values as they are
    None,
    /// What models trained on ImageNet want
    Imagenet,
}

impl NormalizeWord {
    /// What is done with values that are multiplied by `scale` first, if one is said.
    pub(super) fn normalize(self, scale: Option<Scale>) -> Normalize {
        let own = match self {
            NormalizeWord::None => Normalize::NONE,
            NormalizeWord::Imagenet => Normalize::IMAGENET,
        };
        Normalize { scale: scale.map_or(own.scale, |scale| scale.0), ..own }
    }
}

/// Matrices of luma and chroma.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum MatrixWord {
    /// Standard definition, JPEG
    Bt601,
    /// High definition
    Bt709,
    /// Ultra high definition
    Bt2020,
}

impl MatrixWord {
    pub(crate) fn matrix(self) -> ColourMatrix {
        match self {
            MatrixWord::Bt601 => ColourMatrix::Bt601,
            MatrixWord::Bt709 => ColourMatrix::Bt709,
            MatrixWord::Bt2020 => ColourMatrix::Bt2020,
        }
    }
}

/// Ranges of luma and chroma.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum RangeWord {
    /// 16 to 235
    Limited,
    /// 0 to 255
    Full,
}

impl RangeWord {
    pub(crate) fn range(self) -> ColourRange {
        match self {
            RangeWord::Limited => ColourRange::Limited,
            RangeWord::Full => ColourRange::Full,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read() {
        let size = Size { width: 1920, height: 1080 };
        let frame = RawFrame { format: PixelFormat::Nv12, size };
        assert_eq!("nv12:1920x1080".parse(), Ok(frame));
        assert_eq!("114".parse(), Ok(Fill([114, 114, 114, 255])));
        assert_eq!("1, 2,3".parse(), Ok(Fill([1, 2, 3, 255])));
        assert_eq!("1/255".parse(), Ok(Scale(1.0 / 255.0)));
        assert_eq!("0.5".parse(), Ok(Scale(0.5)));
        assert_eq!(region("640x480+100+50"), Ok(Region::new(100, 50, 640, 480)));
    }

    #[test]
    fn other_words_are_not() {
        for word in ["", "nv12", "nv12:", "nv12:1920", "nv12:0x4"] {
            assert_eq!(word.parse::<RawFrame>(), Err(NoWord::Raw), "{word}");
        }
        let error = "nv13:4x4".parse::<RawFrame>().unwrap_err().to_string();
        assert!(error.contains("nv13") && error.contains("nv12"), "{error}");
        for word in ["", "256", "-1", "1,2", "1,2,3,4", "grey"] {
            assert_eq!(word.parse::<Fill>(), Err(NoWord::Fill), "{word}");
        }
        for word in ["", "0", "-1", "1/0", "0/0", "nan", "1/2/3", "1e60"] {
            assert_eq!(word.parse::<Scale>(), Err(NoWord::Scale), "{word}");
        }
        for word in ["", "640x480", "640x480+1", "0x1+0+0", "1x1+1+1+1", "1x1+-1+0"] {
            assert_eq!(region(word), Err(NoWord::Region), "{word}");
        }
    }
}
