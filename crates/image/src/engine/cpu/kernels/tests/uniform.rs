//! Rows summed while they are resized with the same weights all along.
#![expect(unsafe_code, reason = "calls kernels")]

use super::{LENGTHS, both, bytes, sum_of};
use crate::engine::cpu::kernels::{End, Sum, Tap, Uniform};

/// Outputs with these weights, `step` samples apart, but for one at each end.
fn uniform<const N: usize>(
    same: usize,
    step: usize,
    weights: [u8; N],
    end: [i16; N],
) -> Uniform<N> {
    let ends = vec![
        End { output: 0, first: 0, weights: end },
        End { output: same + 1, first: 1 + step * same, weights: end },
    ];
    Uniform::new(step, 1..same + 1, (1, weights), ends)
}

/// Runs `work` with rows of `stride` bytes, from one of them to more than kernels have loops for.
fn rows(stride: usize, work: impl Fn(Sum<'_>)) {
    let weights = [4096, 12_288, 9000, 3000, 4384];
    let plane = bytes(stride * weights.len(), 7);
    for count in 0..=weights.len() {
        let taps: Vec<Tap> = match count {
            1 => vec![Tap::new(3, 32_768)],
            _ => (0..count).map(|row| Tap::new(row, weights[row])).collect(),
        };
        work(sum_of(&taps, &plane, stride));
    }
}

#[test]
fn halves() {
    for same in LENGTHS {
        for weights in [[16, 48, 48, 16], [64, 64, 0, 0], [0, 1, 127, 0]] {
            let halves = uniform(same, 2, weights, [14_043, 14_043, 4682, 0]);
            rows(halves.samples, |sum| {
                // SAFETY: rows have the samples of all outputs.
                both(&format!("{same} halves"), |kernels| unsafe {
                    let mut out = vec![0; same + 2];
                    (kernels.halved)(sum, &halves, &mut out);
                    out
                });
            });
        }
    }
}

#[test]
fn pairs_beside_each_other() {
    for same in LENGTHS {
        for weights in [[96, 32], [127, 1]] {
            let pairs = uniform(same, 1, weights, [0, 32_767]);
            rows(2 * pairs.samples, |sum| {
                // SAFETY: as above.
                both(&format!("{same} pairs"), |kernels| unsafe {
                    let (mut first, mut second) = (vec![0; same + 2], vec![0; same + 2]);
                    (kernels.slid_pairs)(sum, &pairs, &mut first, &mut second);
                    (first, second)
                });
            });
        }
    }
}

#[test]
fn halves_are_weighted_sums() {
    let row = [10, 20, 40, 80, 160, 100, 50, 200, 7];
    let taps = [Tap::new(0, 32_768)];
    let sum = sum_of(&taps, &row, row.len());
    let halves = uniform(2, 2, [16, 48, 48, 16], [16_384, 16_384, 0, 0]);
    assert_eq!(halves.samples, row.len());
    let mut out = [0; 4];
    for kernels in super::all() {
        // SAFETY: the row has the samples of all outputs.
        unsafe { (kernels.halved)(sum, &halves, &mut out) };
        let expected = [15.0, 67.5, 113.75, 75.0];
        for (number, expected) in out.into_iter().zip(expected) {
            assert!((f64::from(number) / 128.0 - expected).abs() < 0.02, "{out:?}");
        }
    }
}
