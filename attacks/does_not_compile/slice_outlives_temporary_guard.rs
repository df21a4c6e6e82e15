//! A slice of a guard that lives for one statement only.
#![forbid(unsafe_code)]

use tenure::{Tensor, TensorMemory};

fn main() {
    let tensor = Tensor::<u8>::new(&[16], Some(TensorMemory::Mem), None).unwrap();
    let slice = tensor.map_read().unwrap().as_slice();
    let _other = tensor.map().unwrap();
    assert_eq!(slice[0], 0);
}
