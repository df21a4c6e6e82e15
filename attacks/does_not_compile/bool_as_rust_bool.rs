//! The truth values of a map taken for Rust `bool`s, which must be 0 or 1.
#![forbid(unsafe_code)]

use tenure::{Bool, Tensor};

fn main() {
    let tensor = Tensor::<Bool>::new(&[16], None, None).unwrap();
    let map = tensor.map_read().unwrap();
    let values: &[bool] = map.as_slice();
    assert!(!values[0]);
}
