//! Where frames are: the driver's buffers, exported or mapped, and ours.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tenure_camera::{Error, FourCc, FrameMemory, Wanted};
use tenure_memory::kind::dma::{Dma, Source};
use tenure_memory::{Allocator, Buffer, Request, TensorMemory};
use tenure_tensor::{DType, DynTensor, PixelFormat, TensorDyn};

use crate::{alone, check_planes, mappings, open, open_descriptors, single, take};

fn sources() -> [Source; 3] {
    [Source::Heap("system".to_owned()), Source::Udmabuf, Source::Card("card0".to_owned())]
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn a_slot_is_the_same_memory_at_every_frame() {
    let _alone = alone();
    for memory in [FrameMemory::Exported, FrameMemory::Mapped] {
        let mut camera = single();
        let wanted = Wanted::pixels(PixelFormat::Nv12).size(320, 180).fps(60.0).memory(memory);
        camera.negotiate(&wanted).unwrap();
        let mut stream = camera.stream().unwrap();
        let mut known: HashMap<usize, (u64, usize)> = HashMap::new();
        let (mut first, mut last) = (None, None);
        let mut before = (0, 0);
        for number in 0..100 {
            if number == 10 {
                before = (open_descriptors(), mappings());
            }
            let frame = take(&mut stream);
            let id = frame.buffer_identity().id();
            let address = frame.map_read().unwrap().as_slice().as_ptr().addr();
            let slot = known.entry(frame.slot()).or_insert((id, address));
            assert_eq!(*slot, (id, address));
            assert!(last.is_none_or(|last| frame.timestamp() > last), "time goes on");
            last = Some(frame.timestamp());
            first = first.or(frame.timestamp());
        }
        assert_eq!(known.len(), stream.buffers());
        // Counted once, however often they are lent.
        let frame = take(&mut stream);
        let live = tenure_memory::statistics::usage(frame.memory());
        assert_eq!(live.count, stream.buffers() as u64);
        drop(frame);
        assert_eq!((open_descriptors(), mappings()), before);
        assert!(last.flatten().unwrap() - first.unwrap() > Duration::from_millis(500));
    }
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn frames_of_a_driver_that_cannot_export_are_mapped() {
    let _alone = alone();
    let mut camera = single();
    let wanted = Wanted::pixels(PixelFormat::Nv12).size(640, 360).memory(FrameMemory::Mapped);
    camera.negotiate(&wanted).unwrap();
    let mut stream = camera.stream().unwrap();
    let frame = take(&mut stream);
    assert_eq!(frame.memory(), TensorMemory::Mem);
    assert!(frame.clone_fd().is_err());
    check_planes(&frame);
    drop((camera, stream));
    check_planes(&frame);
    drop(frame);
    assert_eq!(mappings(), 0);
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn frames_are_captured_into_memory_of_every_source() {
    let _alone = alone();
    for source in sources() {
        let mut camera = single();
        let memory = FrameMemory::Allocated(Arc::new(Dma::from_source(source.clone())));
        let wanted = Wanted::pixels(PixelFormat::Nv12).size(640, 360).memory(memory);
        camera.negotiate(&wanted).unwrap();
        let mut stream = camera.stream().unwrap();
        let mut ids = HashSet::new();
        for _ in 0..10 {
            let frame = take(&mut stream);
            assert_eq!(frame.memory(), TensorMemory::Dma, "{source:?}");
            ids.insert(frame.buffer_identity().id());
            check_planes(&frame);
        }
        assert_eq!(ids.len(), stream.buffers(), "{source:?}");
    }
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn tensors_of_the_program_are_captured_into() {
    let _alone = alone();
    let mut camera = single();
    let mode = camera.negotiate(Wanted::pixels(PixelFormat::Nv12).size(640, 360)).unwrap();
    let image = || {
        let stride = Some(mode.planes[0].row_stride);
        let memory = Some(TensorMemory::Dma);
        TensorDyn::image_builder(640, 360, PixelFormat::Nv12, DType::U8)
            .row_stride(stride)
            .memory(memory)
            .build()
            .unwrap()
    };
    let ours: Vec<TensorDyn> = (0..4).map(|_| image()).collect();
    let held = ours[0].map_read().unwrap();
    let error = camera.stream_into(&ours).unwrap_err();
    assert!(matches!(&error, Error::Memory(why) if why.is_busy()), "{error}");
    drop(held);
    let mut stream = camera.stream_into(&ours).unwrap();
    let frame = take(&mut stream);
    let same = ours.iter().find(|tensor| tensor.aliases(&frame)).unwrap();
    assert_eq!(same.buffer_identity(), frame.buffer_identity());
    check_planes(&frame);
    // The others are with the driver.
    let busy = ours.iter().filter(|tensor| tensor.map_read().is_err()).count();
    assert!(busy >= 2, "{busy}");
    // Held when the frame goes: the driver waits for it.
    let held = same.map_read().unwrap();
    let slot = frame.slot();
    drop(frame);
    for _ in 0..8 {
        assert_ne!(take(&mut stream).slot(), slot);
    }
    drop(held);
    assert!((0..8).any(|_| take(&mut stream).slot() == slot));
    drop(stream);
    assert!(ours.iter().all(|tensor| tensor.map().is_ok()), "all are back");
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn tensors_that_do_not_fit_are_refused() {
    let _alone = alone();
    let mut camera = single();
    let mode = camera.negotiate(Wanted::pixels(PixelFormat::Nv12).size(640, 360)).unwrap();
    let bytes = mode.planes[0].bytes;
    let new = |bytes: usize, memory| TensorDyn::new(&[bytes], DType::U8, Some(memory), None);
    let error = camera.stream_into(&[new(bytes, TensorMemory::Shm).unwrap()]).unwrap_err();
    let words = error.to_string();
    assert!(words.contains("not in DMA memory") || words.contains("buffers were given"), "{words}");
    let fill = |tensor: &dyn Fn() -> TensorDyn| (0..8).map(|_| tensor()).collect::<Vec<_>>();
    let small = fill(&|| new(bytes / 2, TensorMemory::Dma).unwrap());
    let error = camera.stream_into(&small).unwrap_err();
    assert!(
        matches!(&error, Error::BufferTooSmall(it) if matches!(**it, tenure_camera::detail::BufferTooSmall { index: 0, plane: 0, .. })),
        "{error}"
    );
    let heap = fill(&|| new(bytes, TensorMemory::Mem).unwrap());
    let error = camera.stream_into(&heap).unwrap_err().to_string();
    assert!(error.contains("tensor 0: it is not in DMA memory"), "{error}");
    let pair = || {
        let buffer =
            |bytes| Buffer::from_raw(Dma::new().allocate(&Request::new(bytes).unwrap()).unwrap());
        let places = [(0, None), (0, None)];
        let buffers = [buffer(640 * 360), buffer(640 * 180)];
        let format = PixelFormat::Nv12;
        TensorDyn::from_plane_buffers(&buffers, &places, 640, 360, format, DType::U8).unwrap()
    };
    let error = camera.stream_into(&fill(&pair)).unwrap_err().to_string();
    assert!(error.contains("not as many buffers"), "{error}");
    // Nothing is left behind that would keep the camera busy.
    camera.negotiate(Wanted::pixels(PixelFormat::Yuyv).size(320, 180)).unwrap();
    drop(take(&mut camera.stream().unwrap()));
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn a_camera_that_needs_contiguous_memory_says_so() {
    let _alone = alone();
    let mut camera = open(true);
    let source = Source::Heap("system".to_owned());
    let memory = FrameMemory::Allocated(Arc::new(Dma::from_source(source)));
    // Larger than what happens to be contiguous.
    let wanted = Wanted::pixels(PixelFormat::Nv12).size(1920, 1080).nearest_size().memory(memory);
    camera.negotiate(&wanted).unwrap();
    let error = camera.stream().unwrap_err();
    assert!(matches!(error, Error::BufferRefused { .. }), "{error}");
    let words = error.to_string();
    assert!(words.contains("may need contiguous memory"), "{words}");
    // Its own buffers serve.
    camera.negotiate(Wanted::pixels(PixelFormat::Nv12).size(640, 360)).unwrap();
    check_planes(&take(&mut camera.stream().unwrap()));
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn planes_are_captured_into_buffers_of_the_program() {
    let _alone = alone();
    let mut camera = open(true);
    let wanted = Wanted::fourcc(FourCc::new(b"NM12")).size(320, 180).fps(60.0);
    let mode = camera.negotiate(&wanted).unwrap();
    let heap = Dma::from_source(Source::Heap("system".to_owned()));
    // A large page of the heap: contiguous, as this camera needs it.
    let buffer = || Buffer::from_raw(heap.allocate(&Request::new(65536).unwrap()).unwrap());
    let places: Vec<_> = mode.planes.iter().map(|plane| (0, Some(plane.row_stride))).collect();
    let image = || {
        let (buffers, format) = ([buffer(), buffer()], PixelFormat::Nv12);
        TensorDyn::from_plane_buffers(&buffers, &places, 320, 180, format, DType::U8).unwrap()
    };
    let ours: Vec<TensorDyn> = (0..4).map(|_| image()).collect();
    let mut stream = camera.stream_into(&ours).unwrap();
    for _ in 0..8 {
        let frame = take(&mut stream);
        let same = ours.iter().find(|tensor| tensor.buffer_identity() == frame.buffer_identity());
        let chroma = same.unwrap().plane_buffer(1).unwrap();
        assert!(chroma.aliases(frame.plane_buffer(1).unwrap()));
        check_planes(&frame);
    }
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn a_picture_is_the_same_in_every_memory() {
    let _alone = alone();
    let mut camera = single();
    let allocated = |source| FrameMemory::Allocated(Arc::new(Dma::from_source(source)));
    let [heap, udmabuf, card] = sources().map(allocated);
    let mut first: Option<Vec<u8>> = None;
    for memory in [FrameMemory::Exported, FrameMemory::Mapped, heap, udmabuf, card] {
        let wanted = Wanted::pixels(PixelFormat::Nv12).size(640, 360).memory(memory.clone());
        camera.negotiate(&wanted).unwrap();
        let mut stream = camera.stream().unwrap();
        for _ in 0..5 {
            let bytes = take(&mut stream).map_read().unwrap().as_slice().to_vec();
            assert!(*first.get_or_insert_with(|| bytes.clone()) == bytes, "{memory:?}");
        }
    }
}
