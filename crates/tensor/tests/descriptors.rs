//! Tensors over memory that comes and goes by descriptor.
#![cfg(all(linux_like, not(miri)))]
#![expect(unsafe_code, reason = "borrows a descriptor that is not open")]

use std::io::Write;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use tenure_memory::{Error as MemoryError, Pool};
use tenure_tensor::dlpack::{ExportRequest, Exported};
use tenure_tensor::{
    DType, DynTensor, Error, PixelFormat, PlaneDescriptor, Sharing, Tensor, TensorDyn,
    TensorMemory, receive, send,
};

const SHM: Option<TensorMemory> = Some(TensorMemory::Shm);

fn memory(bytes: usize) -> (Tensor<u8>, OwnedFd) {
    let tensor = Tensor::<u8>::new(&[bytes], SHM, None).unwrap();
    for (n, byte) in tensor.map().unwrap().as_mut_slice().iter_mut().enumerate() {
        *byte = (n % 251) as u8;
    }
    let fd = tensor.clone_fd().unwrap();
    (tensor, fd)
}

#[test]
fn a_descriptor_brings_the_tensor_back() {
    let t = Tensor::<f32>::new(&[3, 4], SHM, Some("original")).unwrap();
    let fd = t.clone_fd().unwrap();
    let same = Tensor::<f32>::from_fd(&fd, &[3, 4], Some("again")).unwrap();
    assert_eq!(same.buffer_identity(), t.buffer_identity());
    assert!(same.aliases(&t) && t.aliases(&same));
    same.map().unwrap().as_mut_slice()[11] = 1.5;
    assert_eq!(t.map_read().unwrap().at(&[2, 3]), Some(&1.5));
    let _writer = t.map().unwrap();
    assert!(same.map_read().is_err(), "one ledger");
    let bytes = TensorDyn::from_fd(&fd, &[48], DType::U8, None).unwrap();
    assert!(bytes.aliases(&t) && bytes.map_read().is_err());
}

#[test]
fn a_view_gives_the_descriptor_of_the_whole() {
    let (whole, _) = memory(1000);
    let part = whole.slice(0, 300..400).unwrap();
    assert_eq!(part.buffer().start(), 300);
    let same = Tensor::<u8>::from_fd(part.clone_fd().unwrap(), &[1000], None).unwrap();
    assert_eq!(same.map_read().unwrap().as_slice()[300], (300 % 251) as u8);
}

#[test]
fn what_came_back_to_be_read_only_has_no_descriptor() {
    let (tensor, _) = memory(100);
    let request = ExportRequest::new().max_version(Some((1, 0))).read_only(true);
    let Exported::Versioned(lent) = tensor.to_dlpack_for(&request).unwrap() else { panic!() };
    let reader = TensorDyn::from_dlpack(lent).unwrap();
    assert!(reader.aliases(&tensor) && reader.map().is_err() && reader.map_read().is_ok());
    // Whoever got it could write through it: the memory may be written.
    let view = reader.slice(0, 10..20).unwrap();
    for refused in [reader.clone_fd(), view.clone_fd()] {
        let Err(Error::Memory(MemoryError::NoDescriptor { .. })) = refused else {
            panic!("{refused:?}")
        };
    }
    // A mapping that was read-only from the start comes back with what it has.
    let (here, there) = UnixStream::pair().unwrap();
    send(&here, &tensor, Sharing::ReadOnly).unwrap();
    let sealed = receive(&there).unwrap();
    let again = TensorDyn::from_dlpack(sealed.to_dlpack().unwrap()).unwrap();
    assert!(again.map().is_err() && again.clone_fd().is_ok());
}

