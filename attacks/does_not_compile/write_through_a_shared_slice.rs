//! Writing through the slice of a guard that was asked for reading.
#![forbid(unsafe_code)]

use tenure::Tensor;

fn main() {
    let tensor = Tensor::<u8>::new(&[16], None, None).unwrap();
    let read = tensor.map_read().unwrap();
    read.as_slice()[0] = 1;
    *read.at(&[0]).unwrap() = 1;
}
