//! A camera that every machine has: bars that move, and the number of each frame, for people in
//! digits and for programs as stripes. The same frame has the same bytes everywhere.
//!
//! The topmost sixteen rows are 32 blocks, white for the ones and black for the zeros of the
//! frame's number, the lowest bit on the left. Below are eight colour bars that move to the left,
//! four pixels a frame; the last quarter is a ramp from dark to bright that moves to the right.

use tenure::stream::{Publisher, Slot, Spec};
use tenure::{Colour, PixelFormat};

use super::{Source, Taken, Tensor};
use crate::capture::Size;
use crate::clock;
use crate::run::Problem;
use crate::run::pace::Pace;
use crate::stop::Stop;

/// What it shows unless asked otherwise.
const USUAL: Size = Size { width: 1280, height: 720 };
/// Rows of the stripes.
const STRIPES: usize = 16;
/// Bits of the number in the stripes.
const BITS: usize = 32;
/// Pixels that bars move between two frames: whole samples of chroma.
const STEP: u64 = 4;
/// White and black of limited range.
const WHITE: u8 = 235;
const BLACK: u8 = 16;
/// Luma and chroma of the bars: white to black at three quarters, as television has them.
const BARS: [[u8; 3]; 8] = [
    [180, 128, 128],
    [168, 44, 136],
    [145, 147, 44],
    [133, 63, 52],
    [63, 193, 204],
    [51, 109, 212],
    [28, 212, 120],
    [16, 128, 128],
];
/// Digits, five pixels across and seven down; the lowest bit is on the right.
const DIGITS: [[u8; 7]; 10] = [
    [14, 17, 17, 17, 17, 17, 14],
    [4, 12, 4, 4, 4, 4, 14],
    [14, 17, 1, 2, 4, 8, 31],
    [31, 2, 4, 2, 1, 17, 14],
    [2, 6, 10, 18, 31, 2, 2],
    [31, 16, 30, 1, 1, 17, 14],
    [6, 8, 16, 30, 17, 17, 14],
    [31, 1, 2, 4, 8, 8, 8],
    [14, 17, 17, 14, 17, 17, 14],
    [14, 17, 17, 15, 1, 2, 12],
];
/// How many digits are shown.
const SHOWN: u32 = 6;

/// The test camera.
pub(super) struct TestCamera {
    size: Size,
    fps: f64,
    spec: Spec,
    /// The number of the next frame.
    number: u64,
    pace: Pace,
    card: Card,
}

impl TestCamera {
    pub(super) fn new(size: Option<Size>, fps: f64) -> Result<TestCamera, Problem> {
        let size = size.unwrap_or(USUAL);
        let Size { width, height } = size;
        let possible = |number: u32| (64..=8192).contains(&number) && number.is_multiple_of(2);
        if !possible(width) || !possible(height) {
            return Err(Problem::TestSize { width, height });
        }
        let (across, down) = (width as usize, height as usize);
        let spec = Spec::image(across, down, PixelFormat::Nv12)?.with_colour(Colour::HD);
        let card = Card::new(across, down);
        Ok(TestCamera { size, fps, spec, number: 0, pace: Pace::new(fps), card })
    }
}

impl Source for TestCamera {
    fn about(&self) -> String {
        let Size { width, height } = self.size;
        format!("test camera, nv12 {width}x{height} at {} fps", self.fps)
    }

    fn next(&mut self, frames: &mut Publisher, stop: &Stop) -> Result<Option<Taken>, Problem> {
        let Some(missed) = self.pace.wait(stop) else { return Ok(None) };
        // As a camera does: the picture goes on, whether or not somebody takes it.
        self.number += missed;
        let timestamp = clock::now();
        let slot = frames.claim_as(&self.spec)?;
        self.card.draw(&slot, self.number)?;
        self.number += 1;
        Ok(Some(Taken { tensor: Tensor::Filled(slot), timestamp, missed }))
    }
}

/// Rows that frames are made of, each twice as long as a frame is wide: where one begins is how far
/// it has moved.
struct Card {
    width: usize,
    height: usize,
    bars: Vec<u8>,
    bars_chroma: Vec<u8>,
    ramp: Vec<u8>,
}

