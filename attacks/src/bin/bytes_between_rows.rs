//! Writing bytes of others through the map of a view: filling the slice of a region, taking the
//! span of a view whose elements reach from the first to the last byte of the allocation, and
//! stepping from one row into the gap behind it.
#![forbid(unsafe_code)]

use tenure::{
    DType, DynTensor, PixelFormat, Region, Tensor, TensorDyn, TensorMemory, tensor::Error,
};
use tenure_attacks::{layout, refused};

const MEM: Option<TensorMemory> = Some(TensorMemory::Mem);

/// How many bytes of the image have this value.
fn count(image: &Tensor<u8>, value: u8) -> usize {
    image.map_read().expect("free").iter().filter(|byte| **byte == value).count()
}

fn main() {
    let image = Tensor::<u8>::image(8, 4, PixelFormat::Grey, MEM, None).expect("32 pixels");
    let face = image.view(Region::new(3, 1, 2, 2)).expect("inside");
    refused!(face.map(), Error::NotContiguous { .. });
    refused!(face.map_read(), Error::NotContiguous { .. });
    refused!(face.map_wait(None), Error::NotContiguous { .. });
    refused!(face.map_read_wait(None), Error::NotContiguous { .. });
    refused!(face.map_span(), Error::NotWhole { .. });
    refused!(face.map_span_read(), Error::NotWhole { .. });
    let mut rows = face.map_rows().expect("rows of its own");
    rows.rows_mut().for_each(|row| row.fill(9));
    assert!(rows.row(2).is_none() && rows.row_mut(usize::MAX).is_none());
    assert!(rows[0].len() == 2 && rows[1].get_mut(2).is_none());
    drop(rows);
    assert_eq!(count(&image, 9), 4);
    face.map_strided().expect("by element").for_each_mut(|value| *value = 8);
    assert_eq!(count(&image, 8), 4);

    // From the first to the last byte, and yet every second element is somebody else's.
    let line = Tensor::<u8>::new(&[2, 7], MEM, None).expect("14 bytes");
    let even = line.slice_step(1, 0..7, 2).expect("inside");
    assert_eq!(even.layout().span(), 0..14);
    refused!(even.map(), Error::NotContiguous { .. });
    refused!(even.map_span(), Error::NotWhole { .. });
    refused!(even.map_rows(), Error::NotContiguous { .. });
    even.map_strided().expect("by element").for_each_mut(|value| *value = 7);
    assert_eq!(count(&line, 7), 8);

    // A tensor that was allocated with padding has that, but not its views, and not those who
    // describe its memory anew.
    let padded = TensorDyn::image_builder(10, 4, PixelFormat::Rgb, DType::U8).row_stride(64);
    let padded = padded.memory(MEM).build();
    let padded = padded.expect("an image");
    padded.map_span().expect("all of it is its own").fill(5);
    let part = padded.view(Region::new(0, 0, 10, 4)).expect("all pixels, as a view");
    refused!(part.map_span(), Error::NotWhole { .. });
    refused!(padded.slice(0, ..).expect("rows").map_span(), Error::NotWhole { .. });
    let anew = TensorDyn::from_buffer(padded.buffer().clone(), padded.layout().clone());
    refused!(anew.expect("fits").map_span(), Error::NotWhole { .. });
    let mut view = part.clone();
    refused!(view.configure_image(64, 4, PixelFormat::Grey, None), layout!(OutOfBounds { .. }));

    // Half bytes: a row of three elements would end in the middle of one.
    let halves = TensorDyn::new(&[2, 6], DType::U4, MEM, None).expect("6 bytes");
    refused!(halves.slice(1, 0..3), layout!(SubByte { .. }));
    let left = halves.slice(1, 0..4).expect("two bytes of each row");
    left.map_rows().expect("rows").rows_mut().for_each(|row| row.fill(0xff));
    assert_eq!(halves.map_read().expect("free")[..], [255, 255, 0, 255, 255, 0]);
}
