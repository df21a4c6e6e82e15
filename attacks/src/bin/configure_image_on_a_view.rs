//! Re-pointing a view at a larger image, a later offset or a wider stride, to reach bytes of the
//! tensor that it was cut from.
#![forbid(unsafe_code)]

use tenure::{DType, DynTensor, PixelFormat, Region, Tensor, TensorDyn, TensorMemory};
use tenure_attacks::{layout, refused};

fn main() {
    let parent = Tensor::<u8>::image(64, 64, PixelFormat::Grey, Some(TensorMemory::Mem), None);
    let parent = parent.expect("an image");
    parent.fill(1).expect("free");
    let secret = parent.view(Region::new(0, 32, 64, 32)).expect("the lower half");
    secret.fill(99).expect("free");

    let mut view = parent.view(Region::new(0, 0, 64, 32)).expect("the upper half");
    assert_eq!(view.capacity_bytes(), 64 * 32);
    let grey = PixelFormat::Grey;
    refused!(view.configure_image(64, 64, grey, None), layout!(OutOfBounds { .. }));
    refused!(view.configure_image(64, 33, grey, None), layout!(OutOfBounds { .. }));
    refused!(view.configure_image(1, 34, grey, Some(64)), layout!(OutOfBounds { .. }));
    refused!(view.configure_image(32, 32, PixelFormat::Rgba, None), layout!(OutOfBounds { .. }));
    refused!(view.set_row_stride(128), layout!(OutOfBounds { .. }));
    refused!(view.set_plane_offset(64), layout!(OutOfBounds { .. }));
    refused!(view.view(Region::new(0, 0, 64, 33)), layout!(RegionOutOfBounds { .. }));
    view.configure_image(32, 64, grey, None).expect("as many bytes as it has");
    assert!(view.map().expect("free").as_slice().iter().all(|byte| *byte == 1));

    // The same for slices, planes and batch elements.
    let mut rows = parent.slice(0, 0..1).expect("a row");
    refused!(rows.configure_image(65, 1, grey, None), layout!(OutOfBounds { .. }));
    let mut plane = parent.plane(0).expect("the only one").slice(0, 4..8).expect("rows");
    refused!(plane.configure_image(64, 5, grey, None), layout!(OutOfBounds { .. }));
    refused!(plane.set_plane_offset(4 * 64 + 1), layout!(OutOfBounds { .. }));
    let before = plane.set_plane_offset(4 * 64 - 1);
    refused!(before, tenure::tensor::Error::BeforeStart { start: 256, .. });
    let mut batch = TensorDyn::new(&[2, 4, 4, 3], DType::U8, None, None).expect("96 bytes");
    batch.set_format(PixelFormat::Rgb).expect("RGB");
    let mut first = batch.batch(0).expect("there");
    refused!(first.configure_image(4, 5, PixelFormat::Rgb, None), layout!(OutOfBounds { .. }));

    // Planes whose padding would count: padded I420 shows its padding in the tensor's shape.
    let mut padded = Tensor::<u8>::new(&[4 * 12 + 2 * 6 + 6 + 4], Some(TensorMemory::Mem), None)
        .expect("not quite enough");
    if padded.configure_image(8, 4, PixelFormat::I420, Some(12)).is_ok() {
        let len = padded.map().expect("what was accepted can be mapped").as_slice().len();
        assert!(len <= padded.capacity_bytes());
    }
    assert!(secret.map_read().expect("free").as_slice().iter().all(|byte| *byte == 99));
}
