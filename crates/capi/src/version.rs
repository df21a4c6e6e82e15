//! Which library this is.
#![expect(unsafe_code, reason = "functions that C calls have names of their own")]

use std::ffi::c_char;

/// The version of the binary interface that this header describes. It grows with every change of
/// it; a library answers its own with `tenure_abi_version`.
pub const TENURE_ABI_VERSION: u32 = 1;

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");

/// The version of the binary interface that this library has. A program that finds another than
/// the `TENURE_ABI_VERSION` it was compiled with must not go on.
#[unsafe(no_mangle)]
pub extern "C" fn tenure_abi_version() -> u32 {
    TENURE_ABI_VERSION
}

/// The version of this library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn tenure_version() -> *const c_char {
    VERSION.as_ptr().cast()
}
