//! Where we differ from a founding document on purpose, with the reason, and that it stays so.

use tenure::memory::{Buffer, CpuAccess, Request, kind};
use tenure::plan::{Packer, PlannerMode};
use tenure::{DType, DynTensor, ImageLayout, PixelFormat, Region, Tensor, TensorDyn, TensorMemory};

/// edgefirst: `set_plane_offset` takes any number, and a map further on fails. Here it is checked at
/// once: an offset that is remembered and wrong is found far from where it was set.
#[test]
fn offsets_are_checked_when_set() {
    let mut t = TensorDyn::new(&[16, 16, 4], DType::U8, None, None).unwrap();
    t.set_format(PixelFormat::Rgba).unwrap();
    let before = t.layout().clone();
    assert!(t.set_plane_offset(4096).is_err() && t.set_plane_offset(usize::MAX).is_err());
    assert_eq!((t.layout(), t.plane_offset()), (&before, None));
    assert!(t.map().is_ok());
}

/// edgefirst: an offset of zero that was set is `Some(0)`, its README says `None if zero`. Here the
/// README holds.
#[test]
fn zero_is_none() {
    let t = TensorDyn::new(&[64], DType::U8, None, None).unwrap();
    assert_eq!(t.with_plane_offset(0).unwrap().plane_offset(), None);
}

/// edgefirst: a new format forgets the plane offset too. Here the first byte stays where it is:
/// the offset is that of the memory, and a format that is declared moves nothing. A stride is
/// dropped, as the distance between rows is part of what a format means.
#[test]
fn a_format_moves_nothing() {
    let mut t = TensorDyn::new(&[4096], DType::U8, None, None).unwrap();
    t.configure_image(8, 8, PixelFormat::Rgba, Some(64)).unwrap();
    t.set_plane_offset(512).unwrap();
    t.set_format(PixelFormat::Bgra).unwrap();
    assert_eq!((t.row_stride(), t.plane_offset()), (None, Some(512)));
}

/// edgefirst: the identity is fresh on every import. Here the same memory that comes back has the
/// identity it had: with two, safe code could hold two mutable slices of one page, and caches of
/// GPU imports would miss.
#[cfg(target_os = "linux")]
#[test]
fn imported_again_it_is_the_same() {
    let t = Tensor::<u8>::new(&[64], Some(TensorMemory::Shm), None).unwrap();
    let same = Tensor::<u8>::from_fd(t.clone_fd().unwrap(), &[64], None).unwrap();
    assert_eq!(same.buffer_identity().id(), t.buffer_identity().id());
    let _guard = t.map().unwrap();
    assert!(same.map_read().is_err(), "one ledger");
}

/// edgefirst: since 0.38 Shm is 1 and DmaBuf 2. Ours stay as its C interface had them before, as
/// messages and files with our codes exist.
#[test]
fn codes_of_memories_stay() {
    assert_eq!((TensorMemory::Dma.code(), TensorMemory::Shm.code()), (1, 2));
}

/// edgefirst: two live `map()` of one tensor are two mutable slices. Here the second is `Busy`.
#[test]
fn a_second_map_is_busy() {
    let t = Tensor::<u8>::new(&[4], Some(TensorMemory::Mem), None).unwrap();
    let _first = t.map().unwrap();
    assert!(t.map().is_err());
}

/// edgefirst: `from_fd` takes what it gets, and guesses by device number. Here memory that others can
/// cut off is refused, so that no read of it ends the process.
#[cfg(target_os = "linux")]
#[test]
fn descriptors_are_looked_at() {
    let (pipe, _end) = std::os::unix::net::UnixStream::pair().unwrap();
    assert!(Tensor::<u8>::from_fd(&pipe, &[4], None).is_err());
    let short = Tensor::<u8>::new(&[4], Some(TensorMemory::Shm), None).unwrap();
    let fd = short.clone_fd().unwrap();
    assert!(Tensor::<u8>::from_fd(fd, &[1 << 30], None).is_err());
}

/// edgefirst: EDGEFIRST_TENSOR_FORCE_MEM with any value but 0 and false. Here, as its README says, `1`
/// or `true`.
#[test]
fn the_variable_is_as_documented() {
    let variables = tenure::memory::environment::ALL;
    assert!(variables.iter().any(|variable| variable.name == "EDGEFIRST_TENSOR_FORCE_MEM"));
    let unset = tenure::memory::environment::Variable { name: "TENURE_UNSET", meaning: "none" };
    assert!(!unset.is_on());
}

/// edgefirst: SHM on every Unix, by POSIX names. Here it is served where a memory file can be sealed
/// or a section cannot shrink; elsewhere the call answers that it is not available, since a process
/// that cuts the memory would end every process that reads it.
#[test]
fn shared_memory_cannot_shrink() {
    match Tensor::<u8>::new(&[4], Some(TensorMemory::Shm), None) {
        Ok(shared) => assert_eq!(shared.memory(), TensorMemory::Shm),
        Err(error) => assert!(error.to_string().contains("not available"), "{error}"),
    }
}

