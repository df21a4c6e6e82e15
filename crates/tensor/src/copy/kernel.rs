//! The loops of copies and fills, on raw pointers.
//!
//! Long runs go to `memcpy`; single elements are moved by the shape of the problem: splitting and
//! joining channels in one pass, transposes in tiles that stay in the first cache.
#![expect(unsafe_code, reason = "strided loops on addresses that a hold keeps valid")]

use bytemuck::Pod;
use tenure_layout::{Axis, Walk, WalkPair};
use tenure_memory::Hold;

mod transpose;

/// Elements on a side of a tile of two loops that are no transpose.
const TILE: usize = 32;

/// Copies between two holds; `start` is the byte of the tensor's buffer that the hold begins at.
pub(super) fn copy(walk: &WalkPair, to: (&Hold, usize), from: (&Hold, usize)) {
    let d = to.0.address().as_ptr().wrapping_add(walk.write_start - to.1);
    let s = from.0.address().as_ptr().wrapping_add(walk.read_start - from.1);
    // SAFETY: the walk was made from the layouts whose spans are held, for writing and reading,
    // and the ranges do not overlap: the ledger would have refused the second hold.
    unsafe { run(walk, d, s) }
}

/// Copies inside one hold, between elements that share no bytes.
pub(super) fn copy_inside(walk: &WalkPair, both: &Hold, to_start: isize, from_start: isize) {
    let base = both.address().as_ptr();
    let d = base.wrapping_offset(walk.write_start as isize - to_start);
    let s = base.wrapping_offset(walk.read_start as isize - from_start);
    // SAFETY: both layouts lie inside the held range, and no element of one shares bytes with an
    // element of the other, so that no single read overlaps a write.
    unsafe { run(walk, d, s) }
}

/// Copies from a hold into a slice that the walk fills completely.
pub(super) fn copy_to_slice(walk: &WalkPair, to: &mut [u8], from: &Hold, start: usize) {
    let s = from.address().as_ptr().wrapping_add(walk.read_start - start);
    // SAFETY: the caller made the walk for a contiguous layout of exactly `to.len()` bytes, and
    // an exclusive slice cannot overlap held memory.
    unsafe { run(walk, to.as_mut_ptr().wrapping_add(walk.write_start), s) }
}

/// # Safety
/// Every place the walk visits must be valid for `walk.run` bytes, to write from `d` and to read
/// from `s`; no run read may overlap a run written.
unsafe fn run(walk: &WalkPair, d: *mut u8, s: *const u8) {
    let mut axes = walk.axes.clone();
    if axes.len() >= 2 {
        // The axis along which reads follow each other goes next to the one of the writes.
        let reads = axes.iter().rposition(|axis| axis.read == walk.run as isize);
        if let Some(at) = reads.filter(|&at| at + 1 < axes.len()) {
            let axis = axes.remove(at);
            axes.insert(axes.len() - 1, axis);
        }
    }
    // SAFETY: changing the order of loops visits the same places.
    unsafe {
        match walk.run {
            0 => {}
            1 => nest::<u8>(&axes, d, s),
            2 => nest::<u16>(&axes, d, s),
            4 => nest::<u32>(&axes, d, s),
            8 => nest::<u64>(&axes, d, s),
            bytes => runs(&axes, bytes, d, s),
        }
    }
}

/// Runs of any length.
///
/// # Safety
/// As [`run`].
unsafe fn runs(axes: &[Axis], bytes: usize, d: *mut u8, s: *const u8) {
    match axes {
        // SAFETY: valid and apart, by the caller's promise.
        [] => unsafe { s.copy_to_nonoverlapping(d, bytes) },
        [axis, inner @ ..] => {
            for i in 0..axis.len as isize {
                let (d, s) = (d.wrapping_offset(i * axis.write), s.wrapping_offset(i * axis.read));
                // SAFETY: one step of the caller's walk.
                unsafe { runs(inner, bytes, d, s) }
            }
        }
    }
}

/// Single elements of type `T`.
///
/// # Safety
/// As [`run`].
unsafe fn nest<T: Pod>(axes: &[Axis], d: *mut u8, s: *const u8) {
    match axes {
        // SAFETY: valid and apart, by the caller's promise; addresses may be unaligned.
        [] => unsafe { d.cast::<T>().write_unaligned(s.cast::<T>().read_unaligned()) },
        // SAFETY: as above.
        [axis] => unsafe { line::<T>(*axis, d, s) },
        // SAFETY: as above.
        [outer, inner] => unsafe { plane::<T>(*outer, *inner, d, s) },
        [axis, inner @ ..] => {
            for i in 0..axis.len as isize {
                let (d, s) = (d.wrapping_offset(i * axis.write), s.wrapping_offset(i * axis.read));
                // SAFETY: one step of the caller's walk.
                unsafe { nest::<T>(inner, d, s) }
            }
        }
    }
}

/// # Safety
/// As [`run`].
unsafe fn line<T: Pod>(axis: Axis, d: *mut u8, s: *const u8) {
    for i in 0..axis.len as isize {
        let (d, s) = (d.wrapping_offset(i * axis.write), s.wrapping_offset(i * axis.read));
        // SAFETY: valid and apart, by the caller's promise.
        unsafe { d.cast::<T>().write_unaligned(s.cast::<T>().read_unaligned()) }
    }
}

