//! Two mutable slices of one tensor, through the tensor itself and through other handles to it.
#![forbid(unsafe_code)]

use tenure::memory::Access;
use tenure::{Tensor, TensorMemory};
use tenure_attacks::{memory, refused};

fn main() {
    for memory in [TensorMemory::Mem, TensorMemory::Shm] {
        let tensor = Tensor::<u32>::new(&[16], Some(memory), None).expect("64 bytes");
        let (twin, untyped) = (tensor.clone(), tensor.to_dyn());
        let mut first = tensor.map().expect("nobody holds it");
        refused!(tensor.map(), memory!(Busy(busy)) if busy.held == Access::Write);
        refused!(twin.map(), memory!(Busy(busy)) if busy.held == Access::Write);
        refused!(untyped.map(), memory!(Busy(busy)) if busy.held == Access::Write);
        refused!(tensor.map_strided(), memory!(Busy(busy)) if busy.held == Access::Write);
        refused!(tensor.buffer().write(), tenure::memory::Error::Busy(busy) if busy.held == Access::Write);
        first.as_mut_slice().fill(7);
        drop(first);
        assert_eq!(twin.map().expect("given back").as_slice(), [7; 16]);
    }
}