/// edgefirst: a view that gets another format forgets the stride of its rows, and with it which bytes
/// are its own. Here a view keeps its stride: its rows are where those of the image are that it shows.
#[test]
fn a_view_keeps_its_stride() {
    let image = Tensor::<u8>::image(16, 4, PixelFormat::Rgba, None, None).unwrap();
    let mut part = image.view(Region::new(4, 1, 8, 2)).unwrap();
    assert_eq!(part.row_stride(), Some(64));
    part.set_format(PixelFormat::Bgra).unwrap();
    assert_eq!((part.row_stride(), part.plane_offset()), (Some(64), Some(80)));
    part.map_rows().unwrap().rows_mut().for_each(|row| row.fill(1));
    let bytes = image.map_read().unwrap();
    assert!((80..112).chain(144..176).all(|at| bytes[at] == 1), "its own");
    assert_eq!(bytes.iter().filter(|byte| **byte == 1).count(), 64, "and no other");
}

/// edgefirst: every image constructor takes a `CpuAccess`, and a map beyond what was declared fails. Here it
/// is a hint in the request to the allocator, with the same four words: the ledger knows who maps, memory
/// that cannot be written says so when it is mapped to write, and the usual call needs no declaration.
#[test]
fn access_of_the_cpu_is_a_hint() {
    let words = [CpuAccess::None, CpuAccess::Read, CpuAccess::Write, CpuAccess::ReadWrite];
    let heap = kind::allocator(TensorMemory::Mem).unwrap();
    for declared in words {
        let request = Request::new(64).unwrap().with_cpu(declared);
        let buffer = Buffer::from_raw(heap.allocate(&request).unwrap());
        assert_eq!(request.cpu(), declared);
        assert!(buffer.write().is_ok() && buffer.read().is_ok(), "{declared:?}");
    }
    let image = Tensor::<u8>::image(8, 8, PixelFormat::Rgba, None, None).unwrap();
    assert!(image.map().is_ok() && image.is_writable().unwrap());
}

/// edgefirst: every image in DMA-BUF has rows a multiple of 64 bytes apart, in `image()` and in
/// `configure_image()`. Here rows are tight in every memory, so that the same call gives the same shape and
/// the same bytes wherever it runs; who needs rows further apart asks for `importable_stride`, as
/// `ImageProcessor::create_image` does for memory that its engine imports.
#[test]
fn rows_are_as_asked_in_every_memory() {
    let odd = ImageLayout::new(321, 8, PixelFormat::Rgba, DType::U8, None).unwrap();
    assert_eq!((odd.row_stride(), odd.importable_stride().unwrap()), (1284, 1344));
    for memory in [TensorMemory::Dma, TensorMemory::Shm, TensorMemory::Mem] {
        let Ok(image) = Tensor::<u8>::image(321, 8, PixelFormat::Rgba, Some(memory), None) else {
            continue;
        };
        assert_eq!((image.row_stride(), image.effective_row_stride()), (None, Some(1284)));
        let stride = odd.importable_stride().unwrap();
        let builder = Tensor::<u8>::image_builder(321, 8, PixelFormat::Rgba).memory(memory);
        let wide = builder.row_stride(stride).build().unwrap();
        assert_eq!(wide.row_stride(), Some(1344), "{memory}");
    }
}

/// Our own issue: where DMA-BUF is missing and OpenGL does the work, `create_image` gives a Pbo. Here shared
/// memory comes before it where the driver imports that: it costs no copy either, and can be sent to
/// other processes, which a Pbo cannot.
#[cfg(all(target_os = "linux", feature = "gl"))]
#[test]
fn shared_memory_that_a_driver_imports_comes_before_pixel_buffers() {
    use tenure::image::{EngineKind, ImageProcessor};
    let builder = ImageProcessor::builder().engines(vec![EngineKind::Gl]);
    let Ok(processor) = builder.build() else { return };
    let chosen = processor.choose_image(64, 64, PixelFormat::Rgba, DType::U8).unwrap();
    if chosen.engine.is_some() {
        let fitting = [TensorMemory::Dma, TensorMemory::Shm, TensorMemory::Pbo];
        assert!(fitting.contains(&chosen.image.memory()), "{}", chosen.reason);
        assert!(chosen.image.memory() == TensorMemory::Pbo || chosen.image.clone_fd().is_ok());
    }
}

/// edgefirst: a PBO belongs to no platform without OpenGL, and Mem tensors of images may be padded for
/// devices. Here rows on the heap are tight unless a stride is given.
#[test]
fn heap_images_are_tight() {
    let mut t = Tensor::<u8>::new(&[8 * 321 * 4], Some(TensorMemory::Mem), None).unwrap();
    t.configure_image(321, 8, PixelFormat::Rgba, None).unwrap();
    assert_eq!((t.row_stride(), t.effective_row_stride()), (None, Some(1284)));
}

/// svod: an unknown word for the planner's mode is taken for `arena`. Here it is an error that lists
/// the words, as `of` for `off` would go unnoticed.
#[test]
fn unknown_modes_are_refused() {
    assert!("of".parse::<PlannerMode>().is_err() && "".parse::<PlannerMode>().is_err());
}

/// svod: the arena is packed by TLSF as the schedule runs. Here that is one packer of four, and the
/// default looks for the minimum.
#[test]
fn tlsf_is_one_packer() {
    assert!(Packer::ALL.contains(&Packer::Tlsf));
    assert_eq!(Packer::default(), Packer::Best);
}
