//! A frame as a picture to look at: red, green and blue, or grey, in 8 bits.
//!
//! Made for seeing what a camera saw, not for speed: every format is a row in one table of where
//! its samples are. Chroma is repeated, not interpolated; alpha is left out, because cameras put
//! nothing meaningful there.

use tenure::{Colour, ColourMatrix, ColourRange, DType, PixelFormat, TensorDyn};

use crate::copied;

#[cfg(test)]
mod tests;

/// A picture without gaps.
#[derive(Debug)]
pub(super) struct Picture {
    /// Pixels across.
    pub(super) width: usize,
    /// Pixels down.
    pub(super) height: usize,
    /// Bytes of a pixel: 1 for grey, 3 for red, green and blue.
    pub(super) channels: usize,
    /// The pixels, row by row.
    pub(super) bytes: Vec<u8>,
}

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoPicture {
    /// Bytes that are no pixels.
    #[error("the frame is no image of pixels")]
    NoImage,
    /// Pixels of a type that no camera gives.
    #[error("{format} pixels of {dtype} cannot be shown: u8 can")]
    Type {
        /// The format.
        format: PixelFormat,
        /// The type.
        dtype: DType,
    },
    /// The frame cannot be copied.
    #[error(transparent)]
    Uncopied(#[from] copied::Uncopied),
}

/// Where the samples of one channel are.
#[derive(Debug, Clone, Copy)]
struct Channel {
    /// The plane.
    plane: usize,
    /// The first sample in a row, in elements.
    first: usize,
    /// From one sample to the next, in elements.
    step: usize,
    /// Pixels across and down that share a sample.
    share: (usize, usize),
}

const fn at(plane: usize, first: usize, step: usize) -> Channel {
    Channel { plane, first, step, share: (1, 1) }
}

const fn shared(plane: usize, first: usize, step: usize, share: (usize, usize)) -> Channel {
    Channel { plane, first, step, share }
}

/// The channels of a format: red, green, blue; or luma, blue and red difference; or grey alone.
fn channels(format: PixelFormat) -> Vec<Channel> {
    let pairs =
        |blue, share| vec![at(0, 0, 1), shared(1, blue, 2, share), shared(1, 1 - blue, 2, share)];
    match format {
        PixelFormat::Rgb => vec![at(0, 0, 3), at(0, 1, 3), at(0, 2, 3)],
        PixelFormat::Bgr => vec![at(0, 2, 3), at(0, 1, 3), at(0, 0, 3)],
        PixelFormat::Rgba => vec![at(0, 0, 4), at(0, 1, 4), at(0, 2, 4)],
        PixelFormat::Bgra => vec![at(0, 2, 4), at(0, 1, 4), at(0, 0, 4)],
        PixelFormat::Grey => vec![at(0, 0, 1)],
        PixelFormat::Yuyv => {
            vec![at(0, 0, 2), shared(0, 1, 4, (2, 1)), shared(0, 3, 4, (2, 1))]
        }
        PixelFormat::Uyvy => {
            vec![at(0, 1, 2), shared(0, 0, 4, (2, 1)), shared(0, 2, 4, (2, 1))]
        }
        PixelFormat::Nv12 | PixelFormat::P010 => pairs(0, (2, 2)),
        PixelFormat::Nv21 => pairs(1, (2, 2)),
        PixelFormat::Nv16 => pairs(0, (2, 1)),
        PixelFormat::Nv24 => pairs(0, (1, 1)),
        PixelFormat::I420 => {
            vec![at(0, 0, 1), shared(1, 0, 1, (2, 2)), shared(2, 0, 1, (2, 2))]
        }
        PixelFormat::PlanarRgb | PixelFormat::PlanarRgba => {
            vec![at(0, 0, 1), at(1, 0, 1), at(2, 0, 1)]
        }
    }
}

/// The picture of a frame, by its own colour description. One without is taken for what its
/// format usually is: the full range for RGB and grey, BT.601 in the limited range for the others.
pub(super) fn picture(frame: &TensorDyn) -> Result<Picture, NoPicture> {
    let layout = frame.image_layout().ok_or(NoPicture::NoImage)?;
    let (format, dtype) = (layout.format(), layout.dtype());
    let (width, height) = (layout.width(), layout.height());
    let ten = format == PixelFormat::P010;
    if dtype != DType::U8 && !ten {
        return Err(NoPicture::Type { format, dtype });
    }
    let colour = frame.colour().unwrap_or_else(|| usual(format));
    let decoder = Decoder::new(format, colour);

    let flat = copied::flat(frame)?;
    let mut planes = vec![];
    let mut rest = flat.as_slice();
    for plane in layout.planes() {
        let bytes = plane.row_bytes.checked_mul(plane.rows).ok_or(copied::Uncopied::Uncounted)?;
        let (own, after) = rest.split_at_checked(bytes).unwrap_or((rest, &[]));
        planes.push((own, plane.row_bytes));
        rest = after;
    }

    let channels = channels(format);
    let samples = width.checked_mul(channels.len()).ok_or(copied::Uncopied::Uncounted)?;
    let bytes = samples.checked_mul(height).ok_or(copied::Uncopied::Uncounted)?;
    // Four bytes for each of one: of a single row of a gigabyte several times what came.
    let mut lines: Vec<f32> = copied::zeros(samples)?;
    let mut lines: Vec<&mut [f32]> = lines.chunks_mut(width.max(1)).collect();
    let mut bytes = copied::zeros(bytes)?;
    for (y, pixels) in bytes.chunks_mut(samples.max(1)).enumerate() {
        for (channel, line) in channels.iter().zip(&mut lines) {
            let (plane, row_bytes) = planes.get(channel.plane).copied().unwrap_or((&[], 1));
            let row = plane.chunks(row_bytes.max(1)).nth(y / channel.share.1).unwrap_or(&[]);
            if ten {
                spread(channel, line, row.chunks_exact(2).map(ten_bits));
            } else {
                spread(channel, line, row.iter().map(|byte| f32::from(*byte)));
            }
        }
        match lines.as_slice() {
            [one, two, three] => {
                let samples = one.iter().zip(two.iter()).zip(three.iter());
                for (to, ((one, two), three)) in pixels.chunks_exact_mut(3).zip(samples) {
                    to.copy_from_slice(&decoder.pixel([*one, *two, *three]).map(byte));
                }
            }
            only => {
                let samples = only.iter().flat_map(|line| line.iter());
                pixels
                    .iter_mut()
                    .zip(samples)
                    .for_each(|(to, grey)| *to = byte(decoder.level(*grey)));
            }
        }
    }
    Ok(Picture { width, height, channels: channels.len(), bytes })
}

/// One sample for each pixel of a line.
fn spread(channel: &Channel, line: &mut [f32], row: impl Iterator<Item = f32>) {
    let samples = row.skip(channel.first).step_by(channel.step);
    for (pixels, sample) in line.chunks_mut(channel.share.0).zip(samples) {
        pixels.fill(sample);
    }
}

/// A sample of 10 bits, in the upper part of 16, in units of 8 bits.
fn ten_bits(bytes: &[u8]) -> f32 {
    let [low, high] = *bytes else { return 0.0 };
    f32::from(u16::from_ne_bytes([low, high]) >> 6) / 4.0
}

fn byte(value: f32) -> u8 {
    // To the nearest: the cast cuts off, and saturates. Rounding is a call on old processors.
    (value + 0.5) as u8
}

fn usual(format: PixelFormat) -> Colour {
    let range = if format.is_yuv() { ColourRange::Limited } else { ColourRange::Full };
    Colour { matrix: ColourMatrix::Bt601, range }
}

/// From samples to red, green and blue, all from 0 to 255.
#[derive(Debug)]
struct Decoder {
    yuv: bool,
    /// What black is, and by how much luma (or red, green and blue) is stretched.
    black: f32,
    stretch: f32,
    /// Red from the red difference; green from the blue and the red one; blue from the blue one.
    red: f32,
    green: (f32, f32),
    blue: f32,
}

impl Decoder {
    fn new(format: PixelFormat, colour: Colour) -> Decoder {
        // What red and blue weigh in luma.
        let (red, blue) = match colour.matrix {
            ColourMatrix::Bt601 => (0.299, 0.114),
            ColourMatrix::Bt709 => (0.2126, 0.0722),
            ColourMatrix::Bt2020 => (0.2627, 0.0593),
        };
        let green: f32 = 1.0 - red - blue;
        let full = colour.range == ColourRange::Full;
        // The largest of 10 bits is a little more than four times the largest of 8.
        let most = if format == PixelFormat::P010 { 1023.0 / 4.0 } else { 255.0 };
        let (black, luma, chroma) = if full { (0.0, most, most) } else { (16.0, 219.0, 224.0) };
        let (from_red, from_blue) = (2.0 * (1.0 - red), 2.0 * (1.0 - blue));
        let chroma = 255.0 / chroma;
        Decoder {
            yuv: format.is_yuv(),
            black,
            stretch: 255.0 / luma,
            red: from_red * chroma,
            green: (-from_blue * blue / green * chroma, -from_red * red / green * chroma),
            blue: from_blue * chroma,
        }
    }

    fn level(&self, sample: f32) -> f32 {
        (sample - self.black) * self.stretch
    }

    fn pixel(&self, samples: [f32; 3]) -> [f32; 3] {
        if !self.yuv {
            return samples.map(|sample| self.level(sample));
        }
        let [luma, blue, red] = samples;
        let (luma, blue, red) = (self.level(luma), blue - 128.0, red - 128.0);
        [
            luma + self.red * red,
            luma + self.green.0 * blue + self.green.1 * red,
            luma + self.blue * blue,
        ]
    }
}
