//! Weights and matrices in fixed point, laid out as the kernels read them.

use std::ops::Range;

use crate::colour::Matrix;
use crate::engine::cpu::kernels::{BELOW, Band, Sum, Tap};
use crate::engine::cpu::pairs::PairTable;
use crate::engine::cpu::walk::Walk;
use crate::taps::Taps;

/// Bits after the point of rows between kernels: values up to 255 and a little for rounding, or up
/// to 512 where a filter overshoots or codes have a fraction themselves.
pub(crate) fn fraction_bits(above_255: bool) -> u32 {
    if above_255 { 6 } else { 7 }
}

/// How source rows are summed, the quickest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Down {
    /// In 16 bits.
    Narrow,
    /// In 16 bits, with one bit more after the point until sums are done.
    Finer,
    /// In 32 bits.
    Wide,
}

impl Down {
    /// Whether these taps can be summed so, with as many bits after the point.
    pub(crate) fn is_possible(self, taps: &Taps, fraction: u32) -> bool {
        // Sums of codes need no sign, if no weight has one; small weights leave room for a bit more.
        let small = |weight: &f64| (0.0..0.49).contains(weight);
        match self {
            Down::Narrow => taps.count <= usize::from(BELOW),
            Down::Finer => {
                let few = taps.count <= 2 * usize::from(BELOW);
                fraction == 7 && few && taps.weights.iter().all(small)
            }
            Down::Wide => true,
        }
    }
}

/// Weights of source rows.
#[derive(Debug)]
pub(crate) struct Vertical {
    taps: Vec<Tap>,
    /// For each output row where its taps end, and what their sum begins with.
    ends: Vec<(usize, i16)>,
    /// Bits after the point of the weights.
    pub(crate) bits: u32,
    /// Whether sums need 32 bits.
    pub(crate) wide: bool,
    /// Whether sums of 16 bits have one bit more after the point until they are done.
    pub(crate) finer: bool,
    /// Whether weights are below zero.
    pub(crate) signed: bool,
    /// Rows that a plane must have.
    pub(crate) rows: usize,
    /// The same sums in the order of source rows, where there is one.
    pub(crate) walk: Option<Walk>,
    /// The same by pairs of rows, where sums need 32 bits and there is no such order.
    pairs: Option<PairTable>,
}

impl Vertical {
    /// `widest` is the number of bits that sums in 32 bits leave to weights.
    pub(crate) fn new(taps: &Taps, fraction: u32, sums: Down, widest: u32) -> Vertical {
        let (finer, wide) = (sums == Down::Finer, sums == Down::Wide);
        let narrow = fraction + 8 + u32::from(finer);
        let bits = if wide { room(taps, widest, 32767.0) } else { narrow };
        let weights = rounded(taps, taps.count, bits);
        let mut all = vec![];
        let ends =
            taps.first.iter().zip(weights.chunks(taps.count.max(1))).map(|(first, weights)| {
                let start = all.len();
                let rows = weights.iter().enumerate().filter(|(_, weight)| **weight != 0);
                all.extend(rows.map(|(at, weight)| Tap::new(first + at, *weight)));
                (all.len(), Tap::lost(&all[start..]))
            });
        let ends: Vec<(usize, i16)> = ends.collect();
        let rows = all.iter().map(|tap| tap.row as usize + 1).max().unwrap_or(0);
        let signed = all.iter().any(|tap| tap.negative);
        let walk = Walk::of(&all, ends.iter().map(|(end, _)| *end));
        let pairs = (wide && walk.is_none())
            .then(|| PairTable::of(&all, ends.iter().map(|(end, _)| *end)))
            .flatten();
        Vertical { taps: all, ends, bits, wide, finer, signed, rows, walk, pairs }
    }

    /// Source rows of an output row, with their weights, and what their sum begins with.
    pub(crate) fn taps(&self, output: usize) -> (&[Tap], i16) {
        let Some(&(end, begin)) = self.ends.get(output) else { return (&[], 0) };
        let start = output.checked_sub(1).map_or(0, |before| self.ends[before].0);
        (&self.taps[start..end], begin)
    }

