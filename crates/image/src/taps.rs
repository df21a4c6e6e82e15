//! Which source samples make an output sample, and with what weight.

use crate::convert::{Filter, Siting};
use crate::geometry::Axis;

/// For each output, a run of source samples and their weights, which sum to 1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Taps {
    /// First source sample of each output.
    pub(crate) first: Vec<usize>,
    /// Samples of each output: as many as the widest needs, zeros at the end.
    pub(crate) count: usize,
    /// `count` weights for each output.
    pub(crate) weights: Vec<f64>,
}

/// The samples of one plane along an axis.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Samples {
    /// First and one past the last sample that may be read.
    pub(crate) first: usize,
    pub(crate) end: usize,
    /// Pixels for each sample.
    pub(crate) every: usize,
    /// Whether a sample lies on the first of its pixels, not in their middle.
    pub(crate) on_first: bool,
}

impl Samples {
    /// The samples of a plane subsampled by `every` that belong to `pixels` pixels from `start`.
    pub(crate) fn new(
        start: usize,
        pixels: usize,
        every: usize,
        siting: Option<Siting>,
    ) -> Samples {
        Samples {
            first: start / every,
            end: (start + pixels).div_ceil(every),
            every,
            on_first: every > 1 && siting == Some(Siting::Left),
        }
    }

    /// From a position in pixels to one in samples, each counted from the edge of the first.
    pub(crate) fn position(&self, pixels: f64) -> f64 {
        let every = self.every as f64;
        if self.on_first { (pixels - 0.5) / every + 0.5 } else { pixels / every }
    }
}

impl Taps {
    /// The taps for every output of `axis`. A subsampled output (`outputs_every` pixels share a
    /// sample, on the first of them or in the middle) has fewer.
    pub(crate) fn new(filter: Filter, axis: &Axis, samples: &Samples, output: &Samples) -> Taps {
        let outputs = axis.outputs.div_ceil(output.every);
        let step = axis.step() / samples.every as f64 * output.every as f64;
        let runs = (0..outputs).map(|index| {
            // Position of the output's centre, in output pixels.
            let every = output.every as f64;
            let centre = if output.on_first {
                index as f64 * every + 0.5
            } else {
                (index as f64 + 0.5) * every
            };
            let centre = centre.min(axis.outputs as f64);
            let along = if axis.mirrored { axis.outputs as f64 - centre } else { centre };
            let pixels = axis.start + along * axis.step();
            run(filter, samples, pixels, step)
        });
        let runs: Vec<(usize, Vec<f64>)> = runs.collect();
        let count = runs.iter().map(|(_, weights)| weights.len()).max().unwrap_or(1);
        let mut taps =
            Taps { first: Vec::with_capacity(outputs), count, weights: vec![0.0; outputs * count] };
        for ((first, run), weights) in runs.into_iter().zip(taps.weights.chunks_mut(count)) {
            taps.first.push(first);
            for (weight, value) in weights.iter_mut().zip(run) {
                *weight = value;
            }
        }
        taps
    }

    /// The weights of one output.
    pub(crate) fn weights_of(&self, output: usize) -> &[f64] {
        self.weights.get(output * self.count..(output + 1) * self.count).unwrap_or(&[])
    }
}

/// The samples around `pixels` and their weights, normalised.
fn run(filter: Filter, samples: &Samples, pixels: f64, step: f64) -> (usize, Vec<f64>) {
    let last = samples.end - 1;
    if filter == Filter::Nearest {
        // Subsampled or not: the sample that the pixel belongs to.
        let nearest = (pixels / samples.every as f64).floor().max(0.0) as usize;
        return (nearest.clamp(samples.first, last), vec![1.0]);
    }
    let centre = samples.position(pixels);
    let widen = if filter == Filter::Bilinear { 1.0 } else { step.max(1.0) };
    let reach = filter.reach() * widen;
    let from = (centre - reach).floor().max(samples.first as f64) as usize;
    let to = ((centre + reach).ceil().max(0.0) as usize).min(samples.end);
    let (from, to) = (from.min(last), to.max(samples.first + 1));
    let weight = |sample: usize| filter.weight((sample as f64 + 0.5 - centre) / widen, widen);
    let mut weights: Vec<f64> = (from..to).map(weight).collect();
    let sum: f64 = weights.iter().sum();
    // Weights so small that they are rounding only: not worth a sample.
    let is_none = |weight: &f64| weight.abs() < 1e-9 * sum.abs().max(1e-9);
    if sum.abs() < 1e-9 {
        // The centre lies beyond the edge by more than the filter reaches.
        let nearest = (centre.floor().max(0.0) as usize).clamp(samples.first, last);
        return (nearest, vec![1.0]);
    }
    while weights.len() > 1 && weights.last().is_some_and(is_none) {
        weights.pop();
    }
    let skipped =
        weights.iter().take(weights.len() - 1).take_while(|weight| is_none(weight)).count();
    weights.drain(..skipped);
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
    (from + skipped, weights)
}

