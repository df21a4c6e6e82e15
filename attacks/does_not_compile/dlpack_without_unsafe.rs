//! A pointer that nobody vouches for, as a tensor of another library.
#![forbid(unsafe_code)]

use tenure::dlpack::Versioned;

fn main() {
    let _ = Versioned::from_raw(std::ptr::dangling_mut());
}