#[test]
fn a_pool_counts_its_own_mapping_only() {
    let pool = Pool::new(TensorMemory::Shm);
    let tensor = TensorDyn::builder(&[100], DType::U8).allocator(&pool).build().unwrap();
    let (here, there) = UnixStream::pair().unwrap();
    send(&here, &tensor, Sharing::ReadOnly).unwrap();
    let other = receive(&there).unwrap();
    assert!(other.aliases(&tensor));
    drop(tensor);
    // What was sent is as if another process had it, and is not handed out again.
    let report = pool.report();
    assert_eq!((report.used, report.used_bytes, report.kept, report.given_up), (0, 0, 0, 1));
    let next = TensorDyn::builder(&[100], DType::U8).allocator(&pool).build().unwrap();
    assert!(!next.aliases(&other));
    assert!(other.map_read().is_ok());
}

#[test]
fn shapes_beyond_the_memory_are_refused() {
    let (_, fd) = memory(100);
    // The memory file has whole pages.
    assert_eq!(Tensor::<u8>::from_fd(&fd, &[4096], None).unwrap().len(), 4096);
    match Tensor::<u8>::from_fd(&fd, &[4097], None) {
        Err(Error::Memory(MemoryError::TooShort { have: 4096, need: 4097 })) => {}
        other => panic!("{other:?}"),
    }
    assert!(Tensor::<u8>::from_fd(&fd, &[usize::MAX, 2], None).is_err());
    assert!(Tensor::<u8>::from_fd(std::fs::File::open("/dev/zero").unwrap(), &[1], None).is_err());
}

#[test]
fn planes_are_described() {
    let (_, fd) = memory(100);
    let plane = PlaneDescriptor::new(&fd).unwrap().with_stride(2048).with_offset(0);
    assert_eq!((plane.stride(), plane.offset()), (Some(2048), Some(0)));
    let bare = PlaneDescriptor::new(&fd).unwrap();
    assert_eq!((bare.stride(), bare.offset()), (None, None));
    // It has a descriptor of its own.
    drop(fd);
    assert!(TensorDyn::from_fd(plane.fd(), &[100], DType::U8, None).is_ok());
    assert!(rustix::io::fcntl_getfd(bare.into_fd()).is_ok());
    // SAFETY: not open, which is what is tested.
    let closed = unsafe { BorrowedFd::borrow_raw(19_999) };
    let words = PlaneDescriptor::new(closed).unwrap_err().to_string();
    assert!(words.contains("Bad file descriptor"), "{words}");
}

#[test]
fn a_frame_as_a_driver_gives_it() {
    let (driver, fd) = memory(2048 * 1620);
    let plane = PlaneDescriptor::new(&fd).unwrap().with_stride(2048).with_offset(0);
    let frame = TensorDyn::from_planes(&[plane], 1920, 1080, PixelFormat::Nv12, DType::U8).unwrap();
    assert_eq!((frame.width(), frame.height()), (Some(1920), Some(1080)));
    assert_eq!((frame.row_stride(), frame.effective_row_stride()), (Some(2048), Some(2048)));
    assert_eq!(frame.plane_offset(), None);
    assert_eq!((frame.plane_count(), frame.is_multi_buffer()), (2, false));
    assert_eq!(frame.shape(), &[1620, 1920]);
    assert!(frame.aliases(&driver));
    let chroma = frame.plane(1).unwrap();
    assert_eq!((chroma.shape(), chroma.buffer().start()), (&[540, 960, 2][..], 2048 * 1080));
    let mut flat = vec![0; frame.flat_bytes()];
    frame.copy_to_flat(&mut flat).unwrap();
    assert_eq!(flat.len(), 1920 * 1620);
    assert_eq!(flat[1920], (2048 % 251) as u8);
    assert_eq!(flat[1920 * 1080], ((2048 * 1080) % 251) as u8);
}

#[test]
fn planes_in_one_memory_at_places_of_their_own() {
    let (_, fd) = memory(4096);
    let plane =
        |offset, stride| PlaneDescriptor::new(&fd).unwrap().with_offset(offset).with_stride(stride);
    // Two descriptors of one memory are one memory.
    let planes = [plane(100, 20), plane(2000, 32)];
    let frame = TensorDyn::from_planes(&planes, 16, 8, PixelFormat::Nv12, DType::U8).unwrap();
    assert!(!frame.is_multi_buffer());
    assert_eq!((frame.plane_offset(), frame.row_stride()), (Some(100), Some(20)));
    let first = |plane: usize| frame.plane(plane).unwrap().map_rows_read().unwrap()[0][0];
    assert_eq!((first(0), first(1)), (100, (2000 % 251) as u8));
}

