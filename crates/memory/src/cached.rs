//! Bytes of a file out of the system's cache, as fast as memory is.
//!
//! A part of the file is mapped for a moment and copied with stores that go past the processor's
//! caches: what is copied is larger than they are, and a store that has to fetch the old bytes
//! first moves half as much again. Reading with `pread` does that, and is slower by a third.
#![expect(unsafe_code, reason = "copies out of a mapping by address")]

use std::os::fd::AsFd;
use std::ptr;

use crate::bus::Watch;
use crate::descriptor::still_has;
use crate::mapping::{Mapping, page_size};
use crate::{Error, Result};

/// Copies bytes from `at` of a regular file. Those that are not in the system's cache are read
/// first.
///
/// # Errors
/// [`Error::Truncated`] if the file ends before, or is cut off, or cannot be read meanwhile, and
/// [`Error::System`] if it cannot be mapped; `into` then holds anything.
pub fn copy_from_cache(file: impl AsFd, at: u64, into: &mut [u8]) -> Result<()> {
    let file = file.as_fd();
    if into.is_empty() {
        return Ok(());
    }
    let (length, page) = (into.len(), page_size() as u64);
    let first = at - at % page;
    // Less than a page.
    let before = (at - first) as usize;
    let end = at.checked_add(length as u64).ok_or(Error::Truncated)?;
    let mapping = Mapping::window(file, first, before + length)
        .map_err(|errno| Error::system("mapping a part of the file", errno))?;
    let watch = Watch::from(&mapping, file, false, first)?;
    // SAFETY: the mapping has `before + length` bytes, the first of which `before` are left out;
    // it is watched, so bytes that are taken away are replaced by zeros.
    unsafe { copy_past_caches(mapping.address().as_ptr().add(before), into) };
    // Behind the end of a file the last page has zeros.
    if watch.lost() || !still_has(file, end) { Err(Error::Truncated) } else { Ok(()) }
}

/// Copies `into.len()` bytes.
///
/// # Safety
/// `from` must be valid for reads of so many bytes, and none of them may be in `into`.
unsafe fn copy_past_caches(from: *const u8, into: &mut [u8]) {
    // SAFETY: this splits the slice; all three parts are plain bytes.
    let (head, lines, tail) = unsafe { into.align_to_mut::<Line>() };
    let (start, middle) = (head.len(), size_of_val(lines));
    // SAFETY: the parts follow each other in `into`, and `from` is as long as they are together.
    unsafe {
        ptr::copy_nonoverlapping(from, head.as_mut_ptr(), start);
        stream(from.add(start), lines);
        ptr::copy_nonoverlapping(from.add(start + middle), tail.as_mut_ptr(), tail.len());
    }
}

/// What is stored together.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line {
    _bytes: [u8; 64],
}

/// Bytes ahead of what is loaded that the processor is asked for.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 1024;

/// Fills lines, with the widest stores that the processor has: halves of a line keep up with
/// `memcpy`, quarters take a fifth longer.
///
/// # Safety
/// `from` must be valid for reads of as many bytes as `to` has, and none of them may be in `to`.
#[cfg(target_arch = "x86_64")]
unsafe fn stream(from: *const u8, to: &mut [Line]) {
    // SAFETY: the caller promises the bytes, and the processor was asked for its instructions.
    unsafe {
        match is_x86_feature_detected!("avx") {
            true => stream_halves(from, to),
            false => stream_quarters(from, to),
        }
    }
    // SAFETY: orders the stores before what other threads are told afterwards; needs SSE, which
    // every processor of this architecture has.
    unsafe { std::arch::x86_64::_mm_sfence() };
}

