//! Triangles along an axis, as numbers that a shader finds every output's weights with: quicker
//! computed than fetched.
//!
//! Where an output lies in the source must be known to a thousandth of a sample in pictures of
//! many thousands, so steps and starts are split: what is large is computed without rounding.

use crate::geometry::Axis;
use crate::taps::Samples;

/// Weights below this are none. More than the shader can be wrong by.
const NOTHING: f64 = 1e-4;

/// The triangles of all outputs along an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ramp {
    /// From one output to the next, in samples, coarsely and what is left of it; where the first
    /// one is, whole samples and the rest.
    pub(super) place: [f32; 4],
    /// How far before its top a triangle begins, less the half sample that makes it a number to
    /// round down; the first sample there is; the last word or row to begin with; how much a
    /// triangle falls from one sample to the next.
    pub(super) limits: [f32; 4],
    /// Words or rows that a triangle reaches over, at most.
    pub(super) count: usize,
}

impl Ramp {
    /// Triangles of half the `width`, in samples, whose words are found with `word`: that of the
    /// first and of the last byte of a sample. `end` is one past the last word.
    pub(super) fn new(
        axis: &Axis,
        samples: &Samples,
        width: f64,
        word: impl Fn(usize) -> (usize, usize),
        end: usize,
    ) -> Ramp {
        let centre = |output: f64| {
            let along = output + 0.5;
            let along = if axis.mirrored { axis.outputs as f64 - along } else { along };
            samples.position(axis.start + along * axis.step())
        };
        let inside = |sample: f64| sample.clamp(samples.first as f64, (samples.end - 1) as f64);
        let span = |output: usize| {
            let top = centre(output as f64);
            // The shader may begin a sample later, where this one weighs next to nothing.
            let first = inside((top - width + 0.5 + NOTHING / 2.0).floor());
            let last = inside((top + width - 0.5 - NOTHING).ceil() - 1.0);
            (word(first as usize).0, word(last.max(first) as usize).1)
        };
        let counts = (0..axis.outputs).map(span).map(|(first, last)| last - first + 1);
        let count = counts.max().unwrap_or(1);
        let (step, start) = (centre(1.0) - centre(0.0), centre(0.0));
        // Eight bits of the step: exact times any number of an output.
        let coarse = f32::from_bits((step as f32).to_bits() & 0xffff_0000);
        let rest = (step - f64::from(coarse)) as f32;
        Ramp {
            place: [coarse, rest, start.floor() as f32, (start - start.floor()) as f32],
            limits: [
                (width - 0.5 - NOTHING) as f32,
                samples.first as f32,
                end.saturating_sub(count) as f32,
                (1.0 / width) as f32,
            ],
            count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the shader does: the first sample and the top.
    fn shade(ramp: &Ramp, output: usize) -> (f32, f32) {
        let [coarse, rest, whole, part] = ramp.place;
        let [reach, first, last, _] = ramp.limits;
        let along = output as f32 * coarse;
        let base = along.floor() + whole;
        let part = (along - along.floor()) + output as f32 * rest + part;
        let begin = (base + (part - reach).floor()).max(first).min(last);
        (begin, (base - begin) + part)
    }

    #[test]
    fn long_rows_are_as_exact_as_short_ones() {
        for (length, outputs, mirrored) in [
            (16_384.0, 10_007, false),
            (16_384.0, 10_007, true),
            (1920.0, 640, false),
            (7.0, 90, true),
        ] {
            let axis = Axis { start: 0.0, length, outputs, mirrored };
            let samples = Samples { first: 0, end: length as usize, every: 1, on_first: false };
            let width = axis.step().max(1.0);
            let ramp = Ramp::new(&axis, &samples, width, |row| (row, row), length as usize);
            for output in 0..outputs {
                let along = output as f64 + 0.5;
                let along = if mirrored { outputs as f64 - along } else { along };
                let centre = along * axis.step();
                let (begin, top) = shade(&ramp, output);
                let error = f64::from(begin) + f64::from(top) - centre;
                assert!(error.abs() < 2e-5, "{output} of {outputs}: {error}");
                // Nothing that weighs is left out.
                let weight = |sample: f64| 1.0 - (sample + 0.5 - centre).abs() / width;
                assert!(begin == 0.0 || weight(f64::from(begin) - 1.0) < 2e-4);
                let after = f64::from(begin) + ramp.count as f64;
                assert!(after >= length || weight(after) < 2e-4, "{output} of {outputs}");
            }
        }
    }

    #[test]
    fn triangles_with_their_top_on_a_sample_need_no_more_than_they_reach() {
        let axis = Axis { start: 0.0, length: 1080.0, outputs: 360, mirrored: false };
        let samples = Samples { first: 0, end: 1080, every: 1, on_first: false };
        assert_eq!(Ramp::new(&axis, &samples, 3.0, |row| (row, row), 1080).count, 5);
        assert_eq!(Ramp::new(&axis, &samples, 1.0, |row| (row, row), 1080).count, 1);
    }
}