#[test]
fn planes_in_several_memories() {
    let (luma, luma_fd) = memory(1000);
    let (chroma, chroma_fd) = memory(1000);
    let planes = [
        PlaneDescriptor::new(&luma_fd).unwrap().with_stride(20).with_offset(10),
        PlaneDescriptor::new(&chroma_fd).unwrap().with_stride(24).with_offset(50),
    ];
    let frame = TensorDyn::from_planes(&planes, 16, 8, PixelFormat::Nv12, DType::U8).unwrap();
    assert_eq!((frame.plane_count(), frame.is_multi_buffer()), (2, true));
    assert!(frame.aliases(&luma) && frame.aliases(&chroma));
    assert_eq!(frame.plane_buffer(1).unwrap().identity(), chroma.buffer_identity());
    assert!(frame.plane_buffer(2).is_err());
    // There is no slice of all of it.
    for error in [
        frame.map().map(drop).unwrap_err(),
        frame.map_read().map(drop).unwrap_err(),
        frame.map_rows().map(drop).unwrap_err(),
        frame.map_strided_read().map(drop).unwrap_err(),
        frame.clone_fd().map(drop).unwrap_err(),
        frame.index(0, 0).map(drop).unwrap_err(),
        frame.clone().set_row_stride(32).unwrap_err(),
        frame.clone().set_plane_offset(0).unwrap_err(),
    ] {
        assert!(matches!(error, Error::SeveralBuffers { buffers: 2, .. }), "{error:?}");
        assert!(error.to_string().contains("plane()"), "{error}");
    }
    frame.plane(1).unwrap().map_rows().unwrap()[0][0] = 99;
    assert_eq!(chroma.map_read().unwrap().as_slice()[50], 99);
    // Copies gather the planes.
    let copy = frame.to(Some(TensorMemory::Mem)).unwrap();
    assert!(!copy.is_multi_buffer());
    let flat = |tensor: &TensorDyn| {
        let mut flat = vec![0; tensor.flat_bytes()];
        tensor.copy_to_flat(&mut flat).unwrap();
        flat
    };
    assert_eq!(flat(&copy), flat(&frame));
    assert_eq!(flat(&copy)[128], 99);
    copy.typed::<u8>().unwrap().fill(1).unwrap();
    frame.copy_from(&copy).unwrap();
    assert!(flat(&frame).iter().all(|byte| *byte == 1));
    assert_eq!(chroma.map_read().unwrap().as_slice()[49], 49, "padding is left alone");
}

#[test]
fn views_of_several_memories() {
    // Offsets as if the planes followed each other, though each has memory of its own.
    let ((_luma, luma_fd), (_chroma, chroma_fd)) = (memory(128), memory(500));
    let planes = [
        PlaneDescriptor::new(&luma_fd).unwrap(),
        PlaneDescriptor::new(&chroma_fd).unwrap().with_offset(128),
    ];
    let frame = TensorDyn::from_planes(&planes, 16, 8, PixelFormat::Nv12, DType::U8).unwrap();
    assert_eq!(frame.shape(), &[8, 16]);
    let whole = frame.view(tenure_tensor::Region::new(0, 0, 16, 8)).unwrap();
    assert_eq!((whole.shape(), whole.layout()), (frame.shape(), frame.layout()));
    let part = frame.view(tenure_tensor::Region::new(4, 2, 8, 4)).unwrap();
    assert_eq!((part.shape(), part.strides()), (&[4, 8][..], &[16, 1][..]));
    assert_eq!(part.plane(1).unwrap().map_rows_read().unwrap()[0][0], 128 + 16 + 4);
}

