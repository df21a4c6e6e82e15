//! Lines of the cache that are written soon.
#![expect(unsafe_code, reason = "an instruction that the compiler does not use by itself")]

use std::arch::asm;

/// Bytes of a line of the cache.
pub(in crate::engine::cpu::kernels) const LINE: usize = 64;

/// Asks for a line to write to, wherever that is. What is fetched to be read has to be asked for once
/// more when it is written.
#[inline(always)]
pub(in crate::engine::cpu::kernels) fn fetch_to_write(address: *const u8) {
    // SAFETY: no memory is touched, whatever the address; processors that do not know the instruction
    // do nothing.
    unsafe {
        asm!("prefetchw [{}]", in(reg) address, options(nomem, nostack, preserves_flags));
    }
}
