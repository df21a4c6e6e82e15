//! Two mutable slices of one tensor.
#![forbid(unsafe_code)]

use tenure::{Tensor, TensorMemory};

fn main() {
    let tensor = Tensor::<u8>::new(&[16], Some(TensorMemory::Mem), None).expect("16 bytes");
    let _first = tensor.map().expect("nobody holds it");
    let second = tensor.map();
    assert!(second.is_err_and(|error| error.to_string().contains("held for write")));
}
