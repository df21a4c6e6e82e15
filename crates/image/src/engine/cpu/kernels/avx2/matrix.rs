//! Colour matrices, sixteen pixels at a time.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::x86_64::*;

use crate::engine::cpu::fixed::FixedMatrix;
use crate::engine::cpu::kernels::portable;

/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn matrix(matrix: &FixedMatrix, from: [&[i16]; 3], to: [&mut [i16]; 3]) {
    let lengths = from.iter().map(|row| row.len()).chain(to.iter().map(|row| row.len()));
    let n = lengths.min().unwrap_or(0);
    let whole = n / 16 * 16;
    let set = |row: [i16; 3]| {
        let [a, b, c] = row;
        [_mm256_set1_epi16(a), _mm256_set1_epi16(b), _mm256_set1_epi16(c)]
    };
    let rows = [set(matrix.rows[0]), set(matrix.rows[1]), set(matrix.rows[2])];
    let offset = set(matrix.offset);
    let to_rgb = matrix.is_to_rgb();
    for at in (0..whole).step_by(16) {
        // SAFETY: sixteen numbers from `at` on are inside each row.
        unsafe {
            let load = |row: &[i16]| _mm256_loadu_si256(row.as_ptr().add(at).cast());
            let (x, y, z) = (load(from[0]), load(from[1]), load(from[2]));
            let term =
                |value, row: usize, column: usize| _mm256_mulhrs_epi16(value, rows[row][column]);
            let out = if to_rgb {
                let luma = term(x, 0, 0);
                let green = _mm256_add_epi16(term(y, 1, 1), term(z, 1, 2));
                [
                    _mm256_add_epi16(luma, term(z, 0, 2)),
                    _mm256_add_epi16(luma, green),
                    _mm256_add_epi16(luma, term(y, 2, 1)),
                ]
            } else {
                let sum = |row: usize| {
                    let two = _mm256_add_epi16(term(x, row, 0), term(y, row, 1));
                    _mm256_add_epi16(two, term(z, row, 2))
                };
                [sum(0), sum(1), sum(2)]
            };
            for index in 0..3 {
                let value = _mm256_add_epi16(out[index], offset[index]);
                _mm256_storeu_si256(to[index].as_mut_ptr().add(at).cast(), value);
            }
        }
    }
    let rest = (from.map(|row| &row[whole..n]), to.map(|row| &mut row[whole..n]));
    // SAFETY: none is needed.
    unsafe { portable::matrix(matrix, rest.0, rest.1) }
}
