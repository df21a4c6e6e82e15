//! Mutable slices of views that share bytes: slices, interleaved columns, regions, batch
//! elements, planes, reshapes. Views that share none are mapped at the same time.
#![forbid(unsafe_code)]

use tenure::{
    DType, DynTensor, PixelFormat, Region, Tensor, TensorDyn, TensorMemory, tensor::Error,
};
use tenure_attacks::{memory, refused};

fn main() {
    let tensor = Tensor::<u8>::new(&[4, 8], Some(TensorMemory::Mem), None).expect("32 bytes");
    let rows = |range| tensor.slice(0, range).expect("inside");
    let columns = |range| tensor.slice(1, range).expect("inside");

    let top = rows(0..2).map().expect("free");
    refused!(rows(1..3).map(), memory!(Busy { .. }));
    refused!(tensor.reshape(&[32]).expect("contiguous").map(), memory!(Busy { .. }));
    refused!(tensor.permute(&[1, 0]).expect("axes").map_strided(), memory!(Busy { .. }));
    rows(2..4).map().expect("other rows").as_mut_slice().fill(1);
    assert_eq!(top.as_slice(), [0; 16]);
    drop(top);

    // Columns have no slice, and what lies between their elements is not held with them.
    refused!(columns(0..4).map(), Error::NotContiguous { .. });
    let left = columns(0..4).map_rows().expect("free");
    refused!(columns(3..8).map_rows(), memory!(Busy { .. }));
    refused!(columns(3..4).map_strided(), memory!(Busy { .. }));
    refused!(rows(1..2).map(), memory!(Busy { .. }));
    let right = columns(4..8).map_rows().expect("the other half");
    drop((left, right));
    let (even, odd) = (tensor.slice_step(1, 0.., 2), tensor.slice_step(1, 1.., 2));
    let held = even.expect("inside").map_strided().expect("free");
    drop(odd.expect("inside").map_strided().expect("every other element"));
    refused!(columns(2..3).map_strided_read(), memory!(Busy { .. }));
    drop(held);

    let frame = Tensor::<u8>::image(16, 8, PixelFormat::Nv12, None, None).expect("an image");
    let face = frame.view(Region::new(4, 2, 8, 4)).expect("inside");
    let held = face.map_rows().expect("free");
    let right = frame.view(Region::new(8, 0, 8, 8)).expect("inside");
    refused!(frame.map(), memory!(Busy { .. }));
    refused!(right.map_rows(), memory!(Busy { .. }));
    refused!(frame.plane(0).expect("luma").map(), memory!(Busy { .. }));
    let of_face = face.plane(1).expect("chroma").map_rows().expect("a plane of its own");
    refused!(frame.plane(1).expect("chroma").map(), memory!(Busy { .. }));
    refused!(right.plane(1).expect("chroma").map_rows(), memory!(Busy { .. }));
    drop((held, of_face));
    let (luma, chroma) = (frame.plane(0).expect("luma"), frame.plane(1).expect("chroma"));
    let planes = (luma.map().expect("free"), chroma.map().expect("another plane"));
    refused!(luma.map(), memory!(Busy { .. }));
    drop(planes);

    let mut batch = TensorDyn::new(&[2, 4, 4, 3], DType::U8, None, None).expect("96 bytes");
    batch.set_format(PixelFormat::Rgb).expect("RGB images");
    let first = batch.batch(0).expect("there").map().expect("free");
    refused!(batch.batch(0).expect("there").map(), memory!(Busy { .. }));
    refused!(batch.map(), memory!(Busy { .. }));
    let second = batch.batch(1).expect("there").map().expect("another image");
    assert_eq!((first.as_slice().len(), second.as_slice().len()), (48, 48));
}
