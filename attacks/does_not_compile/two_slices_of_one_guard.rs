//! Two mutable slices, or a mutable and a shared one, of one guard.
#![forbid(unsafe_code)]

use tenure::{Tensor, TensorMap};

fn two_mutable(map: &mut TensorMap<u8>) {
    let first = map.as_mut_slice();
    let second = map.as_mut_slice();
    first[0] = second[0];
}

fn mutable_beside_shared(map: &mut TensorMap<u8>) {
    let shared = map.as_slice();
    *map.at_mut(&[0]).unwrap() = 1;
    assert_eq!(shared[0], 1);
}

fn main() {
    let tensor = Tensor::<u8>::new(&[16], None, None).unwrap();
    let mut map = tensor.map().unwrap();
    two_mutable(&mut map);
    mutable_beside_shared(&mut map);
}
