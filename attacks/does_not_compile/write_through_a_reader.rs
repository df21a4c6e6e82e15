//! Writing through a guard that was asked for reading.
#![forbid(unsafe_code)]

use tenure::Tensor;

fn main() {
    let tensor = Tensor::<u8>::new(&[16], None, None).unwrap();
    let mut read = tensor.map_read().unwrap();
    read[0] = 1;
    read.fill(1);
}
