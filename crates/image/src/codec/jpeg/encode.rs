//! Writing JPEG: baseline, with the tables of the standard. By hand, because the encoders there
//! are take over code under a licence with conditions of its own.

use std::f32::consts::PI;
use std::io::Write;

use tenure_layout::PixelFormat;
use tenure_tensor::TensorDyn;

use super::MOST_SIDE;
use super::entropy::Entropy;
use super::tables::{FIRST, OTHERS, ZIGZAG, steps};
use crate::codec::rows::Rows;
use crate::{Error, Result};

/// From this quality on every pixel keeps its colour.
const ALL_COLOURS: u8 = 90;
/// Pixels on a side of a block.
const SIDE: usize = 8;

/// Writes a picture that is in one of the formats that are stored.
pub(in crate::codec) fn encode(
    picture: &TensorDyn,
    quality: u8,
    mut writer: impl Write,
) -> Result<()> {
    if !(1..=100).contains(&quality) {
        return Err(Error::Quality { quality });
    }
    let (width, height) = (picture.width().unwrap_or(0), picture.height().unwrap_or(0));
    let too_large = || Error::TooLarge { width, height, limit: MOST_SIDE };
    let [across, down] = [u16::try_from(width), u16::try_from(height)];
    let (Ok(across), Ok(down)) = (across, down) else { return Err(too_large()) };
    let grey = picture.format() == Some(PixelFormat::Grey);
    let channels = if grey { 1 } else { 3 };
    let share = if grey || quality >= ALL_COLOURS { 1 } else { 2 };
    let steps = steps(quality);
    writer.write_all(&head(across, down, grey, share, &steps))?;

    let rows = Rows::new(picture)?;
    let rows_list: Vec<&[u8]> = rows.iter().collect();
    let pixels = Pixels::new(&rows_list, picture.format());
    let mut entropy = Entropy::new(writer);
    let transform = Transform::new(&steps);
    let mut before = [0; 3];
    let unit = SIDE * share;
    for top in (0..height).step_by(unit) {
        for left in (0..width).step_by(unit) {
            for (y, x) in (0..share * share).map(|at| (at / share, at % share)) {
                let block = pixels.block(0, left + x * SIDE, top + y * SIDE, 1);
                before[0] = put(&mut entropy, &transform, &block, before[0], 0)?;
            }
            for (channel, before) in before.iter_mut().enumerate().take(channels).skip(1) {
                let block = pixels.block(channel, left, top, share);
                *before = put(&mut entropy, &transform, &block, *before, 1)?;
            }
        }
    }
    let mut writer = entropy.finish()?;
    writer.write_all(&[0xff, 0xd9])?;
    writer.flush()?;
    rows.intact()
}

/// Writes one block; gives its first coefficient.
fn put<W: Write>(
    entropy: &mut Entropy<W>,
    transform: &Transform,
    block: &[f32; 64],
    before: i32,
    tables: usize,
) -> Result<i32> {
    let coefficients = transform.apply(block, tables);
    entropy.block(&coefficients, before, tables)?;
    Ok(coefficients[0])
}

/// Everything before the blocks.
fn head(width: u16, height: u16, grey: bool, share: usize, steps: &[[u8; 64]; 2]) -> Vec<u8> {
    let mut head = vec![0xff, 0xd8];
    let mut segment = |marker: u8, bytes: &[u8]| {
        head.extend([0xff, marker]);
        head.extend((bytes.len() as u16 + 2).to_be_bytes());
        head.extend(bytes);
    };
    // Square pixels of no known size.
    segment(0xe0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0");
    let kinds = if grey { 1 } else { 2 };
    for (number, steps) in (0u8..).zip(steps.iter().take(kinds)) {
        let mut bytes = vec![number];
        bytes.extend(ZIGZAG.iter().map(|&place| steps[usize::from(place & 63)]));
        segment(0xdb, &bytes);
    }
    let components = if grey { 1 } else { 3 };
    let mut frame = vec![8];
    frame.extend(height.to_be_bytes());
    frame.extend(width.to_be_bytes());
    frame.push(components);
    let mut scan = vec![components];
    for component in 1..=components {
        let (factor, table) = if component == 1 { (share as u8 * 0x11, 0) } else { (0x11, 1) };
        frame.extend([component, factor, table]);
        scan.extend([component, table * 0x11]);
    }
    segment(0xc0, &frame);
    for (class, specs) in [(0x00, &FIRST), (0x10, &OTHERS)] {
        for (number, spec) in (class..).zip(specs.iter().take(kinds)) {
            let mut bytes = vec![number];
            bytes.extend(spec.counts);
            bytes.extend(spec.values);
            segment(0xc4, &bytes);
        }
    }
    scan.extend([0, 63, 0]);
    segment(0xda, &scan);
    head
}

/// The pixels as luma and chroma.
struct Pixels<'a> {
    rows: &'a [&'a [u8]],
    /// Bytes of a pixel, and where its red, green and blue are.
    size: usize,
    order: [usize; 3],
}