#[test]
fn planes_that_do_not_fit() {
    let (_, fd) = memory(1000);
    let plane = || PlaneDescriptor::new(&fd).unwrap();
    let image = |planes: &[PlaneDescriptor], format| {
        TensorDyn::from_planes(planes, 16, 8, format, DType::U8).map(drop)
    };
    let error = image(&[], PixelFormat::Nv12).unwrap_err();
    assert!(error.to_string().contains("2 planes, 0 were given"), "{error}");
    let error = image(&[plane(), plane(), plane()], PixelFormat::Nv12).unwrap_err();
    assert!(error.to_string().contains("2 planes, 3 were given"), "{error}");
    let error = image(&[plane().with_offset(4000)], PixelFormat::Nv12).unwrap_err();
    assert!(matches!(error, Error::Layout(tenure_layout::Error::OutOfBounds { .. })), "{error:?}");
    let error = image(&[plane().with_stride(15)], PixelFormat::Nv12).unwrap_err();
    assert!(error.to_string().contains("15 is shorter"), "{error}");
    assert!(image(&[plane().with_offset(usize::MAX)], PixelFormat::Nv12).is_err());
    assert!(image(&[plane().with_stride(usize::MAX)], PixelFormat::Rgb).is_err());
    let error = TensorDyn::from_planes(&[plane()], 16, 8, PixelFormat::P010, DType::U8);
    assert!(error.unwrap_err().to_string().contains("u16"));
}

#[test]
fn files_are_tensors() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let values: Vec<f32> = (0..1000).map(|n| n as f32).collect();
    values.iter().for_each(|value| file.write_all(&value.to_ne_bytes()).unwrap());
    let bytes = TensorDyn::open(file.path()).unwrap();
    assert_eq!((bytes.shape(), bytes.memory()), (&[4000][..], TensorMemory::File));
    assert!(!bytes.is_writable().unwrap() && bytes.map().is_err());
    assert!(bytes.typed::<u8>().unwrap().fill(0).is_err());
    let layout = tenure_tensor::Layout::contiguous(DType::F32, &[10, 100]).unwrap();
    let floats = Tensor::<f32>::from_buffer(bytes.buffer().clone(), layout).unwrap();
    let map = floats.map_read().unwrap();
    assert_eq!(map.at(&[9, 99]), Some(&999.0));
    map.intact().unwrap();
    file.as_file().set_len(100).unwrap();
    assert!(map.intact().is_err());
    assert_eq!(map.at(&[0, 1]), Some(&1.0));
    // A copy is writable and stays whole.
    drop(map);
}

#[test]
fn copies_of_a_file_that_was_cut_off_are_errors() {
    const ELEMENTS: usize = 10_000;
    let cut_off = || {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&[7; ELEMENTS]).unwrap();
        let tensor = TensorDyn::open(file.path()).unwrap();
        file.as_file().set_len(100).unwrap();
        (tensor, file)
    };
    let truncated = |answer: Result<(), Error>| {
        let error = answer.unwrap_err();
        assert!(matches!(error, Error::Memory(MemoryError::Truncated)), "{error}");
    };
    // Each is the first that touches the bytes.
    let (from, _file) = cut_off();
    truncated(from.to(Some(TensorMemory::Mem)).map(drop));
    let (from, _file) = cut_off();
    let to = TensorDyn::new(&[ELEMENTS], DType::U8, Some(TensorMemory::Mem), None).unwrap();
    truncated(to.copy_from(&from));
    let (from, _file) = cut_off();
    truncated(to.copy_from_later(&from).map(drop));
    let (from, _file) = cut_off();
    truncated(tenure_tensor::copy_all(&[(&to, &from)]));
    let (from, _file) = cut_off();
    truncated(from.copy_to_flat(&mut [0; ELEMENTS]));
    let (from, _file) = cut_off();
    truncated(from.slice(0, 0..200).unwrap().to(None).map(drop));
    let (from, _file) = cut_off();
    truncated(from.intact());
    to.intact().unwrap();
}
