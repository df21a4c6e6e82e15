//! Rows and columns exchanged in blocks of vector registers.
//!
//! A block is as many rows as a register has lanes. Zipping the first half of the rows with the
//! second, once for every doubling, leaves the columns in the registers. Blocks are walked in
//! tiles of whole cache lines on both sides, so that every line is fetched and written once.
#![expect(unsafe_code, reason = "vector registers and strided addresses")]

use bytemuck::Pod;
use tenure_layout::Axis;

use super::line;

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod streamed;

/// Bytes of a tile in the direction that is read without gaps: several cache lines, which come
/// faster together.
const READ_TILE: usize = 128;
/// Bytes of a tile in the direction that is written without gaps: whole cache lines.
const WRITE_TILE: usize = 64;
/// Bytes of a register: the side of a block.
const REGISTER: usize = 16;

/// Exchanges rows and columns: `outer` is read without gaps, `inner` written without gaps.
///
/// # Safety
/// Every place of the two loops must be valid for `T`, to write from `d` and to read from `s`; no
/// element read may share bytes with one written.
pub(super) unsafe fn transpose<T: Pod>(outer: Axis, inner: Axis, d: *mut u8, s: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if outer.len.saturating_mul(inner.len).saturating_mul(size_of::<T>()) >= streamed::LARGE {
        // SAFETY: the caller's promise.
        return unsafe { streamed::transpose::<T>(outer, inner, d, s) };
    }
    let (down, across) = (READ_TILE / size_of::<T>(), WRITE_TILE / size_of::<T>());
    let lanes = REGISTER / size_of::<T>();
    let at = |i: usize, j: usize| {
        let (i, j) = (i as isize, j as isize);
        (
            d.wrapping_offset(i * outer.write + j * inner.write),
            s.wrapping_offset(i * outer.read + j * inner.read),
        )
    };
    for i0 in (0..outer.len).step_by(down) {
        let i_end = outer.len.min(i0 + down);
        for j0 in (0..inner.len).step_by(across) {
            let j_end = inner.len.min(j0 + across);
            // The next tile is fetched while this one is turned: its rows are too far apart for
            // the processor to see them coming.
            for j in j_end..inner.len.min(j_end + across) {
                let (_, s) = at(i0, j);
                for line in (0..READ_TILE).step_by(64) {
                    fetch(s.wrapping_add(line));
                }
            }
            let mut i = i0;
            while i + lanes <= i_end {
                let mut j = j0;
                while j + lanes <= j_end {
                    let (d, s) = at(i, j);
                    // SAFETY: `lanes` rows and columns of the caller's loops.
                    unsafe { block::<T>(d, outer.write, s, inner.read) }
                    j += lanes;
                }
                if j < j_end {
                    let rest = Axis { len: j_end - j, ..inner };
                    for i in i..i + lanes {
                        let (d, s) = at(i, j);
                        // SAFETY: a part of the caller's loops.
                        unsafe { line::<T>(rest, d, s) }
                    }
                }
                i += lanes;
            }
            let rest = Axis { len: j_end - j0, ..inner };
            for i in i..i_end {
                let (d, s) = at(i, j0);
                // SAFETY: a part of the caller's loops.
                unsafe { line::<T>(rest, d, s) }
            }
        }
    }
}

/// One block: rows of a register each, `s_step` bytes apart, become columns `d_step` apart.
///
/// # Safety
/// As many rows as lanes must be valid for a register's bytes on both sides, and apart.
#[inline(always)]
unsafe fn block<T: Pod>(d: *mut u8, d_step: isize, s: *const u8, s_step: isize) {
    // SAFETY: the caller's promise, for the number of lanes that `T` has.
    unsafe {
        match size_of::<T>() {
            1 => rounds::<1, 16>(d, d_step, s, s_step),
            2 => rounds::<2, 8>(d, d_step, s, s_step),
            4 => rounds::<4, 4>(d, d_step, s, s_step),
            _ => rounds::<8, 2>(d, d_step, s, s_step),
        }
    }
}

