//! What kernels are told that sum rows while they resize them with the same weights all along.

use std::ops::Range;

/// How outputs are made of as many neighbouring samples each.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Uniform<const SAMPLES: usize> {
    /// The outputs that all have the same weights: not those at the ends of the row.
    pub(crate) same: Range<usize>,
    /// The first sample of the first of them, and their weights, with seven bits after the point.
    pub(crate) first: usize,
    pub(crate) weights: [u8; SAMPLES],
    /// The others.
    pub(crate) ends: Vec<End<SAMPLES>>,
    /// Samples that a row must have.
    pub(crate) samples: usize,
}

/// An output at the end of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct End<const SAMPLES: usize> {
    pub(crate) output: usize,
    pub(crate) first: usize,
    /// With fifteen bits after the point.
    pub(crate) weights: [i16; SAMPLES],
}

impl<const SAMPLES: usize> Uniform<SAMPLES> {
    /// For outputs whose samples begin `step` further along each.
    pub(crate) fn new(
        step: usize,
        same: Range<usize>,
        (first, weights): (usize, [u8; SAMPLES]),
        ends: Vec<End<SAMPLES>>,
    ) -> Uniform<SAMPLES> {
        let last = first + step * same.len().saturating_sub(1);
        let last = ends.iter().map(|end| end.first).fold(last, usize::max);
        Uniform { same, first, weights, ends, samples: last + SAMPLES }
    }

    /// Whether there is room for all outputs.
    pub(super) fn fits(&self, out: &[i16]) -> bool {
        self.same.start <= self.same.end
            && self.same.end <= out.len()
            && self.ends.iter().all(|end| end.output < out.len())
    }
}
