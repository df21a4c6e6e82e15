//! Frames of others: imported where they are, or refused with the value that was wrong.
#![cfg(target_os = "linux")]

#[path = "common/pictures.rs"]
mod pictures;

use std::os::fd::{AsFd, OwnedFd};

use pictures::{numbers, paint, processor};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use tenure_image::{Convert, EngineKind, Error, Fit, ImageProcessor};
use tenure_tensor::{
    Colour, DType, DynTensor, PixelFormat, PlaneDescriptor, Tensor, TensorDyn, TensorMemory,
};

const CPU: EngineKind = EngineKind::Cpu;

/// Memory as somebody else would make it.
fn foreign(bytes: u64) -> OwnedFd {
    let fd = memfd_create("frame", MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&fd, bytes).unwrap();
    fd
}

fn plane(fd: impl AsFd, offset: usize, stride: usize) -> PlaneDescriptor {
    PlaneDescriptor::new(fd).unwrap().with_offset(offset).with_stride(stride)
}

fn nv12(processor: &ImageProcessor, planes: &[PlaneDescriptor]) -> Result<TensorDyn, Error> {
    processor.import_image(planes, 16, 8, PixelFormat::Nv12, DType::U8, Some(Colour::HD))
}

#[test]
fn frames_are_converted_where_they_are() {
    let (one, luma, chroma) = (foreign(4096), foreign(4096), foreign(4096));
    let cases: [Vec<PlaneDescriptor>; 4] = [
        vec![plane(&one, 0, 32)],
        vec![plane(&one, 64, 20), plane(&one, 1000, 18)],
        // Rows between each other's.
        vec![plane(&one, 0, 32), plane(&one, 16, 32)],
        vec![plane(&luma, 100, 24), plane(&chroma, 0, 16)],
    ];
    for engine in EngineKind::all() {
        let processor = processor(engine, 1);
        for planes in &cases {
            let frame = nv12(&processor, planes).unwrap();
            assert_eq!((frame.memory(), frame.colour()), (TensorMemory::Shm, Some(Colour::HD)));
            // The same picture in memory of our own.
            let own = TensorDyn::image(16, 8, PixelFormat::Nv12, DType::U8, None, None);
            let own = own.unwrap().with_colour(Colour::HD);
            paint(&own, 3, 1);
            for index in 0..2 {
                frame.plane(index).unwrap().copy_from(&own.plane(index).unwrap()).unwrap();
            }
            let make = || Tensor::<u8>::image(8, 8, PixelFormat::Rgb, None, None).unwrap();
            let (expected, result) = (make(), make());
            let letterbox = Convert::new().fit(Fit::letterbox(9));
            processor.convert(&own, &expected, &letterbox).unwrap();
            processor.convert(&frame, &result, &letterbox).unwrap();
            assert_eq!(numbers(&result.to_dyn()), numbers(&expected.to_dyn()), "{engine}");
        }
    }
}

#[test]
fn a_frame_that_comes_again_is_known() {
    let (processor, fd) = (processor(CPU, 1), foreign(4096));
    let first = nv12(&processor, &[plane(&fd, 0, 16)]).unwrap();
    let again = nv12(&processor, &[plane(&fd, 0, 16)]).unwrap();
    assert!(first.aliases(&again));
    assert_eq!(first.buffer_identity().id(), again.buffer_identity().id());
    // What was written through one is read through the other, and they know of each other.
    let map = first.map().unwrap();
    let target = Tensor::<u8>::image(8, 8, PixelFormat::Rgb, None, None).unwrap();
    let error = processor.convert(&again, &target, &Convert::new()).unwrap_err();
    assert!(matches!(&error, Error::Memory(own) if own.is_busy()), "{error}");
    drop(map);
    processor.convert(&again, &target, &Convert::new()).unwrap();
}

/// Why planes of 16x8 pixels are refused.
fn refuse(planes: &[PlaneDescriptor]) -> String {
    nv12(&processor(CPU, 1), planes).unwrap_err().to_string()
}

