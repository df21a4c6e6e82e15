//! A mutable slice beside a shared one, in both orders, and through a copy or a fill.
#![forbid(unsafe_code)]

use tenure::Tensor;
use tenure::memory::Access;
use tenure_attacks::{memory, refused};

fn main() {
    let tensor = Tensor::from_slice(&[1u16, 2, 3, 4], &[4]).expect("8 bytes");
    let other = Tensor::from_slice(&[9u16; 4], &[4]).expect("8 bytes");

    let readers = [tensor.map_read().expect("free"), tensor.map_read().expect("readers agree")];
    refused!(tensor.map(), memory!(Busy(busy)) if busy.held == Access::Read);
    refused!(tensor.slice(0, 3..4).expect("inside").map(), memory!(Busy { .. }));
    refused!(tensor.fill(5), memory!(Busy(busy)) if busy.asked == Access::KernelWrite);
    refused!(tensor.copy_from(&other), memory!(Busy(busy)) if busy.asked == Access::KernelWrite);
    assert!(readers.iter().all(|reader| reader.as_slice() == [1, 2, 3, 4]));
    drop(readers);

    let writer = tensor.map().expect("free again");
    refused!(tensor.map_read(), memory!(Busy(busy)) if busy.held == Access::Write);
    refused!(other.copy_from(&tensor), memory!(Busy(busy)) if busy.asked == Access::KernelRead);
    let mut flat = [0; 8];
    refused!(tensor.copy_to_flat(&mut flat), memory!(Busy { .. }));
    refused!(tensor.to(None), memory!(Busy { .. }));
    assert_eq!((writer.as_slice(), flat), (&[1, 2, 3, 4][..], [0; 8]));
}
