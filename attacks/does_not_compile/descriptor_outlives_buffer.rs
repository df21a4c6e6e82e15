//! A borrowed descriptor that is used after its buffer closed it.
#![forbid(unsafe_code)]

use tenure::{Tensor, TensorMemory};

fn main() {
    let tensor = Tensor::<u8>::new(&[16], Some(TensorMemory::Shm), None).unwrap();
    let fd = tensor.buffer().lend_descriptor().unwrap();
    drop(tensor);
    println!("{fd:?}");
}
