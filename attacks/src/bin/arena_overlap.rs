//! Lazy tensors placed on top of each other in one arena, mapped at the same time: planners do
//! place them so, for different moments.
#![forbid(unsafe_code)]

use std::sync::Arc;

use tenure::memory::kind::mem::Mem;
use tenure::{Tensor, TensorMemory};
use tenure_attacks::{memory, refused};

fn main() {
    let arena = Tensor::<u8>::new(&[4096], Some(TensorMemory::Mem), Some("arena")).expect("a page");
    let placed = |offset| {
        let lazy =
            Tensor::<u8>::builder(&[1024]).allocator(&Arc::new(Mem)).lazy().build().expect("lazy");
        lazy.buffer().place_in(arena.buffer(), offset).expect("room");
        lazy
    };
    let (first, over, beside) = (placed(0), placed(512), placed(1536));
    assert!(first.aliases(&over) && over.aliases(&arena) && !first.aliases(&beside));

    let mut held = first.map().expect("free");
    refused!(over.map(), memory!(Busy { .. }));
    refused!(over.map_read(), memory!(Busy { .. }));
    refused!(over.fill(1), memory!(Busy { .. }));
    refused!(arena.map(), memory!(Busy { .. }));
    let mut other = beside.map().expect("apart");
    held.as_mut_slice().fill(1);
    other.as_mut_slice().fill(2);
    drop((held, other));
    refused!(over.copy_from(&first), memory!(Busy { .. }));
    assert_eq!(over.map_read().expect("free").as_slice()[..512], [1; 512]);

    // An arena inside an arena: the innermost bytes still answer to one ledger.
    let inner = placed(2048);
    let innermost =
        Tensor::<u8>::builder(&[256]).allocator(&Arc::new(Mem)).lazy().build().expect("lazy");
    innermost.buffer().place_in(inner.buffer(), 512).expect("room");
    assert_eq!(innermost.buffer().start(), 2560);
    let held = innermost.map().expect("free");
    refused!(inner.map(), memory!(Busy { .. }));
    refused!(arena.slice(0, 2560..2561).expect("inside").map(), memory!(Busy { .. }));
    drop(held);
}
