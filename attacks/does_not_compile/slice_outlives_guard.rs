//! A slice that is used after its guard has given the bytes back.
#![forbid(unsafe_code)]

use tenure::{Tensor, TensorMemory};

fn main() {
    let tensor = Tensor::<u8>::new(&[16], Some(TensorMemory::Mem), None).unwrap();
    let slice = {
        let mut map = tensor.map().unwrap();
        map.as_mut_slice()
    };
    slice.fill(1);
}