/// # Safety
/// As [`block`], for elements of `SIZE` bytes in `LANES` lanes.
#[inline(always)]
unsafe fn rounds<const SIZE: usize, const LANES: usize>(
    d: *mut u8,
    d_step: isize,
    s: *const u8,
    s_step: isize,
) {
    // SAFETY: `LANES` rows of a register each, by the caller's promise.
    let mut rows: [Register; LANES] = std::array::from_fn(|row| unsafe {
        s.wrapping_offset(row as isize * s_step).cast::<Register>().read_unaligned()
    });
    let mut doubled = 1;
    while doubled < LANES {
        let mut zipped = rows;
        for half in 0..LANES / 2 {
            let (low, high) = zip::<SIZE>(rows[half], rows[half + LANES / 2]);
            (zipped[2 * half], zipped[2 * half + 1]) = (low, high);
        }
        rows = zipped;
        doubled *= 2;
    }
    for (column, register) in rows.into_iter().enumerate() {
        let place = d.wrapping_offset(column as isize * d_step).cast::<Register>();
        // SAFETY: `LANES` rows of a register each, by the caller's promise.
        unsafe { place.write_unaligned(register) }
    }
}

/// Asks for the cache line at an address that will be read soon; any address will do.
#[inline(always)]
fn fetch(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint that never faults.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
type Register = std::arch::x86_64::__m128i;

/// The elements of both in turn: those of the low halves, those of the high halves.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn zip<const SIZE: usize>(a: Register, b: Register) -> (Register, Register) {
    use std::arch::x86_64::{
        _mm_unpackhi_epi8, _mm_unpackhi_epi16, _mm_unpackhi_epi32, _mm_unpackhi_epi64,
        _mm_unpacklo_epi8, _mm_unpacklo_epi16, _mm_unpacklo_epi32, _mm_unpacklo_epi64,
    };
    // SAFETY: SSE2 is part of every x86-64 processor.
    unsafe {
        match SIZE {
            1 => (_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b)),
            2 => (_mm_unpacklo_epi16(a, b), _mm_unpackhi_epi16(a, b)),
            4 => (_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b)),
            _ => (_mm_unpacklo_epi64(a, b), _mm_unpackhi_epi64(a, b)),
        }
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
type Register = std::arch::aarch64::uint8x16_t;

/// The elements of both in turn: those of the low halves, those of the high halves.
#[cfg(all(target_arch = "aarch64", not(miri)))]
#[inline(always)]
fn zip<const SIZE: usize>(a: Register, b: Register) -> (Register, Register) {
    use std::arch::aarch64::{
        vreinterpretq_u8_u16 as from_u16, vreinterpretq_u8_u32 as from_u32,
        vreinterpretq_u8_u64 as from_u64, vreinterpretq_u16_u8 as to_u16,
        vreinterpretq_u32_u8 as to_u32, vreinterpretq_u64_u8 as to_u64, vzip1q_u8, vzip1q_u16,
        vzip1q_u32, vzip1q_u64, vzip2q_u8, vzip2q_u16, vzip2q_u32, vzip2q_u64,
    };
    // SAFETY: NEON is part of every aarch64 processor.
    unsafe {
        match SIZE {
            1 => (vzip1q_u8(a, b), vzip2q_u8(a, b)),
            2 => {
                let (a, b) = (to_u16(a), to_u16(b));
                (from_u16(vzip1q_u16(a, b)), from_u16(vzip2q_u16(a, b)))
            }
            4 => {
                let (a, b) = (to_u32(a), to_u32(b));
                (from_u32(vzip1q_u32(a, b)), from_u32(vzip2q_u32(a, b)))
            }
            _ => {
                let (a, b) = (to_u64(a), to_u64(b));
                (from_u64(vzip1q_u64(a, b)), from_u64(vzip2q_u64(a, b)))
            }
        }
    }
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
type Register = [u8; REGISTER];

/// The elements of both in turn: those of the low halves, those of the high halves.
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn zip<const SIZE: usize>(a: Register, b: Register) -> (Register, Register) {
    let both = |from: usize| {
        std::array::from_fn(|byte| {
            let (element, within) = (byte / SIZE, byte % SIZE);
            let source = from + element / 2 * SIZE + within;
            if element % 2 == 0 { a[source] } else { b[source] }
        })
    };
    (both(0), both(REGISTER / 2))
}
