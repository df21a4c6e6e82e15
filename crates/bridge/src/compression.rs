//! What is done to frames to make them smaller.

use std::fmt;
use std::str::FromStr;

use tenure_image::codec::QUALITY;

/// What is done to frames to make them smaller.
///
/// ```
/// use tenure_bridge::Compression;
/// assert_eq!("jpeg:80".parse(), Ok(Compression::Jpeg { quality: 80 }));
/// assert_eq!("lossless".parse(), Ok(Compression::Lossless));
/// assert!("jpeg:0".parse::<Compression>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// Nothing: every byte travels.
    #[default]
    Plain,
    /// LZ4: exact, quick, and worth it for masks, depth and tensors with many zeros; the noise of
    /// cameras stays as large as it is.
    Lossless,
    /// JPEG, for pictures of bytes in rgb, bgr, grey, planar-rgb and nv12. Other frames travel as
    /// they are.
    Jpeg {
        /// From 1 to 100.
        quality: u8,
    },
}

/// A word for no compression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{word}` is no compression: write jpeg, jpeg:QUALITY with a quality from 1 to 100, or lossless"
)]
pub struct UnknownCompression {
    /// The word.
    pub word: String,
}

impl UnknownCompression {
    /// What sort of error it is.
    pub fn kind(&self) -> tenure_layout::ErrorKind {
        tenure_layout::ErrorKind::Invalid
    }
}

impl FromStr for Compression {
    type Err = UnknownCompression;

    fn from_str(word: &str) -> Result<Compression, UnknownCompression> {
        let unknown = || UnknownCompression { word: word.to_owned() };
        match word.split_once(':') {
            None if word == "lossless" => Ok(Compression::Lossless),
            None if word == "jpeg" => Ok(Compression::Jpeg { quality: QUALITY }),
            Some(("jpeg", quality)) => {
                let quality = quality.parse().map_err(|_| unknown())?;
                let possible = (1..=100).contains(&quality);
                possible.then_some(Compression::Jpeg { quality }).ok_or_else(unknown)
            }
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Compression::Plain => f.write_str("plain"),
            Compression::Lossless => f.write_str("lossless"),
            Compression::Jpeg { quality } => write!(f, "jpeg:{quality}"),
        }
    }
}
