//! What a camera offers: formats, sizes, frame rates.

use std::fmt;
use std::os::fd::AsFd;

use rustix::io::Errno;

use crate::device::Device;
use crate::kernel::structures::{self, FormatDescription, FrameSize, text};
use crate::{FourCc, Result, kernel};

/// One format of a camera.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatInfo {
    /// Its code.
    pub fourcc: FourCc,
    /// The driver's words for it.
    pub description: String,
    /// Whether frames are compressed and come as bytes.
    pub compressed: bool,
    /// Whether the format is made from another by a library, not by the camera.
    pub emulated: bool,
}

/// Sizes of frames: one, or a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameSizes {
    /// One size.
    One {
        /// Pixels across.
        width: u32,
        /// Pixels down.
        height: u32,
    },
    /// Every size from the smallest to the largest, in steps.
    Range {
        /// Smallest and largest width, and the step between widths.
        width: (u32, u32, u32),
        /// Smallest and largest height, and the step between heights.
        height: (u32, u32, u32),
    },
}

/// Time from one frame to the next, in seconds as a fraction: one, or a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameInterval {
    /// One interval: numerator and denominator.
    One(u32, u32),
    /// Every interval from the shortest to the longest.
    Range {
        /// The shortest: numerator and denominator.
        shortest: (u32, u32),
        /// The longest: numerator and denominator.
        longest: (u32, u32),
    },
}

impl FrameInterval {
    /// Frames per second at the shortest interval.
    pub fn fps(self) -> f64 {
        let (numerator, denominator) = match self {
            FrameInterval::One(numerator, denominator) => (numerator, denominator),
            FrameInterval::Range { shortest, .. } => shortest,
        };
        f64::from(denominator) / f64::from(numerator.max(1))
    }
}

impl fmt::Display for FrameSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameSizes::One { width, height } => write!(f, "{width}x{height}"),
            FrameSizes::Range { width, height } => {
                write!(f, "{}x{} to {}x{}", width.0, height.0, width.1, height.1)
            }
        }
    }
}

/// The sizes as the end of a message.
pub(crate) fn size_words(sizes: &[FrameSizes]) -> String {
    if sizes.is_empty() {
        return String::new();
    }
    let words: Vec<String> = sizes.iter().map(FrameSizes::to_string).collect();
    format!(" (it lists {})", words.join(", "))
}

/// No driver lists more; a broken one may never end.
const MOST: u32 = 1024;

/// Asks for one entry after the other until there are no more.
fn listed<T>(mut ask: impl FnMut(u32) -> Result<T, Errno>) -> Result<Vec<T>, Errno> {
    let mut all = vec![];
    for index in 0..MOST {
        match ask(index) {
            Ok(entry) => all.push(entry),
            // The end; or the driver does not list at all.
            Err(Errno::INVAL | Errno::NOTTY) => break,
            Err(errno) => return Err(errno),
        }
    }
    Ok(all)
}

pub(crate) fn formats(device: &Device) -> Result<Vec<FormatInfo>> {
    let ask = |index| {
        let mut entry =
            FormatDescription { index, kind: device.kind, ..FormatDescription::default() };
        kernel::format_description(device.as_fd(), &mut entry)?;
        Ok(FormatInfo {
            fourcc: FourCc(entry.fourcc),
            description: text(&entry.description),
            compressed: entry.flags & 1 != 0,
            emulated: entry.flags & 2 != 0,
        })
    };
    listed(ask).map_err(device.failed("listing formats"))
}

pub(crate) fn sizes(device: &Device, format: FourCc) -> Result<Vec<FrameSizes>> {
    let ask = |index| {
        let mut entry = FrameSize { index, fourcc: format.0, ..FrameSize::default() };
        kernel::frame_size(device.as_fd(), &mut entry)?;
        // A range is the only entry; asking on repeats it.
        if entry.kind != 1 && index > 0 {
            return Err(Errno::INVAL);
        }
        let [a, b, c, d, e, f] = entry.words;
        Ok(match entry.kind {
            1 => FrameSizes::One { width: a, height: b },
            _ => FrameSizes::Range { width: (a, b, c), height: (d, e, f) },
        })
    };
    listed(ask).map_err(device.failed("listing sizes"))
}

pub(crate) fn intervals(
    device: &Device,
    format: FourCc,
    width: u32,
    height: u32,
) -> Result<Vec<FrameInterval>> {
    let ask = |index| {
        let mut entry = structures::FrameInterval {
            index,
            fourcc: format.0,
            width,
            height,
            ..structures::FrameInterval::default()
        };
        kernel::frame_interval(device.as_fd(), &mut entry)?;
        if entry.kind != 1 && index > 0 {
            return Err(Errno::INVAL);
        }
        let [a, b, c, d, ..] = entry.words;
        Ok(match entry.kind {
            1 => FrameInterval::One(a, b),
            _ => FrameInterval::Range { shortest: (a, b), longest: (c, d) },
        })
    };
    listed(ask).map_err(device.failed("listing frame rates"))
}
