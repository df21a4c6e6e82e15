//! The shape of the frames that are measured, as a word: `1920x1080x4`.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// Height, width and channels of a frame of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Frame {
    /// Pixels across.
    pub(super) width: usize,
    /// Pixels down.
    pub(super) height: usize,
    /// Bytes of a pixel.
    pub(super) channels: usize,
    /// Bytes of a frame.
    pub(super) bytes: usize,
}

/// Why a word is no frame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoFrame {
    /// Not three numbers above zero.
    #[error("say WIDTHxHEIGHTxCHANNELS, like 1920x1080x4, all above zero")]
    Shape,
    /// More bytes than can be addressed.
    #[error("that is more bytes than can be addressed")]
    TooLarge,
}

impl Frame {
    /// As a shape: rows, columns, channels.
    pub(super) fn shape(&self) -> [usize; 3] {
        [self.height, self.width, self.channels]
    }

    /// As a shape with the channels first.
    pub(super) fn planar(&self) -> [usize; 3] {
        [self.channels, self.height, self.width]
    }
}

impl FromStr for Frame {
    type Err = NoFrame;

    fn from_str(word: &str) -> Result<Frame, NoFrame> {
        let number = |part: &str| part.trim().parse().ok().filter(|&number| number > 0);
        let parts: Option<Vec<usize>> = word.split(['x', 'X', '×']).map(number).collect();
        let Some([width, height, channels]) = parts.as_deref() else { return Err(NoFrame::Shape) };
        let pixels = width.checked_mul(*height).ok_or(NoFrame::TooLarge)?;
        let bytes = pixels.checked_mul(*channels).ok_or(NoFrame::TooLarge)?;
        if isize::try_from(bytes).is_err() {
            return Err(NoFrame::TooLarge);
        }
        Ok(Frame { width: *width, height: *height, channels: *channels, bytes })
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.width, self.height, self.channels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_frames() {
        let frame: Frame = "1920x1080x4".parse().unwrap();
        assert_eq!((frame.shape(), frame.planar()), ([1080, 1920, 4], [4, 1080, 1920]));
        assert_eq!((frame.bytes, frame.to_string()), (8_294_400, "1920x1080x4".to_owned()));
        assert_eq!("2X3×1".parse::<Frame>().unwrap().shape(), [3, 2, 1]);
    }

    #[test]
    fn other_words_are_not() {
        for word in ["", "1920", "1920x1080", "0x1x1", "1x2x3x4", "axbxc", "-1x1x1"] {
            assert_eq!(word.parse::<Frame>(), Err(NoFrame::Shape), "{word}");
        }
        let huge = format!("{0}x{0}x1", usize::MAX);
        assert_eq!(huge.parse::<Frame>(), Err(NoFrame::TooLarge));
        assert_eq!(format!("{}x1x1", usize::MAX).parse::<Frame>(), Err(NoFrame::TooLarge));
    }
}