/// # Safety
/// As [`run`].
unsafe fn plane<T: Pod>(outer: Axis, inner: Axis, d: *mut u8, s: *const u8) {
    let size = size_of::<T>() as isize;
    let channels = |len: usize| len as isize * size;
    let splits = outer.read == size && inner.write == size && inner.read == channels(outer.len);
    let joins = inner.write == size && outer.read == size && outer.write == channels(inner.len);
    // SAFETY: all of these visit the places of the two loops, in another order.
    unsafe {
        match (outer.len, inner.len) {
            (2, n) if splits => split::<T, 2>(n, outer.write, d, s),
            (3, n) if splits => split::<T, 3>(n, outer.write, d, s),
            (4, n) if splits => split::<T, 4>(n, outer.write, d, s),
            (n, 2) if joins => join::<T, 2>(n, inner.read, d, s),
            (n, 3) if joins => join::<T, 3>(n, inner.read, d, s),
            (n, 4) if joins => join::<T, 4>(n, inner.read, d, s),
            _ if outer.read == size && inner.write == size => {
                transpose::transpose::<T>(outer, inner, d, s);
            }
            _ => tiles::<T>(outer, inner, d, s),
        }
    }
}

/// Any two loops, tile by tile.
///
/// # Safety
/// As [`run`].
unsafe fn tiles<T: Pod>(outer: Axis, inner: Axis, d: *mut u8, s: *const u8) {
    for i0 in (0..outer.len).step_by(TILE) {
        for j0 in (0..inner.len).step_by(TILE) {
            let rest = Axis { len: TILE.min(inner.len - j0), ..inner };
            for i in i0..outer.len.min(i0 + TILE) {
                let (i, j) = (i as isize, j0 as isize);
                let d = d.wrapping_offset(i * outer.write + j * inner.write);
                let s = s.wrapping_offset(i * outer.read + j * inner.read);
                // SAFETY: a part of the two loops.
                unsafe { line::<T>(rest, d, s) }
            }
        }
    }
}

/// `n` groups of `C` channels into `C` rows `distance` bytes apart.
///
/// # Safety
/// As [`run`].
unsafe fn split<T: Pod, const C: usize>(n: usize, distance: isize, d: *mut u8, s: *const u8) {
    #[inline(always)]
    unsafe fn work<T: Pod, const C: usize>(n: usize, distance: isize, d: *mut u8, s: *const u8) {
        let (s, rows) = (s.cast::<T>(), rows::<T, C>(d, distance));
        for i in 0..n {
            for (channel, row) in rows.iter().enumerate() {
                // SAFETY: valid and apart, by the caller's promise.
                unsafe { row.add(i).write_unaligned(s.add(i * C + channel).read_unaligned()) }
            }
        }
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[target_feature(enable = "avx2")]
        unsafe fn wide<T: Pod, const C: usize>(
            n: usize,
            distance: isize,
            d: *mut u8,
            s: *const u8,
        ) {
            // SAFETY: the same promise.
            unsafe { work::<T, C>(n, distance, d, s) }
        }
        // SAFETY: the processor was asked; the rest is the caller's promise.
        return unsafe { wide::<T, C>(n, distance, d, s) };
    }
    // SAFETY: the caller's promise.
    unsafe { work::<T, C>(n, distance, d, s) }
}

/// `C` rows `distance` bytes apart into `n` groups of `C` channels.
///
/// # Safety
/// As [`run`].
unsafe fn join<T: Pod, const C: usize>(n: usize, distance: isize, d: *mut u8, s: *const u8) {
    #[inline(always)]
    unsafe fn work<T: Pod, const C: usize>(n: usize, distance: isize, d: *mut u8, s: *const u8) {
        let (d, rows) = (d.cast::<T>(), rows::<T, C>(s.cast_mut(), distance));
        for i in 0..n {
            for (channel, row) in rows.iter().enumerate() {
                // SAFETY: valid and apart, by the caller's promise.
                unsafe { d.add(i * C + channel).write_unaligned(row.add(i).read_unaligned()) }
            }
        }
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[target_feature(enable = "avx2")]
        unsafe fn wide<T: Pod, const C: usize>(
            n: usize,
            distance: isize,
            d: *mut u8,
            s: *const u8,
        ) {
            // SAFETY: the same promise.
            unsafe { work::<T, C>(n, distance, d, s) }
        }
        // SAFETY: the processor was asked; the rest is the caller's promise.
        return unsafe { wide::<T, C>(n, distance, d, s) };
    }
    // SAFETY: the caller's promise.
    unsafe { work::<T, C>(n, distance, d, s) }
}

fn rows<T, const C: usize>(first: *mut u8, distance: isize) -> [*mut T; C] {
    std::array::from_fn(|channel| first.wrapping_offset(channel as isize * distance).cast())
}

/// Sets every element the walk visits.
pub(super) fn fill<T: Pod>(walk: &Walk, hold: &Hold, start: usize, value: T) {
    let first = hold.address().as_ptr().wrapping_add(walk.start - start);
    // SAFETY: the walk was made from the layout whose span is held for writing.
    unsafe { fill_nest(&walk.axes, walk.run, first, value) }
}

/// # Safety
/// Every place visited must be valid for writes of `bytes` bytes.
unsafe fn fill_nest<T: Pod>(axes: &[Axis], bytes: usize, d: *mut u8, value: T) {
    match axes {
        [] => {
            let d = d.cast::<T>();
            for i in 0..bytes / size_of::<T>() {
                // SAFETY: inside the run, by the caller's promise.
                unsafe { d.add(i).write_unaligned(value) }
            }
        }
        [axis, inner @ ..] => {
            for i in 0..axis.len as isize {
                // SAFETY: one step of the caller's walk.
                unsafe { fill_nest(inner, bytes, d.wrapping_offset(i * axis.write), value) }
            }
        }
    }
}
