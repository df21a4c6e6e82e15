//! Views, regions, planes, buffers and places that reach outside what they are made from.
#![forbid(unsafe_code)]

use tenure::memory::{Error, kind};
use tenure::{Buffer, DType, Layout, PixelFormat, Region, Tensor, TensorDyn, TensorMemory};
use tenure_attacks::{layout, memory, refused};

const FAR: usize = usize::MAX;

fn main() {
    let tensor = Tensor::<u8>::new(&[4, 8], Some(TensorMemory::Mem), None).expect("32 bytes");
    for range in [0..5, 4..5, 5..5, 3..FAR, FAR..FAR] {
        refused!(tensor.slice(0, range), layout!(RangeOutOfBounds { .. }));
    }
    #[expect(clippy::reversed_empty_ranges, reason = "that is the attack")]
    let reversed = 3..2;
    refused!(tensor.slice(0, reversed), layout!(RangeOutOfBounds { .. }));
    refused!(tensor.slice_step(0, 0..4, 0), layout!(RangeOutOfBounds { .. }));
    refused!(tensor.slice(2, 0..1), layout!(NoSuchAxis { .. }));
    refused!(tensor.index(0, 4), layout!(IndexOutOfBounds { .. }));
    refused!(tensor.index(FAR, 0), layout!(NoSuchAxis { .. }));
    refused!(tensor.reshape(&[33]), layout!(ReshapeCount { .. }));
    refused!(tensor.permute(&[0, 0]), layout!(NotAPermutation { .. }));
    refused!(tensor.permute(&[0, 2]), layout!(NotAPermutation { .. }));
    refused!(tensor.broadcast_to(&[8, 8]), layout!(NotBroadcastable { .. }));
    refused!(tensor.squeeze(0), layout!(NotSqueezable { .. }));
    refused!(tensor.unsqueeze(3), layout!(NoSuchAxis { .. }));
    let map = tensor.map().expect("free");
    for index in [&[4, 0][..], &[0, 8], &[FAR, FAR], &[0], &[0, 0, 0]] {
        assert!(map.at(index).is_none(), "{index:?}");
    }
    drop(map);

    let frame = Tensor::<u8>::image(16, 8, PixelFormat::Nv12, None, None).expect("an image");
    for (x, y, width, height) in
        [(0, 0, 18, 8), (16, 0, 2, 2), (0, 8, 2, 2), (FAR, 0, 2, 2), (2, 2, FAR, 2), (0, 0, 0, 2)]
    {
        let region = Region::new(x, y, width, height);
        refused!(frame.view(region), layout!(RegionOutOfBounds { .. }));
    }
    refused!(frame.view(Region::new(1, 0, 2, 2)), layout!(RegionCutsChroma { .. }));
    refused!(frame.plane(2), layout!(PlaneCount { .. }));
    refused!(frame.plane(FAR), layout!(PlaneCount { .. }));
    refused!(tensor.plane(0), tenure::tensor::Error::NotAnImage { .. });

    let buffer = tensor.buffer();
    for range in [0..33, 32..33, FAR - 1..FAR] {
        refused!(buffer.slice(range.clone()), Error::OutOfBounds { .. });
        refused!(buffer.write_range(range.clone()), Error::OutOfBounds { .. });
        refused!(buffer.read_range(range), Error::OutOfBounds { .. });
    }
    let mem = kind::allocator(TensorMemory::Mem).expect("the heap");
    let lazy = Buffer::lazy(mem, 32, None).expect("lazy");
    for offset in [256, FAR, FAR - 31] {
        refused!(lazy.place_in(buffer, offset), Error::OutOfBounds { .. });
    }
    let part = buffer.slice(8..16).expect("inside");
    for (offset, bytes) in [(0, 9), (8, 1), (FAR, 0)] {
        let layout = Layout::strided(DType::U8, &[bytes], &[1], offset);
        let Ok(layout) = layout else { continue };
        refused!(TensorDyn::from_buffer(part.clone(), layout), layout!(OutOfBounds { .. }));
    }
    let planes = |places: &[_], width, height| {
        let buffers = [part.clone()];
        TensorDyn::from_plane_buffers(&buffers, places, width, height, PixelFormat::Grey, DType::U8)
    };
    refused!(planes(&[(0, None)], 3, 3), layout!(OutOfBounds { .. }));
    refused!(planes(&[(7, None)], 2, 1), layout!(OutOfBounds { .. }));
    refused!(planes(&[(0, Some(8))], 2, 2), layout!(OutOfBounds { .. }));
    refused!(planes(&[(FAR, None)], 1, 1), layout!(ImageTooLarge { .. } | OutOfBounds { .. }));
    refused!(Tensor::from_slice(&[0u8; 31], &[4, 8]), tenure::tensor::Error::WrongLength { .. });
    refused!(tensor.copy_to_flat(&mut [0; 31]), tenure::tensor::Error::WrongLength { .. });
    refused!(
        tensor.buffer().slice(0..33).map_err(tenure::tensor::Error::from),
        memory!(OutOfBounds { .. })
    );
}
