//! Numbers of sixteen pixels through the matrix to codes.

use std::arch::x86_64::*;

use crate::engine::cpu::fixed::FixedMatrix;

/// What happens to the three numbers of a pixel.
pub(super) const NOTHING: u8 = 0;
pub(super) const TO_RGB: u8 = 1;
pub(super) const ANY_MATRIX: u8 = 2;

/// The matrix and the rounding, in vectors.
pub(super) struct Step {
    rows: [[__m256i; 3]; 3],
    /// With a matrix, half of a code is part of it.
    offset: [__m256i; 3],
    half: __m256i,
    bits: __m128i,
}

impl Step {
    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    pub(super) fn new(matrix: Option<&FixedMatrix>, fraction: u32) -> Step {
        let half = 1 << fraction >> 1;
        let zero = _mm256_setzero_si256();
        let mut step = Step {
            rows: [[zero; 3]; 3],
            offset: [zero; 3],
            half: _mm256_set1_epi16(half),
            bits: _mm_cvtsi32_si128(fraction as i32),
        };
        if let Some(matrix) = matrix {
            for row in 0..3 {
                step.offset[row] = _mm256_set1_epi16(matrix.offset[row].wrapping_add(half));
                for column in 0..3 {
                    step.rows[row][column] = _mm256_set1_epi16(matrix.rows[row][column]);
                }
            }
        }
        step
    }

    /// Sixteen pixels of a column as codes, not yet limited.
    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    pub(super) fn pixel<const KIND: u8>(&self, [x, y, z]: [__m256i; 3]) -> [__m256i; 3] {
        let [r, g, b] = &self.rows;
        let mut out = match KIND {
            NOTHING => [
                _mm256_adds_epi16(x, self.half),
                _mm256_adds_epi16(y, self.half),
                _mm256_adds_epi16(z, self.half),
            ],
            TO_RGB => {
                let luma = _mm256_mulhrs_epi16(x, r[0]);
                let green =
                    _mm256_add_epi16(_mm256_mulhrs_epi16(y, g[1]), _mm256_mulhrs_epi16(z, g[2]));
                [
                    _mm256_add_epi16(luma, _mm256_mulhrs_epi16(z, r[2])),
                    _mm256_add_epi16(luma, green),
                    _mm256_add_epi16(luma, _mm256_mulhrs_epi16(y, b[1])),
                ]
            }
            _ => [product(r, x, y, z), product(g, x, y, z), product(b, x, y, z)],
        };
        for colour in 0..3 {
            if KIND != NOTHING {
                out[colour] = _mm256_add_epi16(out[colour], self.offset[colour]);
            }
            out[colour] = _mm256_sra_epi16(out[colour], self.bits);
        }
        out
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn product(row: &[__m256i; 3], x: __m256i, y: __m256i, z: __m256i) -> __m256i {
    let two = _mm256_add_epi16(_mm256_mulhrs_epi16(x, row[0]), _mm256_mulhrs_epi16(y, row[1]));
    _mm256_add_epi16(two, _mm256_mulhrs_epi16(z, row[2]))
}