/// # Safety
/// As [`stream`], on a processor with AVX.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
unsafe fn stream_halves(from: *const u8, to: &mut [Line]) {
    use std::arch::x86_64::{
        __m256i, _MM_HINT_NTA, _mm_prefetch, _mm256_loadu_si256, _mm256_stream_si256,
    };
    for (index, line) in to.iter_mut().enumerate() {
        // SAFETY: the caller promises the bytes; a line has two registers and is aligned to them.
        // A prefetch reads nothing, wherever it points.
        unsafe {
            let from = from.add(index * size_of::<Line>());
            _mm_prefetch::<_MM_HINT_NTA>(from.wrapping_add(AHEAD).cast());
            let (from, to) = (from.cast::<__m256i>(), ptr::from_mut(line).cast::<__m256i>());
            let (low, high) = (_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1)));
            _mm256_stream_si256(to, low);
            _mm256_stream_si256(to.add(1), high);
        }
    }
}

/// # Safety
/// As [`stream`].
#[cfg(target_arch = "x86_64")]
unsafe fn stream_quarters(from: *const u8, to: &mut [Line]) {
    use std::arch::x86_64::{
        __m128i, _MM_HINT_NTA, _mm_loadu_si128, _mm_prefetch, _mm_stream_si128,
    };
    for (index, line) in to.iter_mut().enumerate() {
        // SAFETY: the caller promises the bytes; a line has four registers and is aligned to them.
        // A prefetch reads nothing, wherever it points.
        unsafe {
            let from = from.add(index * size_of::<Line>());
            _mm_prefetch::<_MM_HINT_NTA>(from.wrapping_add(AHEAD).cast());
            let (from, to) = (from.cast::<__m128i>(), ptr::from_mut(line).cast::<__m128i>());
            let words = [0, 1, 2, 3].map(|word| _mm_loadu_si128(from.add(word)));
            for (word, value) in words.into_iter().enumerate() {
                _mm_stream_si128(to.add(word), value);
            }
        }
    }
}

/// Fills lines.
///
/// # Safety
/// `from` must be valid for reads of as many bytes as `to` has, and none of them may be in `to`.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn stream(from: *const u8, to: &mut [Line]) {
    // SAFETY: the caller promises the bytes, and lines are plain bytes.
    unsafe { ptr::copy_nonoverlapping(from, to.as_mut_ptr().cast(), size_of_val(to)) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn narrow_stores_fill_the_same_lines() {
        let from: Vec<u8> = (0..1000u32).map(|n| (n % 251) as u8).collect();
        let mut lines = [Line { _bytes: [0; 64] }; 15];
        // SAFETY: there are more bytes than the lines have, somewhere else.
        unsafe { stream_quarters(from[1..].as_ptr(), &mut lines) };
        let bytes = lines.map(|line| line._bytes);
        assert_eq!(bytes.as_flattened(), &from[1..961]);
    }

    #[test]
    fn every_part_of_a_file_is_copied() {
        let mut file = tempfile::tempfile().unwrap();
        let all: Vec<u8> = (0..100_000u32).map(|n| (n % 251) as u8).collect();
        file.write_all(&all).unwrap();
        for (at, length) in [(0, 0), (0, 100_000), (1, 7), (4095, 200), (4097, 90_001), (99_999, 1)]
        {
            for shift in [0, 1, 63] {
                let mut into = vec![0; length + shift];
                copy_from_cache(&file, at as u64, &mut into[shift..]).unwrap();
                assert!(into[shift..] == all[at..at + length], "{at} {length} {shift}");
            }
        }
        let mut more = vec![0; 10];
        for at in [99_991, 100_000, 1 << 40, u64::MAX - 5] {
            assert!(copy_from_cache(&file, at, &mut more).is_err(), "{at}");
        }
    }

    #[test]
    fn a_file_that_is_cut_off_is_an_error() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        let mut into = vec![1; 1 << 20];
        copy_from_cache(&file, 0, &mut into).unwrap();
        assert!(into.iter().all(|byte| *byte == 0));
        file.set_len(5000).unwrap();
        assert!(matches!(copy_from_cache(&file, 0, &mut into), Err(Error::Truncated)));
    }
}
