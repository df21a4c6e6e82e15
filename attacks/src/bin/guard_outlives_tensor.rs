//! A slice of memory whose tensor, views, arena and pool are gone. It stays valid, and nobody
//! else gets the memory meanwhile.
#![forbid(unsafe_code)]

use std::sync::Arc;

use tenure::memory::kind;
use tenure::{Pool, Tensor, TensorMap, TensorMemory};

fn filled(tensor: Tensor<u8>, value: u8) -> TensorMap<u8> {
    let mut map = tensor.map().expect("free");
    map.as_mut_slice().fill(value);
    map
}

fn main() {
    let of = |memory| kind::allocator(memory).expect("this memory is everywhere");
    let pool = Pool::new(of(TensorMemory::Mem));
    let arena = Tensor::<u8>::new(&[8192], Some(TensorMemory::Mem), None).expect("an arena");
    let lazy = Tensor::<u8>::builder(&[4096])
        .allocator(&Arc::new(kind::mem::Mem))
        .lazy()
        .build()
        .expect("lazy");
    lazy.buffer().place_in(arena.buffer(), 4096).expect("room");

    let parent = Tensor::<u8>::new(&[3, 4096], Some(TensorMemory::Mem), None).expect("memory");
    let view = parent.index(0, 1).expect("a row");
    let mut guards = vec![
        filled(Tensor::<u8>::new(&[4096], Some(TensorMemory::Shm), None).expect("memory"), 1),
        filled(Tensor::<u8>::new(&[1 << 20], Some(TensorMemory::Mem), None).expect("memory"), 2),
        filled(view, 3),
        filled(lazy, 4),
        filled(Tensor::<u8>::builder(&[4096]).allocator(&pool).build().expect("memory"), 5),
    ];
    drop((parent, arena, pool));

    // Whoever allocates now gets other memory.
    for round in 0..100 {
        for memory in [TensorMemory::Mem, TensorMemory::Shm] {
            let size = if round % 10 == 0 { 1 << 20 } else { 4096 };
            drop(filled(Tensor::<u8>::new(&[size], Some(memory), None).expect("memory"), 0xff));
        }
    }
    for (value, guard) in (1..).zip(&mut guards) {
        assert!(guard.as_slice().iter().all(|byte| *byte == value), "{value}");
        guard.as_mut_slice().fill(value + 100);
        assert!(guard.as_slice().iter().all(|byte| *byte == value + 100), "{value}");
    }
}
