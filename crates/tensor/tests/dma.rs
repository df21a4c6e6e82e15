//! Tensors in DMA-BUF memory, on a kernel that has it.
//!
//! Ignored by default because most machines have none; `tests/vm/test` runs them in a virtual
//! machine, `tests/vm/test --here` on a machine that has it.
#![cfg(target_os = "linux")]

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use tenure_tensor::{
    DType, DynTensor, PixelFormat, PlaneDescriptor, Region, Sharing, Tensor, TensorDyn,
    TensorMemory, receive, send,
};

const DMA: Option<TensorMemory> = Some(TensorMemory::Dma);

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn a_tensor_without_a_wish_is_in_dma_memory() {
    let t = Tensor::<f32>::new(&[1, 3, 224, 224], None, Some("input")).unwrap();
    assert_eq!(t.memory(), TensorMemory::Dma);
    t.map().unwrap().as_mut_slice().fill(0.5);
    assert_eq!(t.map_read().unwrap().as_slice()[1000], 0.5);
    let lent = t.dmabuf().unwrap();
    assert!(lent.try_clone_to_owned().is_ok());
    assert!(t.dmabuf_clone().unwrap().as_fd().try_clone_to_owned().is_ok());
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn images_have_the_same_rows_as_in_any_memory() {
    for format in PixelFormat::all() {
        let dtype = if format == PixelFormat::P010 { DType::U16 } else { DType::U8 };
        let image = TensorDyn::image(321, 97, format, dtype, DMA, None).unwrap();
        let heap = TensorMemory::Mem;
        let same = TensorDyn::image(321, 97, format, dtype, Some(heap), None).unwrap();
        assert_eq!(image.image_layout(), same.image_layout(), "{format}");
        assert_eq!(image.map().unwrap().len(), same.map().unwrap().len(), "{format}");
        let stride = same.image_layout().unwrap().importable_stride().unwrap();
        let padded = TensorDyn::image_builder(321, 97, format, dtype).row_stride(stride);
        let padded = padded.memory(DMA).build().unwrap();
        let layout = padded.image_layout().unwrap();
        assert!(layout.planes().iter().all(|plane| plane.row_stride % 64 == 0), "{format}");
        assert_eq!(padded.effective_row_stride(), Some(stride), "{format}");
        assert_eq!((image.width(), image.height()), (Some(321), Some(97)));
        let mut flat = vec![1; image.flat_bytes()];
        image.copy_to_flat(&mut flat).unwrap();
        assert!(flat.iter().all(|byte| *byte == 0), "{format}");
    }
    let given =
        Tensor::<u8>::image_builder(321, 97, PixelFormat::Rgb).row_stride(1000).memory(DMA).build();
    assert_eq!(given.unwrap().row_stride(), Some(1000));
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn planes_come_from_one_descriptor_or_from_several() {
    let memory = Tensor::<u8>::new(&[64 * 1024], DMA, None).unwrap();
    memory.fill(3).unwrap();
    let fd = memory.clone_fd().unwrap();
    let nv12 = |planes: &[PlaneDescriptor]| {
        TensorDyn::from_planes(planes, 120, 60, PixelFormat::Nv12, DType::U8).unwrap()
    };
    // Offsets that no page starts at.
    let luma = PlaneDescriptor::new(&fd).unwrap().with_offset(100).with_stride(128);
    let chroma = PlaneDescriptor::new(&fd).unwrap().with_offset(10_001).with_stride(130);
    let one = nv12(&[luma, chroma]);
    assert!(!one.is_multi_buffer() && one.aliases(&memory));
    assert_eq!(one.buffer_identity().id(), memory.buffer_identity().id());

    let other = Tensor::<u8>::new(&[4096], DMA, None).unwrap();
    let luma = PlaneDescriptor::new(&fd).unwrap().with_stride(128);
    let chroma = PlaneDescriptor::new(other.clone_fd().unwrap()).unwrap().with_stride(120);
    let two = nv12(&[luma, chroma]);
    assert!(two.is_multi_buffer() && two.aliases(&other));
    two.plane(1).unwrap().typed::<u8>().unwrap().fill(9).unwrap();
    assert_eq!(other.map_read().unwrap().as_slice()[..3600], [9; 3600]);
    let view = two.view(Region::new(2, 2, 10, 10)).unwrap();
    assert_eq!(view.plane(1).unwrap().shape(), &[5, 5, 2]);
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn geometry_beyond_the_buffer_is_refused() {
    let memory = Tensor::<u8>::new(&[4096], DMA, None).unwrap();
    let fd = memory.clone_fd().unwrap();
    let image = |width, height, plane: PlaneDescriptor| {
        TensorDyn::from_planes(&[plane], width, height, PixelFormat::Grey, DType::U8)
    };
    let plane = || PlaneDescriptor::new(&fd).unwrap();
    assert!(image(64, 64, plane()).is_ok());
    let error = image(64, 65, plane()).unwrap_err().to_string();
    assert!(error.contains("ends at byte 4160") && error.contains("4096"), "{error}");
    assert!(image(64, 64, plane().with_offset(1)).is_err());
    let error = image(64, 10, plane().with_stride(63)).unwrap_err().to_string();
    assert!(error.contains("row stride 63 is shorter than a row of 64"), "{error}");
    assert!(image(64, 64, plane().with_offset(usize::MAX)).is_err());
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn tensors_travel_between_sockets() {
    let (here, there) = UnixStream::pair().unwrap();
    let frame = Tensor::<u8>::image(320, 240, PixelFormat::Nv12, DMA, Some("frame")).unwrap();
    frame.fill(77).unwrap();
    send(&here, &frame, Sharing::ReadWrite).unwrap();
    let same = receive(&there).unwrap();
    assert_eq!((same.memory(), same.name()), (TensorMemory::Dma, Some("frame")));
    assert_eq!(same.buffer_identity().id(), frame.buffer_identity().id());
    assert!(same.aliases(&frame));
    let error = send(&here, &frame, Sharing::ReadOnly).unwrap_err().to_string();
    assert!(error.contains("cannot be shared read-only"), "{error}");
}