    /// The sums of some output rows; `sum` tells all but their taps, `goes_on` whether the band after
    /// them is next.
    pub(crate) fn band<'a>(&'a self, sum: Sum<'a>, rows: &Range<usize>, goes_on: bool) -> Band<'a> {
        let start = rows.start.checked_sub(1).map_or(0, |before| self.ends[before].0);
        let steps = self.walk.as_ref().and_then(|walk| walk.steps(rows));
        let pairs = self.pairs.as_ref().map(|pairs| pairs.band(rows));
        Band { sum, taps: &self.taps, start, ends: &self.ends[rows.clone()], steps, pairs, goes_on }
    }

    /// The most source rows from the first to the last that an output row is made of.
    pub(crate) fn most(&self) -> usize {
        let reach = |output: usize| match self.taps(output).0 {
            [] => 0,
            [first, .., last] => (last.row - first.row) as usize + 1,
            [_] => 1,
        };
        (0..self.ends.len()).map(reach).max().unwrap_or(0)
    }

    /// Whether every output row is a source row.
    pub(crate) fn is_copy(&self) -> bool {
        self.taps.len() == self.ends.len()
    }

    /// Whether two output rows are made of the same rows in the same way.
    pub(crate) fn alike(&self, one: usize, other: usize) -> bool {
        self.taps(one).0 == self.taps(other).0
    }
}

/// Outputs that are made together: rows of a band, pixels of a vector.
pub(crate) const LANES: usize = 16;

/// Weights of samples along a row.
#[derive(Debug, PartialEq)]
pub(crate) struct Horizontal {
    /// First sample of each output.
    pub(crate) first: Vec<usize>,
    /// Samples of each output; even where sums need 32 bits.
    pub(crate) count: usize,
    /// `count` weights for each output, twice in a row where sums are of 16 bits.
    pub(crate) weights: Vec<i16>,
    /// Bits after the point of the weights.
    pub(crate) bits: u32,
    /// Whether sums need 32 bits.
    pub(crate) wide: bool,
}

impl Horizontal {
    /// Whether these taps can be summed in 16 bits.
    pub(crate) fn may_be_narrow(taps: &Taps) -> bool {
        // A filter that overshoots has weights above one, which 16 bits with 15 after the point
        // do not hold. One itself, at the ends of rows, is a little less there.
        let above_one = taps.count > 1 && taps.weights.iter().any(|weight| *weight > 1.0001);
        taps.count <= 16 && !above_one
    }

    pub(crate) fn new(taps: &Taps, wide: bool) -> Horizontal {
        // Sums of 16 bits are rounded one by one; sums of 32 bits leave 16 to weights, one less
        // where weights below zero let the others sum to more than one. One itself, which many
        // tables have and which does not fit, is a little less here too.
        let most = if taps.weights.iter().all(|weight| *weight >= 0.0) { 16 } else { 15 };
        let bits = if wide { room(taps, most, 32768.0 + 0.5) } else { 15 };
        let count = if wide { taps.count.next_multiple_of(2) } else { taps.count };
        let repeated = if wide { 1 } else { 2 };
        let narrowed =
            |weight| std::iter::repeat_n(i32::clamp(weight, -32768, 32767) as i16, repeated);
        let weights = rounded(taps, count, bits).into_iter().flat_map(narrowed).collect();
        Horizontal { first: taps.first.clone(), count, weights, bits, wide }
    }

    /// The weights of the outputs from `output` on.
    pub(crate) fn weights_from(&self, output: usize) -> &[i16] {
        &self.weights[output * self.stride()..]
    }

    /// Weights from one output to the next.
    fn stride(&self) -> usize {
        if self.wide { self.count } else { 2 * self.count }
    }

