//! Changing a tensor's format, size, offset or stride while a slice of it is held, and exchanging
//! guards behind each other's back.
#![forbid(unsafe_code)]

use tenure::{PixelFormat, Tensor, TensorMemory};
use tenure_attacks::{memory, refused};

fn main() {
    let mem = Some(TensorMemory::Mem);
    let mut tensor = Tensor::<u8>::image(32, 32, PixelFormat::Rgba, mem, None).expect("an image");
    let mut held = tensor.map().expect("free");
    tensor.configure_image(8, 8, PixelFormat::Nv12, None).expect("smaller");
    tensor.set_plane_offset(1024).expect("fits");
    // The guard goes on with what it was given.
    assert_eq!((held.shape(), held.as_slice().len()), (&[32, 32, 4][..], 4096));
    *held.at_mut(&[31, 31, 3]).expect("the last") = 7;
    refused!(tensor.map(), memory!(Busy { .. }));
    tensor.configure_image(64, 16, PixelFormat::Rgba, None).expect("as large");
    refused!(tensor.map_read(), memory!(Busy { .. }));
    drop(held);
    assert_eq!(tensor.map_read().expect("free").as_slice()[4095], 7);

    // Each guard gives back what it holds itself, not what its variable held before.
    let (large, small) = (tensor, Tensor::<u8>::new(&[4], mem, None).expect("4 bytes"));
    let (mut one, mut two) = (large.map().expect("free"), small.map().expect("free"));
    std::mem::swap(&mut one, &mut two);
    assert_eq!((one.as_slice().len(), two.as_slice().len()), (4, 4096));
    assert!(one.at(&[15, 63, 3]).is_none() && two.at(&[15, 63, 3]).is_some());
    drop(one);
    drop(small.map().expect("given back"));
    refused!(large.map(), memory!(Busy { .. }));
    let first = std::mem::replace(&mut two, small.map().expect("free"));
    drop(first);
    drop(large.map().expect("given back"));
    refused!(small.map(), memory!(Busy { .. }));
}