impl Card {
    fn new(width: usize, height: usize) -> Card {
        let bar = |x: usize| BARS.get(x % width * BARS.len() / width).copied().unwrap_or_default();
        let level = |x: usize| {
            let level = x % width * usize::from(WHITE - BLACK) / width;
            BLACK + u8::try_from(level).unwrap_or(0)
        };
        let bars = (0..2 * width).map(|x| bar(x)[0]).collect();
        let chroma = (0..width).flat_map(|pair| {
            let [_, blue, red] = bar(2 * pair);
            [blue, red]
        });
        let ramp = (0..2 * width).map(level).collect();
        Card { width, height, bars, bars_chroma: chroma.collect(), ramp }
    }

    /// Draws frame `number`, every byte of it.
    fn draw(&self, slot: &Slot, number: u64) -> Result<(), Problem> {
        let width = self.width as u64;
        let moved = (number.wrapping_mul(STEP) % width) as usize;
        let back = self.width - moved;
        let part = |row: &[u8], from: usize| {
            row.get(from..from + self.width).map(<[u8]>::to_vec).unwrap_or_default()
        };
        let (bars, ramp, colours) =
            (part(&self.bars, moved), part(&self.ramp, back), part(&self.bars_chroma, moved));
        let grey = vec![128; self.width];
        let stripes = self.stripes(number);
        let last_quarter = self.height - self.height / 4;
        {
            let luma = slot.plane(0)?;
            let mut map = luma.map_rows()?;
            let mut rows: Vec<&mut [u8]> = map.rows_mut().collect();
            for (y, row) in rows.iter_mut().enumerate() {
                let from = match y {
                    _ if y < STRIPES => &stripes,
                    _ if y < last_quarter => &bars,
                    _ => &ramp,
                };
                copy(row, from);
            }
            self.digits(&mut rows, number);
        }
        let chroma = slot.plane(1)?;
        let mut map = chroma.map_rows()?;
        for (y, row) in map.rows_mut().enumerate() {
            let coloured = 2 * y >= STRIPES && 2 * y < last_quarter;
            copy(row, if coloured { &colours } else { &grey });
        }
        Ok(())
    }

    /// The number as a row of blocks.
    fn stripes(&self, number: u64) -> Vec<u8> {
        let bit = |x: usize| number >> (x * BITS / self.width) & 1 == 1;
        (0..self.width).map(|x| if bit(x) { WHITE } else { BLACK }).collect()
    }

    /// The number in digits, in the middle of the last quarter.
    fn digits(&self, rows: &mut [&mut [u8]], number: u64) {
        let scale = (self.width / 160).max(1);
        let (across, down) = (6 * scale, 7 * scale);
        let left = (self.width - across * SHOWN as usize) / 2;
        let top = self.height - self.height / 8 - down / 2;
        // A frame around them, so that they can be read before any ramp.
        for row in rows.iter_mut().skip(top - scale).take(down + 2 * scale) {
            let width = across * SHOWN as usize + scale;
            row.iter_mut().skip(left - scale).take(width).for_each(|pixel| *pixel = BLACK);
        }
        for place in 0..SHOWN {
            let digit = number / 10u64.pow(SHOWN - 1 - place) % 10;
            let digit = DIGITS.get(digit as usize).copied().unwrap_or_default();
            for (y, row) in rows.iter_mut().skip(top).take(down).enumerate() {
                let bits = digit.get(y / scale).copied().unwrap_or(0);
                let from = left + place as usize * across;
                for (x, pixel) in row.iter_mut().skip(from).take(across).enumerate() {
                    let on = x / scale < 5 && bits >> (4 - x / scale) & 1 == 1;
                    *pixel = if on { WHITE } else { BLACK };
                }
            }
        }
    }
}

fn copy(row: &mut [u8], from: &[u8]) {
    let most = row.len().min(from.len());
    let (to, _) = row.split_at_mut(most);
    let (from, _) = from.split_at(most);
    to.copy_from_slice(from);
}
