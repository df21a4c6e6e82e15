//! A descriptor kept after its tensor is gone. It must stand for the same memory, alive, and a
//! new tensor must not get that memory, nor see what is written through the old descriptor.
#![forbid(unsafe_code)]

use std::fs::File;
use std::os::unix::fs::FileExt;

use tenure::memory::kind;
use tenure::{Pool, Tensor, TensorMemory};

fn main() {
    let pool = Pool::new(kind::allocator(TensorMemory::Shm).expect("shared memory"));
    let tensor = Tensor::<u8>::builder(&[4096]).allocator(&pool).build().expect("a page");
    tensor.fill(7).expect("free");
    let fd = tensor.clone_fd().expect("shared memory has one");
    let gone = tensor.buffer_identity().weak();
    drop(tensor);
    assert!(gone.upgrade().is_none(), "the pool must not keep what others hold");

    let next = Tensor::<u8>::builder(&[4096]).allocator(&pool).build().expect("a page");
    let old = File::from(fd);
    old.write_all_at(&[99; 4096], 0).expect("the memory still exists");
    assert_eq!(next.map_read().expect("free").as_slice(), [0; 4096]);

    let back = Tensor::<u8>::from_fd(&old, &[4096], None).expect("the memory still exists");
    assert_eq!(back.map_read().expect("free").as_slice(), [99; 4096]);
    drop(old);
    assert_eq!(back.map().expect("free").as_slice(), [99; 4096]);
}