    /// The samples that some outputs are made of: from the first to one past the last.
    pub(crate) fn samples(&self, outputs: Range<usize>) -> Range<usize> {
        let (mut start, mut end) = (usize::MAX, 0);
        for output in outputs {
            let first = self.first[output];
            let weights = &self.weights_from(output)[..self.stride()];
            let last = weights.iter().rposition(|weight| *weight != 0).unwrap_or(0);
            let last = last * self.count / self.stride();
            (start, end) = (start.min(first), end.max(first + last + 1));
        }
        start.min(end)..end
    }

    /// The lowest and the highest first sample of some outputs.
    pub(crate) fn firsts(&self, outputs: Range<usize>) -> (usize, usize) {
        let first = &self.first[outputs];
        let (lowest, highest) = (first.iter().min(), first.iter().max());
        (lowest.copied().unwrap_or(0), highest.copied().unwrap_or(0))
    }

    /// Whether each output is the sample of its own number from the first on.
    pub(crate) fn is_copy(&self) -> bool {
        let start = self.first.first().copied().unwrap_or(0);
        self.count == 1 && self.first.iter().enumerate().all(|(at, first)| *first == start + at)
    }
}

/// The most bits after the point, up to `most`, that keep every weight within `limit`.
fn room(taps: &Taps, most: u32, limit: f64) -> u32 {
    let largest = taps.weights.iter().fold(0.0f64, |largest, weight| largest.max(weight.abs()));
    (0..=most).rev().find(|bits| largest * f64::from(1u32 << bits) <= limit).unwrap_or(0)
}

/// Weights as integers, `stride` for each output. Running sums are rounded, not weights alone, so
/// that the sum is exact and neighbours make up for each other.
pub(crate) fn rounded(taps: &Taps, stride: usize, bits: u32) -> Vec<i32> {
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
    /// The same for chroma that is as much above as below zero: of luma alone.
    pub(crate) luma_offset: i16,
}

/// The code of chroma that has no colour.
pub(crate) const MIDDLE: f64 = 128.0;

/// Bits after the point that a matrix costs.
pub(crate) const MATRIX_COST: u32 = 2;

impl FixedMatrix {
    pub(crate) fn new(matrix: &Matrix, fraction: u32) -> FixedMatrix {
        let unit = f64::from(1u32 << (fraction - MATRIX_COST));
        let chroma = matrix.rows[0][1] + matrix.rows[0][2];
        FixedMatrix {
            rows: matrix.rows.map(|row| row.map(|factor| (factor * 8192.0).round() as i16)),
            offset: matrix.offset.map(|offset| (offset * unit).round() as i16),
            luma_offset: ((matrix.offset[0] + MIDDLE * chroma) * unit).round() as i16,
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
                let ways = [Down::Narrow, Down::Finer, Down::Wide];
                let sums = ways.into_iter().find(|sums| sums.is_possible(&taps, 7));
                let vertical = Vertical::new(&taps, 7, sums.unwrap(), 22);
                let horizontal = Horizontal::new(&taps, !Horizontal::may_be_narrow(&taps));
                for output in 0..outputs {
                    let sum: i32 = vertical.taps(output).0.iter().map(Tap::weight).sum();
                    assert_eq!(sum, 1 << vertical.bits, "{filter} {pixels} {outputs}");
                    let own = &horizontal.weights_from(output)[..horizontal.stride()];
                    let own = own.iter().step_by(horizontal.stride() / horizontal.count);
                    let weights: Vec<i16> = own.copied().collect();
                    let sum: i32 = weights.iter().map(|weight| i32::from(*weight)).sum();
                    // A single weight is one, which needs no multiplication or is a little less.
                    let single = weights.iter().filter(|weight| **weight != 0).count() == 1;
                    assert!(single || sum == 1 << horizontal.bits, "{filter} {pixels} {outputs}");
                    assert!(horizontal.count == 1 || sum >= (1 << horizontal.bits) - 1);
                }
            }
        }
    }
}