/// Luma, blue and red difference from red, green and blue, and what is added.
const MATRIX: [([f32; 3], f32); 3] = [
    ([0.299, 0.587, 0.114], -128.0),
    ([-0.168_735_9, -0.331_264_1, 0.5], 0.0),
    ([0.5, -0.418_687_6, -0.081_312_4], 0.0),
];

impl<'a> Pixels<'a> {
    fn new(rows: &'a [&'a [u8]], format: Option<PixelFormat>) -> Pixels<'a> {
        let (size, order) = match format {
            Some(PixelFormat::Grey) => (1, [0; 3]),
            Some(PixelFormat::Bgr) => (3, [2, 1, 0]),
            Some(PixelFormat::Rgba) => (4, [0, 1, 2]),
            Some(PixelFormat::Bgra) => (4, [2, 1, 0]),
            _ => (3, [0, 1, 2]),
        };
        Pixels { rows, size, order }
    }

    /// A block of one channel, each value the mean of `share` by `share` pixels, with the last
    /// pixels repeated beyond the edges.
    fn block(&self, channel: usize, left: usize, top: usize, share: usize) -> [f32; 64] {
        let ([red, green, blue], add) = MATRIX[channel % 3];
        let part = 1.0 / (share * share) as f32;
        let mut block = [0.0; 64];
        for (at, value) in block.iter_mut().enumerate() {
            let (x, y) = (left + at % SIDE * share, top + at / SIDE * share);
            let mut sum = 0.0;
            for (x, y) in (0..share * share).map(|at| (x + at % share, y + at / share)) {
                let [r, g, b] = self.at(x, y);
                sum += red * r + green * g + blue * b;
            }
            *value = sum * part + add;
        }
        block
    }

    fn at(&self, x: usize, y: usize) -> [f32; 3] {
        let row = self.rows[y.min(self.rows.len() - 1)];
        let first = (x * self.size).min(row.len() - self.size);
        self.order.map(|place| f32::from(row[first + place]))
    }
}

/// The cosine transform and the steps it is divided by.
struct Transform {
    /// `cosines[k][n]`, scaled so that the transform keeps lengths.
    cosines: [[f32; SIDE]; SIDE],
    /// One over the steps of luma and of chroma, in rows.
    steps: [[f32; 64]; 2],
}

impl Transform {
    fn new(steps: &[[u8; 64]; 2]) -> Transform {
        let cosine = |k: usize, n: usize| {
            let scale = if k == 0 { 0.125f32.sqrt() } else { 0.5 };
            scale * ((2 * n + 1) as f32 * k as f32 * PI / 16.0).cos()
        };
        Transform {
            cosines: std::array::from_fn(|k| std::array::from_fn(|n| cosine(k, n))),
            steps: steps.map(|steps| steps.map(|step| 1.0 / f32::from(step))),
        }
    }

    /// The quantised coefficients of a block, in rows.
    fn apply(&self, block: &[f32; 64], tables: usize) -> [i32; 64] {
        let mut across = [0.0f32; 64];
        for (from, to) in block.chunks_exact(SIDE).zip(across.chunks_exact_mut(SIDE)) {
            for (value, cosines) in to.iter_mut().zip(&self.cosines) {
                *value = from.iter().zip(cosines).map(|(a, b)| a * b).sum();
            }
        }
        let steps = &self.steps[tables & 1];
        let mut both = [0; 64];
        for (k, cosines) in self.cosines.iter().enumerate() {
            let mut row = [0.0f32; SIDE];
            for (from, cosine) in across.chunks_exact(SIDE).zip(cosines) {
                row.iter_mut().zip(from).for_each(|(sum, value)| *sum += cosine * value);
            }
            for (x, value) in row.iter().enumerate() {
                both[k * SIDE + x] = (value * steps[k * SIDE + x]).round() as i32;
            }
        }
        both
    }
}
