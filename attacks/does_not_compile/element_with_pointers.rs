//! Elements that are references: another process could write an address into them.
#![forbid(unsafe_code)]

use tenure::{Tensor, TensorMemory};

fn main() {
    let _ = Tensor::<&'static str>::new(&[16], Some(TensorMemory::Mem), None);
    let _ = Tensor::<String>::new(&[16], Some(TensorMemory::Mem), None);
    let _ = Tensor::<Option<Box<u8>>>::new(&[16], Some(TensorMemory::Mem), None);
}
