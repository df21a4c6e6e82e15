//! A guard in two hands: it gives the bytes back once.
#![forbid(unsafe_code)]

use tenure::Tensor;

fn main() {
    let tensor = Tensor::<u8>::new(&[16], None, None).unwrap();
    let mut map = tensor.map().unwrap();
    let mut other = map.clone();
    other.as_mut_slice()[0] = map.as_mut_slice()[0];
}
