//! Moving numbers between lanes.
#![expect(unsafe_code, reason = "vector loads and stores by address")]

use std::arch::aarch64::*;

use crate::engine::cpu::kernels::portable;

/// # Safety
/// The processor must have NEON.
#[target_feature(enable = "neon")]
pub(super) unsafe fn split_pairs(from: &[i16], even: &mut [i16], odd: &mut [i16]) {
    let n = even.len().min(odd.len()).min(from.len() / 2);
    let whole = n / 8 * 8;
    for at in (0..whole).step_by(8) {
        // SAFETY: 16 numbers from 2 * at, 8 to each row: inside, since at + 8 <= n.
        unsafe {
            let from = from.as_ptr().add(2 * at);
            let (a, b) = (vld1q_s16(from), vld1q_s16(from.add(8)));
            vst1q_s16(even.as_mut_ptr().add(at), vuzp1q_s16(a, b));
            vst1q_s16(odd.as_mut_ptr().add(at), vuzp2q_s16(a, b));
        }
    }
    // SAFETY: none is needed.
    unsafe {
        portable::split_pairs(&from[2 * whole..], &mut even[whole..n], &mut odd[whole..n]);
    }
}

/// # Safety
/// The processor must have NEON; see [`super::Kernels`].
#[target_feature(enable = "neon")]
pub(super) unsafe fn split_bytes(from: *const u8, _ahead: usize, even: &mut [u8], odd: &mut [u8]) {
    let n = even.len().min(odd.len());
    let whole = n / 16 * 16;
    for at in (0..whole).step_by(16) {
        // SAFETY: 32 bytes from 2 * at, 16 to each row: inside, since at + 16 <= n.
        unsafe {
            let uint8x16x2_t(first, second) = vld2q_u8(from.add(2 * at));
            vst1q_u8(even.as_mut_ptr().add(at), first);
            vst1q_u8(odd.as_mut_ptr().add(at), second);
        }
    }
    // SAFETY: the caller's promise.
    unsafe {
        portable::split_bytes(from.add(2 * whole), 0, &mut even[whole..n], &mut odd[whole..n]);
    }
}

/// # Safety
/// The processor must have NEON.
#[target_feature(enable = "neon")]
pub(super) unsafe fn split_triples(from: &[i16], [a, b, c]: [&mut [i16]; 3]) {
    let n = a.len().min(b.len()).min(c.len()).min(from.len() / 3);
    let whole = n / 8 * 8;
    for at in (0..whole).step_by(8) {
        // SAFETY: 24 numbers from 3 * at, 8 to each row: inside, since at + 8 <= n.
        unsafe {
            let int16x8x3_t(x, y, z) = vld3q_s16(from.as_ptr().add(3 * at));
            vst1q_s16(a.as_mut_ptr().add(at), x);
            vst1q_s16(b.as_mut_ptr().add(at), y);
            vst1q_s16(c.as_mut_ptr().add(at), z);
        }
    }
    let rest = [&mut a[whole..n], &mut b[whole..n], &mut c[whole..n]];
    // SAFETY: none is needed.
    unsafe { portable::split_triples(&from[3 * whole..], rest) }
}