#[test]
fn planes_that_do_not_fit_are_refused() {
    let fd = foreign(192);
    for (planes, words) in [
        (vec![], "2 planes, 0 were given"),
        (vec![plane(&fd, 0, 16), plane(&fd, 128, 16), plane(&fd, 160, 16)], "3 were given"),
        (vec![plane(&fd, 0, 15)], "15 is shorter"),
        (vec![plane(&fd, 0, 16), plane(&fd, 128, 15)], "15 is shorter"),
        // A byte too many.
        (vec![plane(&fd, 0, 16), plane(&fd, 129, 16)], "193"),
        (vec![plane(&fd, 1, 16)], "193"),
        (vec![plane(&fd, 0, 17)], "203"),
        // The chroma plane's offset was forgotten, and a row too early.
        (
            vec![plane(&fd, 0, 16), plane(&fd, 0, 16)],
            "planes 0 and 1 of the nv12 image share bytes",
        ),
        (vec![plane(&fd, 0, 16), plane(&fd, 112, 16)], "start 0 and 112 bytes"),
    ] {
        let said = refuse(&planes);
        assert!(said.contains(words), "{words}: {said}");
    }
    nv12(&processor(CPU, 1), &[plane(&fd, 0, 16), plane(&fd, 128, 16)]).unwrap();
    // Numbers that no memory has.
    for huge in [usize::MAX, usize::MAX / 2, isize::MAX as usize, usize::MAX / 8 + 1] {
        refuse(&[plane(&fd, huge, 16)]);
        refuse(&[plane(&fd, 0, huge)]);
        refuse(&[plane(&fd, 0, 16), plane(&fd, huge, 16)]);
        refuse(&[plane(&fd, 0, 16), plane(&fd, 128, huge)]);
        let (processor, planes) = (processor(CPU, 1), [plane(&fd, 0, 16)]);
        for (width, height) in [(huge, 8), (16, huge), (huge, huge)] {
            processor
                .import_image(&planes, width, height, PixelFormat::Nv12, DType::U8, None)
                .unwrap_err();
        }
    }
}

#[test]
fn descriptors_that_are_no_memory_are_refused() {
    let (end, _start) = rustix::pipe::pipe().unwrap();
    let said = refuse(&[plane(&end, 0, 16)]);
    assert!(said.contains("a pipe"), "{said}");
    let said = refuse(&[plane(std::fs::File::open("/").unwrap(), 0, 16)]);
    assert!(said.contains("a directory"), "{said}");
    // Sealed against sealing, so that its maker can still cut it: read like a file, not written.
    let fd = memfd_create("loose", MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&fd, 4096).unwrap();
    let processor = processor(CPU, 1);
    let loose = nv12(&processor, &[plane(&fd, 0, 16)]).unwrap();
    assert_eq!(loose.memory(), TensorMemory::File);
    let source = Tensor::<u8>::image(8, 8, PixelFormat::Rgb, None, None).unwrap();
    let error = processor.convert(&source, &loose, &Convert::new()).unwrap_err().to_string();
    assert!(error.contains("read-only"), "{error}");
    // Nothing in it.
    let said = refuse(&[plane(foreign(0), 0, 16)]);
    assert!(said.contains("only 0 bytes"), "{said}");
    // The caller's own may be closed at once.
    let fd = foreign(4096);
    let planes = [plane(&fd, 0, 16)];
    drop(fd);
    nv12(&processor, &planes).unwrap();
}

#[test]
fn a_destination_with_planes_on_top_of_each_other_is_refused() {
    let memory = Tensor::<u8>::new(&[4096], Some(TensorMemory::Mem), None).unwrap();
    let buffers = [memory.buffer().clone()];
    let places = [(0, Some(16)), (100, Some(16))];
    let (format, dtype) = (PixelFormat::Nv12, DType::U8);
    let target = TensorDyn::from_plane_buffers(&buffers, &places, 16, 8, format, dtype).unwrap();
    let source = Tensor::<u8>::image(8, 8, PixelFormat::Rgb, None, None).unwrap();
    let error = processor(CPU, 1).convert(&source, &target, &Convert::new()).unwrap_err();
    assert!(
        matches!(&error, Error::PlanesOverlap(it) if matches!(**it, tenure_image::detail::PlanesOverlap { offsets: (0, 100), .. })),
        "{error}"
    );
}