impl Filter {
    /// How far from the centre samples count, in units of the filter.
    fn reach(self) -> f64 {
        match self {
            Filter::Nearest => 0.5,
            // A box as wide as an output reaches half of it, and samples half of theirs.
            Filter::Area => 1.0,
            Filter::Bilinear | Filter::Antialiased => 1.0,
            Filter::Bicubic => 2.0,
            Filter::Lanczos3 => 3.0,
        }
    }

    /// The weight of a sample at `x` units of the filter, each `unit` samples wide.
    fn weight(self, x: f64, unit: f64) -> f64 {
        let distance = x.abs();
        match self {
            Filter::Nearest => 1.0,
            Filter::Bilinear | Filter::Antialiased => (1.0 - distance).max(0.0),
            Filter::Area => {
                // How much of the sample lies in the box.
                let half = 0.5 / unit;
                let overlap = (0.5f64).min(x + half) - (-0.5f64).max(x - half);
                overlap.max(0.0)
            }
            Filter::Bicubic => {
                const A: f64 = -0.5;
                if distance < 1.0 {
                    ((A + 2.0) * distance - (A + 3.0)) * distance * distance + 1.0
                } else if distance < 2.0 {
                    (((distance - 5.0) * distance + 8.0) * distance - 4.0) * A
                } else {
                    0.0
                }
            }
            Filter::Lanczos3 => {
                if distance < 3.0 {
                    sinc(distance) * sinc(distance / 3.0)
                } else {
                    0.0
                }
            }
        }
    }
}

fn sinc(x: f64) -> f64 {
    let angle = x * std::f64::consts::PI;
    if angle == 0.0 { 1.0 } else { angle.sin() / angle }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(pixels: usize) -> Samples {
        Samples::new(0, pixels, 1, None)
    }

    fn axis(pixels: usize, outputs: usize, mirrored: bool) -> Axis {
        Axis { start: 0.0, length: pixels as f64, outputs, mirrored }
    }

    #[test]
    fn a_third_of_the_size_takes_five_samples() {
        let taps = Taps::new(Filter::Antialiased, &axis(9, 3, false), &plain(9), &plain(3));
        assert_eq!(taps.first, [0, 2, 5]);
        let middle: Vec<f64> = taps.weights_of(1).iter().map(|w| (w * 9.0).round()).collect();
        assert_eq!(middle, [1.0, 2.0, 3.0, 2.0, 1.0]);
    }

    #[test]
    fn the_same_size_is_a_copy_for_every_filter() {
        for filter in Filter::all() {
            let taps = Taps::new(filter, &axis(7, 7, false), &plain(7), &plain(7));
            assert_eq!((taps.count, &taps.first[..]), (1, &[0, 1, 2, 3, 4, 5, 6][..]), "{filter}");
            let back = Taps::new(filter, &axis(7, 7, true), &plain(7), &plain(7));
            assert_eq!(back.first, [6, 5, 4, 3, 2, 1, 0], "{filter}");
        }
    }

    #[test]
    fn area_is_the_mean() {
        let taps = Taps::new(Filter::Area, &axis(5, 2, false), &plain(5), &plain(2));
        assert_eq!((&taps.first[..], taps.count), (&[0, 2][..], 3));
        let rounded: Vec<f64> = taps.weights.iter().map(|w| (w * 10.0).round()).collect();
        assert_eq!(rounded, [4.0, 4.0, 2.0, 2.0, 4.0, 4.0]);
    }

    #[test]
    fn chroma_is_found_where_it_lies() {
        let centre = Samples::new(0, 8, 2, Some(Siting::Centre));
        let taps = Taps::new(Filter::Bilinear, &axis(8, 8, false), &centre, &plain(8));
        assert_eq!(taps.weights_of(1), [0.75, 0.25]);
        assert_eq!(taps.weights_of(2), [0.25, 0.75]);
        let left = Samples::new(0, 8, 2, Some(Siting::Left));
        let taps = Taps::new(Filter::Bilinear, &axis(8, 8, false), &left, &plain(8));
        assert_eq!((taps.weights_of(0), taps.weights_of(1)), (&[1.0, 0.0][..], &[0.5, 0.5][..]));
        assert_eq!((taps.first[7], taps.weights_of(7)), (3, &[1.0, 0.0][..]));
    }

    #[test]
    fn weights_sum_to_one_and_stay_inside() {
        for filter in Filter::all() {
            for (pixels, outputs) in [(1, 1), (1, 9), (2, 1), (13, 5), (5, 13), (100, 3)] {
                for every in [1, 2] {
                    for siting in [Siting::Centre, Siting::Left] {
                        let samples = Samples::new(0, pixels, every, Some(siting));
                        let axis = axis(pixels, outputs, false);
                        let taps = Taps::new(filter, &axis, &samples, &plain(outputs));
                        for (output, first) in taps.first.iter().enumerate() {
                            let weights = taps.weights_of(output);
                            let sum: f64 = weights.iter().sum();
                            assert!((sum - 1.0).abs() < 1e-9, "{filter} {pixels} {outputs}");
                            let used = weights.iter().rposition(|w| *w != 0.0).unwrap();
                            assert!(first + used < samples.end, "{filter} {pixels} {outputs}");
                        }
                    }
                }
            }
        }
    }
}
