//! Why memory that drivers import is copied all the same, known without asking them.
#![expect(unsafe_code, reason = "promises what becomes of a descriptor")]

use std::fmt;
use std::os::fd::BorrowedFd;

use rustix::fs::{SeekFrom, seek};
use tenure_memory::RawBuffer;
use tenure_tensor::PlaneLayout;

use super::side::BLOCK_ROWS;

/// What keeps a plane from being imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// Rows so many bytes apart.
    Pitch { bytes: usize, multiple: usize },
    /// A first row at this byte.
    Start { byte: usize, multiple: usize },
    /// Rows whose last word of four bytes reaches into the next row.
    Word { bytes: usize, pitch: usize },
    /// Rows or words that no texture holds.
    Size { longest: usize },
    /// Memory that ends so many bytes before what a driver may touch.
    End { bytes: u128 },
    /// Memory without a descriptor.
    Descriptor,
    /// Rows below the last that are another image's.
    Neighbours,
    /// The same, held by somebody.
    Held,
}

impl Obstacle {
    /// A bit of its own.
    pub(super) fn bit(self) -> u32 {
        let number = match self {
            Obstacle::Pitch { .. } => 0,
            Obstacle::Start { .. } => 1,
            Obstacle::Word { .. } => 2,
            Obstacle::Size { .. } => 3,
            Obstacle::End { .. } => 4,
            Obstacle::Descriptor => 5,
            Obstacle::Neighbours => 6,
            Obstacle::Held => 7,
        };
        1 << number
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::Pitch { bytes, multiple } => {
                write!(f, "its rows are {bytes} bytes apart, which is no multiple of {multiple}")
            }
            Obstacle::Start { byte, multiple } => {
                write!(f, "its first row is at byte {byte}, which is no multiple of {multiple}")
            }
            Obstacle::Word { bytes, pitch } => {
                write!(f, "rows of {bytes} bytes, {pitch} apart, share a word of four bytes")
            }
            Obstacle::Size { longest } => {
                write!(f, "{longest} rows and words of four bytes are the most")
            }
            Obstacle::End { bytes } => {
                write!(f, "a driver may touch {bytes} bytes behind the end of its memory")
            }
            Obstacle::Descriptor => f.write_str("its memory has no descriptor"),
            Obstacle::Neighbours => {
                f.write_str("drawing touches whole blocks of four rows, and the last are another's")
            }
            Obstacle::Held => f.write_str("somebody holds the rows below, which drawing touches"),
        }
    }
}

/// The descriptor to import a plane by, to sample it or to draw into it.
///
/// # Errors
/// What drivers would refuse, or not even check.
pub(super) fn descriptor<'a>(
    raw: &'a RawBuffer,
    layout: &PlaneLayout,
    start: usize,
    draw: bool,
    longest: usize,
) -> Result<BorrowedFd<'a>, Obstacle> {
    let (pitch, rows, bytes) = (layout.row_stride, layout.rows, layout.row_bytes);
    let words = bytes.div_ceil(4);
    // In numbers that hold every product of two sizes.
    let [wide_rows, wide_pitch] = [rows as u128, pitch as u128];
    let (multiple, reach) = match draw {
        true => (16, wide_rows.next_multiple_of(BLOCK_ROWS as u128) * wide_pitch),
        false => (4, wide_rows.saturating_sub(1) * wide_pitch + words as u128 * 4),
    };
    if !pitch.is_multiple_of(multiple) {
        return Err(Obstacle::Pitch { bytes: pitch, multiple });
    }
    if !start.is_multiple_of(multiple) {
        return Err(Obstacle::Start { byte: start, multiple });
    }
    if words * 4 > pitch {
        return Err(Obstacle::Word { bytes, pitch });
    }
    if words.max(rows) > longest {
        return Err(Obstacle::Size { longest });
    }
    // SAFETY: the caller makes a texture of it, which belongs to the identity of the memory: it is
    // drawn and read by work that holds the bytes, and deleted when the identity is gone.
    let fd = unsafe { raw.device_descriptor() }.map_err(|_| Obstacle::Descriptor)?;
    // Drivers do not check it.
    let end = seek(fd, SeekFrom::End(0)).unwrap_or(0);
    match (start as u128 + reach).checked_sub(u128::from(end)) {
        None | Some(0) => Ok(fd),
        Some(bytes) => Err(Obstacle::End { bytes }),
    }
}
