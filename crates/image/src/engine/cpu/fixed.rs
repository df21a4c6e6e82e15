//! Weights and matrices in fixed point, laid out as the kernels read them.

use crate::colour::Matrix;
use crate::taps::Taps;

/// Bits after the point of rows between kernels: values up to 256, or up to 512 where a filter
/// overshoots.
pub(crate) fn fraction_bits(overshoots: bool) -> u32 {
    if overshoots { 6 } else { 7 }
}

/// Most source rows that are summed in 16 bits: every product loses up to 1/128 of a code.
const NARROW: usize = 16;

/// Weights of source rows.
#[derive(Debug)]
pub(crate) struct Vertical {
    first: Vec<usize>,
    count: usize,
    weights: Vec<i32>,
    /// Bits after the point of the weights.
    pub(crate) bits: u32,
    /// Whether sums need 32 bits.
    pub(crate) wide: bool,
    pub(crate) signed: bool,
}

impl Vertical {
    /// `widest` is the number of bits that sums in 32 bits leave to weights.
    pub(crate) fn new(taps: &Taps, fraction: u32, widest: u32) -> Vertical {
        let wide = taps.count > NARROW;
        let bits = if wide { room(taps, widest, 32767.0) } else { fraction + 8 };
        let weights = rounded(taps, taps.count, bits);
        let signed = weights.iter().any(|weight| *weight < 0);
        Vertical { first: taps.first.clone(), count: taps.count, weights, bits, wide, signed }
    }

    /// Source rows of an output row, with their weights.
    pub(crate) fn rows(&self, output: usize) -> impl Iterator<Item = (usize, i32)> {
        let first = self.first.get(output).copied().unwrap_or(0);
        let weights = self.weights.get(output * self.count..(output + 1) * self.count);
        let weights = weights.unwrap_or(&[]).iter().enumerate();
        weights.filter(|(_, weight)| **weight != 0).map(move |(at, weight)| (first + at, *weight))
    }

    /// Whether two outputs are made of the same rows in the same way.
    pub(crate) fn alike(&self, one: usize, other: usize) -> bool {
        self.rows(one).eq(self.rows(other))
    }
}

/// Weights of samples along a row, padded so that kernels read whole vectors.
#[derive(Debug)]
pub(crate) struct Horizontal {
    /// Samples read for each output: 4, 8 or a multiple of 16.
    pub(crate) window: usize,
    /// First sample of each output, counted from the start of the row buffer.
    pub(crate) first: Vec<u32>,
    /// `window` weights for each output.
    pub(crate) weights: Vec<i16>,
    /// Bits after the point of the weights.
    pub(crate) bits: u32,
}

/// Outputs are padded to a multiple of this.
pub(crate) const LANES: usize = 16;

impl Horizontal {
    /// Taps counted from sample `start` on.
    pub(crate) fn new(taps: &Taps, start: usize) -> Horizontal {
        let window = match taps.count {
            0..=4 => 4,
            5..=8 => 8,
            more => more.next_multiple_of(16),
        };
        let bits = room(taps, 16, 32767.0);
        let mut first: Vec<u32> = taps.first.iter().map(|first| (first - start) as u32).collect();
        let outputs = first.len().next_multiple_of(LANES);
        first.resize(outputs, 0);
        let mut weights: Vec<i16> =
            rounded(taps, window, bits).into_iter().map(|weight| weight as i16).collect();
        weights.resize(outputs * window, 0);
        Horizontal { window, first, weights, bits }
    }
}

/// The most bits after the point, up to `most`, that keep every weight within `limit`.
fn room(taps: &Taps, most: u32, limit: f64) -> u32 {
    let largest = taps.weights.iter().fold(0.0f64, |largest, weight| largest.max(weight.abs()));
    (0..=most).rev().find(|bits| largest * f64::from(1u32 << bits) <= limit).unwrap_or(0)
}

/// Weights as integers, `stride` for each output. Running sums are rounded, not weights alone, so
/// that the sum is exact and neighbours make up for each other.
fn rounded(taps: &Taps, stride: usize, bits: u32) -> Vec<i32> {
    let one = f64::from(1u32 << bits);
    let mut all = vec![0; taps.first.len() * stride];
    for (weights, into) in taps.weights.chunks(taps.count.max(1)).zip(all.chunks_mut(stride)) {
        let (mut sum, mut before) = (0.0, 0);
        for (weight, into) in weights.iter().zip(into) {
            sum += weight * one;
            let now = sum.round() as i32;
            *into = now - before;
            before = now;
        }
    }
    all
}

/// A colour matrix in fixed point: `(row * in) >> 15`, two bits after the point fewer than given.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FixedMatrix {
    /// Thirteen bits after the point.
    pub(crate) rows: [[i16; 3]; 3],
    /// In the units of the result.
    pub(crate) offset: [i16; 3],
}

/// Bits after the point that a matrix costs.
pub(crate) const MATRIX_COST: u32 = 2;

impl FixedMatrix {
    pub(crate) fn new(matrix: &Matrix, fraction: u32) -> FixedMatrix {
        let unit = f64::from(1u32 << (fraction - MATRIX_COST));
        FixedMatrix {
            rows: matrix.rows.map(|row| row.map(|factor| (factor * 8192.0).round() as i16)),
            offset: matrix.offset.map(|offset| (offset * unit).round() as i16),
        }
    }

    /// Whether this is the matrix from luma and chroma to red, green and blue: luma in each, no
    /// blue difference in red, no red difference in blue.
    pub(crate) fn is_to_rgb(&self) -> bool {
        let [red, green, blue] = self.rows;
        red[0] == green[0] && green[0] == blue[0] && red[1] == 0 && blue[2] == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::Filter;
    use crate::geometry::Axis;
    use crate::taps::Samples;

    #[test]
    fn weights_sum_exactly() {
        for filter in Filter::all() {
            for (pixels, outputs) in [(1920, 640), (3840, 224), (100, 333), (5000, 2), (7, 7)] {
                let axis = Axis { start: 0.0, length: pixels as f64, outputs, mirrored: false };
                let (all, out) =
                    (Samples::new(0, pixels, 1, None), Samples::new(0, outputs, 1, None));
                let taps = Taps::new(filter, &axis, &all, &out);
                let vertical = Vertical::new(&taps, 7, 22);
                let horizontal = Horizontal::new(&taps, 0);
                for output in 0..outputs {
                    let sum: i32 = vertical.rows(output).map(|(_, weight)| weight).sum();
                    assert_eq!(sum, 1 << vertical.bits, "{filter} {pixels} {outputs}");
                    let own = &horizontal.weights[output * horizontal.window..];
                    let sum: i32 = own[..horizontal.window].iter().map(|w| i32::from(*w)).sum();
                    assert_eq!(sum, 1 << horizontal.bits, "{filter} {pixels} {outputs}");
                }
            }
        }
    }
}
