//! Rows that are summed as they are resized: where weights are exact in bytes, as those of a triangle
//! are for rows that become half as long and for the chroma beside them.

use std::ops::Range;

use super::taps;
use crate::engine::cpu::fixed::{Horizontal, Vertical};
use crate::engine::cpu::kernels::{End, Uniform};

/// Most source rows that are summed so, as many as halves have; kernels have loops for each number.
const ROWS: usize = 4;

/// Bits that weights of the table have beyond those of bytes.
const FINER: u32 = 8;

impl<const SAMPLES: usize> Uniform<SAMPLES> {
    /// How rows of these samples are resized so, with sums down them as given; `step` and `same` as
    /// [`super::uniform`] found.
    pub(super) fn of(
        table: &Horizontal,
        (step, same): (usize, Range<usize>),
        (vertical, fraction): (&Vertical, u32),
        samples: &Range<usize>,
    ) -> Option<Uniform<SAMPLES>> {
        let rows_fit = !vertical.wide && !vertical.finer && vertical.most() <= ROWS;
        if !rows_fit || fraction != 7 || table.bits != 7 + FINER {
            return None;
        }
        // Samples without weight at the end of the row come first.
        let last_first = samples.len().checked_sub(SAMPLES)?;
        let of = |output: usize| {
            let taps = || taps(table, output).map(|(at, weight)| (at - samples.start, weight));
            let first = taps().next()?.0.min(last_first);
            let mut weights = [0i16; SAMPLES];
            for (sample, weight) in taps() {
                *weights.get_mut(sample - first)? = weight;
            }
            Some((first, weights))
        };
        let (first, finer) = of(same.start)?;
        let mut weights = [0; SAMPLES];
        for (weight, finer) in weights.iter_mut().zip(finer) {
            let exact = finer >= 0 && finer % (1 << FINER) == 0;
            *weight = exact.then_some((finer >> FINER) as u8)?;
        }
        let others = (0..same.start).chain(same.end..table.first.len());
        let end = |output: usize| {
            let (first, weights) = of(output)?;
            Some(End { output, first, weights })
        };
        let ends: Vec<End<SAMPLES>> = others.map(end).collect::<Option<_>>()?;
        let all = Uniform::new(step, same, (first, weights), ends);
        (all.samples <= samples.len()).then_some(all)
    }
}
