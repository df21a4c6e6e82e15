//! Elements of which some bit patterns are invalid: a `char`, an enum, a non-zero number, a `bool`.
#![forbid(unsafe_code)]

use std::num::NonZeroU8;

use tenure::{Tensor, TensorMemory};

fn main() {
    let _ = Tensor::<char>::new(&[16], Some(TensorMemory::Mem), None);
    let _ = Tensor::<NonZeroU8>::new(&[16], Some(TensorMemory::Mem), None);
    let _ = Tensor::<std::cmp::Ordering>::new(&[16], Some(TensorMemory::Mem), None);
    let _ = Tensor::<bool>::new(&[16], Some(TensorMemory::Mem), None);
}
