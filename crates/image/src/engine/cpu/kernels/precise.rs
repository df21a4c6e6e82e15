//! What kernels are told that sum in floating point, for results that fixed point is not exact
//! enough for.

use std::ops::Range;

use super::Real;
use crate::engine::cpu::fixed::LANES;
use crate::taps::Taps;

/// Samples that lie beside each other, and their weights, for each output.
#[derive(Debug, PartialEq)]
pub(crate) struct Runs {
    firsts: Vec<usize>,
    /// Where the weights of each output end.
    ends: Vec<usize>,
    weights: Vec<f32>,
    /// The most of an output.
    most: usize,
}

impl Runs {
    pub(crate) fn new(taps: &Taps) -> Runs {
        let (mut ends, mut weights) = (vec![], vec![]);
        for output in 0..taps.first.len() {
            let own = taps.weights_of(output);
            let end = own.iter().rposition(|weight| *weight != 0.0).map_or(0, |last| last + 1);
            weights.extend(own[..end].iter().map(|weight| *weight as f32));
            ends.push(weights.len());
        }
        Runs { firsts: taps.first.clone(), ends, weights, most: taps.count }
    }

    pub(crate) fn len(&self) -> usize {
        self.firsts.len()
    }

    /// The first sample of an output, and the weights of that and those after it.
    #[inline(always)]
    pub(crate) fn run(&self, output: usize) -> (usize, &[f32]) {
        let start = output.checked_sub(1).map_or(0, |before| self.ends[before]);
        (self.firsts[output], &self.weights[start..self.ends[output]])
    }

    /// Samples for which there must be room, so that none of an output is in the place of another: a
    /// power of two.
    pub(crate) fn most_kept(&self) -> usize {
        self.most.next_power_of_two()
    }

    /// The samples that some outputs are made of: from the first to one past the last.
    pub(crate) fn samples(&self, outputs: Range<usize>) -> Range<usize> {
        let (mut start, mut end) = (usize::MAX, 0);
        for (first, weights) in outputs.map(|output| self.run(output)) {
            (start, end) = (start.min(first), end.max(first + weights.len()));
        }
        start.min(end)..end
    }
}

/// Output rows, up to as many as a column has numbers, that are sums of source rows.
#[derive(Debug)]
pub(crate) struct RowSums<'a> {
    /// The first element of the plane's first row that is summed.
    pub(crate) first: *const u8,
    /// Bytes from a row to the next.
    pub(crate) stride: usize,
    /// Whether elements are words, of 256 for a code.
    pub(crate) words: bool,
    pub(crate) down: &'a Runs,
    pub(crate) rows: Range<usize>,
}

/// Columns that are made together, for which source rows are kept as numbers: most are part of
/// several output rows.
pub(crate) const TOGETHER: usize = 64;

/// The source rows of some output rows that are not present already: those after them, or before them
/// where rows fall. These are present then.
#[cfg_attr(
    not(any(target_arch = "x86_64", test)),
    expect(dead_code, reason = "others keep no rows")
)]
pub(crate) fn missing(present: &mut Range<usize>, needed: Range<usize>) -> [Range<usize>; 2] {
    let after = needed.start.max(present.end)..needed.end;
    let before = needed.start..needed.end.min(present.start);
    *present = needed;
    [after, before]
}

impl RowSums<'_> {
    /// What the number of a source row is limited to by exclusion of bits, for its place among those
    /// that are kept.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "others keep no rows"))]
    pub(crate) fn mask(&self, kept: &[f32]) -> usize {
        let rows = self.down.most_kept();
        assert!(kept.len() >= rows * TOGETHER);
        rows - 1
    }

    /// Where a source row has the first element.
    #[inline(always)]
    pub(crate) fn row(&self, row: usize) -> *const u8 {
        self.first.wrapping_add(row * self.stride)
    }
}

/// Outputs along rows that are columns.
#[derive(Debug)]
pub(crate) struct ColumnSums<'a> {
    pub(crate) across: &'a Runs,
    pub(crate) outputs: Range<usize>,
    /// The sample that is in the first column.
    pub(crate) start: usize,
    /// Columns from one sample to the next.
    pub(crate) step: usize,
}

impl ColumnSums<'_> {
    /// The columns of an output from its first on, with its weights.
    #[inline(always)]
    pub(crate) fn run<'a>(&'a self, output: usize, columns: &'a [f32]) -> (&'a [f32], &'a [f32]) {
        let (first, weights) = self.across.run(output);
        (&columns[(first - self.start) * self.step * LANES..], weights)
    }
}

/// What is stored: shares of numbers, and what is added and does not depend on them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blend<'a> {
    pub(crate) parts: &'a [(f32, &'a [f32])],
    pub(crate) offset: f32,
    /// What the result is limited to.
    pub(crate) least: f32,
    pub(crate) most: f32,
}

/// The loops of one instruction set that sum in floating point.
///
/// # Safety of all of them
/// As of [`super::Kernels`].
#[derive(Clone, Copy)]
pub(crate) struct Precise {
    /// Sums of source rows to columns, as many as there is room for in the last; there is room for
    /// rows that are kept in the other.
    pub(crate) rows: unsafe fn(&RowSums<'_>, &mut [f32], &mut [f32]),
    /// Sums of columns to columns, one for each output.
    pub(crate) columns: unsafe fn(&ColumnSums<'_>, &[f32], &mut [f32]),
    /// As many numbers as there is room for.
    pub(crate) blend: unsafe fn(Blend<'_>, &mut [f32]),
    /// Columns to rows, `stride` apart.
    pub(crate) to_rows: unsafe fn(&[f32], usize, &mut [f32]),
    /// As many pixels of one to four rows, between each other.
    pub(crate) store: unsafe fn(&[&[f32]], usize, Real, *mut u8),
}
