//! A pattern, again and again.
#![expect(unsafe_code, reason = "stores by address")]

use crate::engine::cpu::kernels::Pattern;

/// Bytes that are stored together: what vectors of most processors hold.
const TOGETHER: usize = 16;

/// # Safety
/// `out` must be valid for writes of `len` bytes.
#[inline(always)]
pub(crate) unsafe fn fill(pattern: &Pattern, out: *mut u8, len: usize) {
    let whole = len / pattern.len() * pattern.len();
    let (parts, _) = pattern.as_chunks::<TOGETHER>();
    for start in (0..whole).step_by(pattern.len()) {
        for (index, part) in parts.iter().enumerate() {
            // SAFETY: inside `len` bytes.
            unsafe { out.add(start + index * TOGETHER).cast::<[u8; TOGETHER]>().write(*part) };
        }
    }
    // SAFETY: inside `len` bytes; less than a pattern is left.
    unsafe { pattern.as_ptr().copy_to_nonoverlapping(out.add(whole), len - whole) };
}
