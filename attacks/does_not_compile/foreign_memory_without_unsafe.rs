//! An address that nobody vouches for, as memory.
#![forbid(unsafe_code)]

use std::ptr::NonNull;

use tenure::memory::kind::foreign::{Description, adopt};

fn main() {
    let _ = adopt(Some(NonNull::dangling()), 1 << 20, Description::HEAP, (), None);
}
