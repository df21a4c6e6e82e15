//! Luma that needs no resizing, straight from its bytes to red, green and blue.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::aarch64::*;

use crate::engine::cpu::kernels::{ChromaRow, Mixed, Out, portable};

/// # Safety
/// The processor must have NEON; see [`super::Kernels`].
#[target_feature(enable = "neon")]
pub(super) unsafe fn mixed(mixed: Mixed<'_>, rows: &[(*const u8, Out)]) {
    let Mixed { chroma, matrix, pixels, .. } = mixed;
    assert!(chroma.holds(pixels));
    // SAFETY: the caller's promise, and chroma rows are long enough.
    unsafe {
        match *rows {
            [one] if matrix.is_to_rgb() => kinds(mixed, [one]),
            [one, two] if matrix.is_to_rgb() => kinds(mixed, [one, two]),
            _ => portable::mixed(mixed, rows),
        }
    }
}

/// # Safety
/// As [`mixed`], with chroma rows as long as the pixels need.
#[target_feature(enable = "neon")]
unsafe fn kinds<const ROWS: usize>(mixed: Mixed<'_>, rows: [(*const u8, Out); ROWS]) {
    // SAFETY: the caller's promise.
    unsafe {
        match mixed.chroma {
            ChromaRow::Whole(_) => blocks::<WHOLE, ROWS>(mixed, rows),
            ChromaRow::Halved(_) => blocks::<HALVED, ROWS>(mixed, rows),
            ChromaRow::Doubled { .. } => blocks::<DOUBLED, ROWS>(mixed, rows),
            ChromaRow::Bytes { red_first: false, .. } => blocks::<BLUE_RED, ROWS>(mixed, rows),
            ChromaRow::Bytes { red_first: true, .. } => blocks::<RED_BLUE, ROWS>(mixed, rows),
        }
    }
}

/// The kinds of chroma rows.
const WHOLE: u8 = 0;
const HALVED: u8 = 1;
const BLUE_RED: u8 = 2;
const RED_BLUE: u8 = 3;
const DOUBLED: u8 = 4;

/// Blocks of 16 pixels, the rest one by one.
///
/// # Safety
/// As [`mixed`], with chroma rows as long as the pixels need.
#[target_feature(enable = "neon")]
unsafe fn blocks<const KIND: u8, const ROWS: usize>(
    mixed: Mixed<'_>,
    rows: [(*const u8, Out); ROWS],
) {
    let Mixed { chroma, matrix, flip, pixels } = mixed;
    let (u, v, bytes): (&[i16], &[i16], *const u8) = match chroma {
        ChromaRow::Whole([u, v]) | ChromaRow::Halved([u, v]) => (u, v, std::ptr::null()),
        ChromaRow::Doubled { rows: [u, v], .. } => (u, v, std::ptr::null()),
        ChromaRow::Bytes { at, .. } => (&[], &[], at),
    };
    let weights = match chroma {
        ChromaRow::Doubled { weights, .. } => weights,
        _ => [0; 4],
    };
    let chroma = Chroma::new(matrix.rows, matrix.offset);
    let luma_part = vdupq_n_s16(matrix.rows[0][0]);
    let flip = vdupq_n_u8(flip);
    let whole = pixels / 16 * 16;
    for at in (0..whole).step_by(16) {
        // Red, green and blue without luma.
        // SAFETY: the chroma samples of 16 pixels, from `at` on.
        let (low, high) = unsafe {
            let (u, v) = (u.as_ptr(), v.as_ptr());
            if KIND == WHOLE {
                let low = chroma.colours(vld1q_s16(u.add(at)), vld1q_s16(v.add(at)));
                let high = chroma.colours(vld1q_s16(u.add(at + 8)), vld1q_s16(v.add(at + 8)));
                (low, high)
            } else if KIND == DOUBLED {
                let (u, v) = (u.add(at / 2), v.add(at / 2));
                let even = chroma.colours(first_of_two(u, weights), first_of_two(v, weights));
                let odd = chroma.colours(second_of_two(u, weights), second_of_two(v, weights));
                let low = [0, 1, 2].map(|colour| vzip1q_s16(even[colour], odd[colour]));
                (low, [0, 1, 2].map(|colour| vzip2q_s16(even[colour], odd[colour])))
            } else {
                let (u, v) = if KIND == HALVED {
                    (vld1q_s16(u.add(at / 2)), vld1q_s16(v.add(at / 2)))
                } else {
                    let both = vld2_u8(bytes.add(at));
                    let first = vreinterpretq_s16_u16(vshll_n_u8::<7>(both.0));
                    let second = vreinterpretq_s16_u16(vshll_n_u8::<7>(both.1));
                    if KIND == BLUE_RED { (first, second) } else { (second, first) }
                };
                let [red, green, blue] = chroma.colours(u, v);
                let low = [vzip1q_s16(red, red), vzip1q_s16(green, green), vzip1q_s16(blue, blue)];
                let high = [vzip2q_s16(red, red), vzip2q_s16(green, green), vzip2q_s16(blue, blue)];
                (low, high)
            }
        };
        for (luma, out) in rows {
            // SAFETY: 16 bytes of luma from `at` on.
            let bytes = unsafe { vld1q_u8(luma.add(at)) };
            let y_low = vreinterpretq_s16_u16(vshll_n_u8::<7>(vget_low_u8(bytes)));
            let y_high = vreinterpretq_s16_u16(vshll_high_n_u8::<7>(bytes));
            let (y_low, y_high) =
                (vqrdmulhq_s16(y_low, luma_part), vqrdmulhq_s16(y_high, luma_part));
            let mut codes = [flip; 3];
            for (index, code) in codes.iter_mut().enumerate() {
                // Rounded, shifted and held between 0 and 255 at once.
                let low = vqrshrun_n_s16::<5>(vaddq_s16(y_low, low[index]));
                let both = vqrshrun_high_n_s16::<5>(low, vaddq_s16(y_high, high[index]));
                *code = veorq_u8(both, flip);
            }
            let [red, green, blue] = codes;
            // SAFETY: room for 16 pixels from `at` on.
            unsafe {
                match out {
                    Out::Planes([a, b, c]) => {
                        vst1q_u8(a.add(at), red);
                        vst1q_u8(b.add(at), green);
                        vst1q_u8(c.add(at), blue);
                    }
                    Out::Packed { at: first, blue_first } => {
                        let order = if blue_first {
                            uint8x16x3_t(blue, green, red)
                        } else {
                            uint8x16x3_t(red, green, blue)
                        };
                        vst3q_u8(first.add(3 * at), order);
                    }
                }
            }
        }
    }
    for (luma, out) in rows {
        // SAFETY: the caller's promise.
        unsafe { portable::mixed_from(mixed, luma, out, whole) }
    }
}

