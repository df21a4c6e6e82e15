//! What can be said about the frames that are wanted, as words.

use std::str::FromStr;
use std::time::Duration;

use tenure::PixelFormat;

/// A word that is none of these.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoWish {
    /// No format.
    #[error(
        "the formats are {}; a camera's own code is in capitals, like RGBP", words().join(", ")
    )]
    Format,
    /// No size.
    #[error("say WIDTHxHEIGHT, like 1280x720, both above zero")]
    Size,
    /// No rate.
    #[error("say frames a second, above zero, like 30 or 29.97")]
    Rate,
    /// No time.
    #[error("say seconds, above zero and at most 3600, like 5 or 0.5")]
    Seconds,
}

/// A format of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Pixels, in whatever code of the camera's means them.
    Pixels(PixelFormat),
    /// Exactly this code of V4L2's.
    Code([u8; 4]),
}

/// Which files are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Only {
    /// Pictures to look at (.jpg if the camera sends JPEG)
    Png,
    /// Arrays to compute with
    Npy,
}

/// Pixels across and down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) width: u32,
    pub(crate) height: u32,
}

/// The words for formats that cameras can have.
pub(super) fn words() -> Vec<&'static str> {
    let pixels = PixelFormat::all().filter(|format| format.v4l2_fourcc().is_some());
    pixels.map(PixelFormat::name).chain(["mjpg"]).collect()
}

impl FromStr for Format {
    type Err = NoWish;

    fn from_str(word: &str) -> Result<Format, NoWish> {
        if word.eq_ignore_ascii_case("mjpg") {
            return Ok(Format::Code(*b"MJPG"));
        }
        match word.parse::<PixelFormat>() {
            Ok(format) if format.v4l2_fourcc().is_some() => return Ok(Format::Pixels(format)),
            _ => {}
        }
        // As V4L2 makes them: short ones have spaces at the end, and the upmost bit says that
        // bytes are in big-endian order.
        let capital = |letter: u8| letter.is_ascii_uppercase() || letter.is_ascii_digit();
        let (letters, order) = match word.strip_suffix("-BE") {
            Some(letters) => (letters, 0x80),
            None => (word, 0),
        };
        let letters = letters.trim_end_matches(' ');
        let mut code = [b' '; 4];
        if !(2..=4).contains(&letters.len()) || !letters.bytes().all(capital) {
            return Err(NoWish::Format);
        }
        code.iter_mut().zip(letters.bytes()).for_each(|(to, from)| *to = from);
        let [a, b, c, d] = code;
        Ok(Format::Code([a, b, c, d | order]))
    }
}

impl FromStr for Size {
    type Err = NoWish;

    fn from_str(word: &str) -> Result<Size, NoWish> {
        let number = |part: &str| part.trim().parse().ok().filter(|&number| number > 0);
        let parts: Option<Vec<u32>> = word.split(['x', 'X', '×']).map(number).collect();
        match parts.as_deref() {
            Some(&[width, height]) => Ok(Size { width, height }),
            _ => Err(NoWish::Size),
        }
    }
}

/// Frames a second.
pub(crate) fn rate(word: &str) -> Result<f64, NoWish> {
    let rate = word.trim().parse::<f64>().ok();
    rate.filter(|rate| rate.is_finite() && *rate > 0.0).ok_or(NoWish::Rate)
}

/// A time.
pub(crate) fn seconds(word: &str) -> Result<Duration, NoWish> {
    const MOST: f64 = 3600.0;
    let seconds = word.trim().parse::<f64>().ok();
    let seconds = seconds.filter(|seconds| *seconds > 0.0 && *seconds <= MOST);
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|time| !time.is_zero())
        .ok_or(NoWish::Seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_words_or_codes() {
        assert_eq!("nv12".parse(), Ok(Format::Pixels(PixelFormat::Nv12)));
        assert_eq!("NV12".parse(), Ok(Format::Pixels(PixelFormat::Nv12)));
        assert_eq!("MJpg".parse(), Ok(Format::Code(*b"MJPG")));
        assert_eq!("NM12".parse(), Ok(Format::Code(*b"NM12")));
        assert_eq!("Y16".parse(), Ok(Format::Code(*b"Y16 ")));
        assert_eq!("Y16 ".parse(), Ok(Format::Code(*b"Y16 ")));
        assert_eq!("Y16-BE".parse(), Ok(Format::Code(*b"Y16\xa0")));
        assert_eq!("AR15-BE".parse(), Ok(Format::Code(*b"AR1\xb5")));
        for word in ["", "nv13", "planar-rgb", "RGB24", "N", "NV1é", "jpeg"] {
            assert_eq!(word.parse::<Format>(), Err(NoWish::Format), "{word}");
        }
        let message = NoWish::Format.to_string();
        assert!(words().iter().all(|word| message.contains(word)), "{message}");
    }

    #[test]
    fn sizes_rates_and_times_are_above_zero() {
        assert_eq!("1280x720".parse(), Ok(Size { width: 1280, height: 720 }));
        for word in ["", "1280", "0x720", "1280x0", "1x2x3", "-1x1", "axb", "99999999999x1"] {
            assert_eq!(word.parse::<Size>(), Err(NoWish::Size), "{word}");
        }
        assert_eq!(rate("29.97"), Ok(29.97));
        for word in ["", "0", "-1", "nan", "inf", "fast"] {
            assert_eq!(rate(word), Err(NoWish::Rate), "{word}");
        }
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for word in ["", "0", "-1", "nan", "inf", "3601", "1e-20", "5s"] {
            assert_eq!(seconds(word), Err(NoWish::Seconds), "{word}");
        }
    }
}
