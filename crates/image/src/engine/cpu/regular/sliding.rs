//! Rows that stay as long as they are: all outputs together are a sum of rows, the same one from
//! different places on, each with one weight.
#![expect(unsafe_code, reason = "calls kernels")]

use std::ops::Range;

use super::taps;
use crate::engine::cpu::fixed::Horizontal;
use crate::engine::cpu::kernels::{Place, portable};
use crate::engine::cpu::scratch::Rows;
use crate::engine::cpu::strip::Strip;

/// How a component's rows are resized so.
#[derive(Debug, PartialEq)]
pub(crate) struct Sliding {
    /// The outputs that all have the same weights: not those at the ends of the row.
    same: Range<usize>,
    /// Where the samples of the first of them are in the scratch memory, with their weights.
    taps: Vec<Place>,
    /// The same for each of the others.
    ends: Vec<(usize, Vec<Place>)>,
}

impl Sliding {
    pub(super) fn new(same: Range<usize>) -> Sliding {
        Sliding { same, taps: vec![], ends: vec![] }
    }

    /// Finds where the samples of outputs are, once it is known where the row is whose samples
    /// from `start` on, `samples` of them, are summed.
    pub(crate) fn place(&mut self, table: &Horizontal, row: Rows, start: usize, samples: usize) {
        let places = |output: usize| {
            let taps = taps(table, output).map(|(sample, weight)| {
                // By construction; the ends of rows depend on it.
                assert!(sample - start < samples);
                (row.start + sample - start, weight)
            });
            taps.collect()
        };
        self.taps = places(self.same.start);
        let others = (0..self.same.start).chain(self.same.end..table.first.len());
        self.ends = others.map(|output| (output, places(output))).collect();
    }
}

impl Strip<'_> {
    /// Sums a component's samples along the row.
    pub(super) fn slide(&self, sliding: &Sliding, component: usize, numbers: &mut [i16]) {
        let (before, after) = numbers.split_at_mut(self.pass.scratch.resized[component].start);
        // SAFETY: the kernels are those of this processor.
        unsafe {
            (self.kernels.weighted)(before, &sliding.taps, &mut after[sliding.same.clone()]);
        }
        for (output, taps) in &sliding.ends {
            after[*output] = portable::sum(taps.iter().map(|(at, weight)| (before[*at], *weight)));
        }
    }
}