/// Chroma of the first of every two pixels, between a sample and the one before.
///
/// # Safety
/// There must be nine numbers.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn first_of_two(from: *const i16, [a, b, _, _]: [i16; 4]) -> int16x8_t {
    // SAFETY: the caller's promise.
    let (before, own) = unsafe { (vld1q_s16(from), vld1q_s16(from.add(1))) };
    vaddq_s16(vqrdmulhq_n_s16(before, a), vqrdmulhq_n_s16(own, b))
}

/// Chroma of the second of every two pixels, between a sample and the one after.
///
/// # Safety
/// There must be ten numbers.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn second_of_two(from: *const i16, [_, _, c, d]: [i16; 4]) -> int16x8_t {
    // SAFETY: the caller's promise.
    let (own, after) = unsafe { (vld1q_s16(from.add(1)), vld1q_s16(from.add(2))) };
    vaddq_s16(vqrdmulhq_n_s16(own, c), vqrdmulhq_n_s16(after, d))
}

/// What chroma adds to luma.
#[derive(Clone, Copy)]
struct Chroma {
    red_v: int16x8_t,
    green_u: int16x8_t,
    green_v: int16x8_t,
    blue_u: int16x8_t,
    offset: [int16x8_t; 3],
}

impl Chroma {
    #[target_feature(enable = "neon")]
    #[inline]
    fn new(rows: [[i16; 3]; 3], [red, green, blue]: [i16; 3]) -> Chroma {
        Chroma {
            red_v: vdupq_n_s16(rows[0][2]),
            green_u: vdupq_n_s16(rows[1][1]),
            green_v: vdupq_n_s16(rows[1][2]),
            blue_u: vdupq_n_s16(rows[2][1]),
            offset: [vdupq_n_s16(red), vdupq_n_s16(green), vdupq_n_s16(blue)],
        }
    }

    /// Red, green and blue without luma.
    #[target_feature(enable = "neon")]
    #[inline]
    fn colours(&self, u: int16x8_t, v: int16x8_t) -> [int16x8_t; 3] {
        let green = vaddq_s16(vqrdmulhq_s16(u, self.green_u), vqrdmulhq_s16(v, self.green_v));
        [
            vaddq_s16(vqrdmulhq_s16(v, self.red_v), self.offset[0]),
            vaddq_s16(green, self.offset[1]),
            vaddq_s16(vqrdmulhq_s16(u, self.blue_u), self.offset[2]),
        ]
    }
}
