//! How the numbers of an image mean colours.

use std::fmt;

/// The matrix between RGB and YCbCr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ColourMatrix {
    /// ITU-R BT.601: standard definition, JPEG, most webcams.
    Bt601 = 0,
    /// ITU-R BT.709: high definition.
    Bt709 = 1,
    /// ITU-R BT.2020, non-constant luminance: ultra high definition.
    Bt2020 = 2,
}

/// Which part of the code range carries the signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ColourRange {
    /// 16 to 235 for luma and 16 to 240 for chroma (of 8 bits).
    Limited = 0,
    /// 0 to 255 (of 8 bits).
    Full = 1,
}

/// Colour description that travels with a tensor.
///
/// ```
/// use tenure_layout::{Colour, ColourMatrix, ColourRange};
/// let hd = Colour { matrix: ColourMatrix::Bt709, range: ColourRange::Limited };
/// assert_eq!(hd.to_string(), "bt709 limited");
/// assert_eq!(Colour::JPEG.range, ColourRange::Full);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Colour {
    /// Matrix between RGB and YCbCr.
    pub matrix: ColourMatrix,
    /// Code range.
    pub range: ColourRange,
}

impl Colour {
    /// What JPEG files and most USB cameras use: BT.601, full range.
    pub const JPEG: Colour = Colour { matrix: ColourMatrix::Bt601, range: ColourRange::Full };
    /// High-definition video: BT.709, limited range.
    pub const HD: Colour = Colour { matrix: ColourMatrix::Bt709, range: ColourRange::Limited };

    /// Both parts in a byte, for the wire.
    pub const fn code(self) -> u8 {
        (self.matrix as u8) << 1 | self.range as u8
    }

    /// The description with this code.
    pub const fn from_code(code: u8) -> Option<Colour> {
        let range = if code & 1 == 1 { ColourRange::Full } else { ColourRange::Limited };
        let matrix = match code >> 1 {
            0 => ColourMatrix::Bt601,
            1 => ColourMatrix::Bt709,
            2 => ColourMatrix::Bt2020,
            _ => return None,
        };
        Some(Colour { matrix, range })
    }
}

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let matrix = match self.matrix {
            ColourMatrix::Bt601 => "bt601",
            ColourMatrix::Bt709 => "bt709",
            ColourMatrix::Bt2020 => "bt2020",
        };
        let range = match self.range {
            ColourRange::Limited => "limited",
            ColourRange::Full => "full",
        };
        write!(f, "{matrix} {range}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_go_both_ways() {
        for code in 0..6 {
            assert_eq!(Colour::from_code(code).unwrap().code(), code);
        }
        assert_eq!(Colour::from_code(6), None);
        assert_eq!(Colour::from_code(255), None);
    }
}
