//! The OpenGL engine in DMA-BUF memory, with frames of a camera: nothing is copied.
//!
//! Ignored by default because most machines have neither; `tests/vm/test` runs them in a virtual
//! machine, with a driver that works without a graphics card.
#![cfg(all(target_os = "linux", feature = "gl"))]

#[path = "common/pictures.rs"]
mod pictures;

use std::time::Duration;

use pictures::{numbers, paint, processor};
use tenure_camera::{Camera, Wanted, cameras};
use tenure_image::{Convert, EngineKind, Filter, Fit, ImageProcessor};
use tenure_layout::{DType, PixelFormat};
use tenure_memory::Access;
use tenure_tensor::{DynTensor, ElementKind, PlaneDescriptor, Tensor, TensorDyn, TensorMemory};

const WAIT: Duration = Duration::from_secs(60);

fn image(width: usize, height: usize, format: PixelFormat) -> TensorDyn {
    let memory = Some(TensorMemory::Dma);
    TensorDyn::image(width, height, format, DType::U8, memory, None).unwrap()
}

fn letterbox() -> Convert {
    Convert::new().fit(Fit::letterbox(114)).filter(Filter::Bilinear)
}

/// What the engine says that it would do.
fn said<E: ElementKind>(gl: &ImageProcessor, source: &Tensor<E>, target: &TensorDyn) -> String {
    gl.explain(source, target, &letterbox()).unwrap().remove(0).verdict.unwrap()
}

/// What the engine says that it keeps and has done: `4 imports kept, 0 copies made`.
fn done<E: ElementKind>(gl: &ImageProcessor, source: &Tensor<E>, target: &TensorDyn) -> String {
    let said = said(gl, source, target);
    let (_, done) = said.rsplit_once("), ").unwrap();
    done.to_owned()
}

/// Checks against the CPU, within two codes.
fn check<E: ElementKind>(source: &Tensor<E>, result: &TensorDyn) {
    let (width, height) = (result.width().unwrap(), result.height().unwrap());
    let expected = image(width, height, result.format().unwrap());
    processor(EngineKind::Cpu, 1).convert(source, &expected, &letterbox()).unwrap();
    for (at, (want, have)) in numbers(&expected).iter().zip(numbers(result)).enumerate() {
        assert!((want - have).abs() <= 2.0, "at {at}: {have}, not {want}");
    }
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn from_dma_memory_to_dma_memory() {
    let gl = processor(EngineKind::Gl, 1);
    let frame = image(320, 240, PixelFormat::Nv12);
    paint(&frame, 5, 1);
    let rgba = image(160, 160, PixelFormat::Rgba);
    gl.convert(&frame, &rgba, &letterbox()).unwrap();
    check(&frame, &rgba);
    // Two planes in, one out.
    assert_eq!(done(&gl, &frame, &rgba), "3 imports kept, 0 copies made");
    // Packed pixels of three bytes, which no driver imports as such.
    let rgb = image(160, 160, PixelFormat::Rgb);
    gl.convert(&frame, &rgb, &letterbox()).unwrap();
    check(&frame, &rgb);
    assert_eq!(done(&gl, &frame, &rgb), "4 imports kept, 0 copies made");
    drop(rgba);
    gl.convert(&frame, &rgb, &letterbox()).unwrap();
    assert_eq!(done(&gl, &frame, &rgb), "3 imports kept, 0 copies made");
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn the_kernel_gets_memory_back_without_another_conversion() {
    let gl = processor(EngineKind::Gl, 1);
    let (frame, other) = (image(320, 240, PixelFormat::Nv12), image(320, 240, PixelFormat::Nv12));
    let rgba = image(160, 160, PixelFormat::Rgba);
    gl.convert(&frame, &rgba, &letterbox()).unwrap();
    drop(frame);
    for _ in 0..1000 {
        if done(&gl, &other, &rgba) == "1 imports kept, 0 copies made" {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{}", done(&gl, &other, &rgba));
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn what_is_copied_says_why() {
    let gl = processor(EngineKind::Gl, 1);
    let memory = Tensor::<u8>::new(&[1923 * 1080], Some(TensorMemory::Dma), None).unwrap();
    let plane = PlaneDescriptor::new(memory.dmabuf_clone().unwrap()).unwrap().with_stride(1923);
    let (format, dtype) = (PixelFormat::Grey, DType::U8);
    let frame = gl.import_image(&[plane], 1920, 1080, format, dtype, None).unwrap();
    let rgba = image(160, 160, PixelFormat::Rgba);
    let words = said(&gl, &frame, &rgba);
    assert!(words.contains("(copied: its rows are 1923 bytes apart"), "{words}");
    assert!(words.contains("rgba u8 160x160 (imported) with"), "{words}");
    gl.convert(&frame, &rgba, &letterbox()).unwrap();
    assert_eq!(done(&gl, &frame, &rgba), "1 imports kept, 1 copies made");
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn frames_of_others_are_imported_and_not_copied() {
    let gl = processor(EngineKind::Gl, 1);
    // As a decoder would hand them over: descriptors and numbers.
    let ours = image(320, 240, PixelFormat::Nv12);
    paint(&ours, 8, 1);
    let make = |bytes: usize| Tensor::<u8>::new(&[bytes], Some(TensorMemory::Dma), None).unwrap();
    let (both, luma, chroma) = (make(384 * 360), make(384 * 240), make(320 * 120));
    let plane = |memory: &Tensor<u8>, offset: usize, stride: usize| {
        let plane = PlaneDescriptor::new(memory.dmabuf_clone().unwrap()).unwrap();
        plane.with_offset(offset).with_stride(stride).with_modifier(0).unwrap()
    };
    let import = |planes: &[PlaneDescriptor]| {
        gl.import_image(planes, 320, 240, PixelFormat::Nv12, DType::U8, None)
    };
    for planes in [
        vec![plane(&both, 0, 384)],
        vec![plane(&both, 0, 384), plane(&both, 384 * 240, 384)],
        vec![plane(&luma, 0, 384), plane(&chroma, 0, 320)],
    ] {
        let frame = import(&planes).unwrap();
        assert_eq!(frame.memory(), TensorMemory::Dma);
        for index in 0..2 {
            frame.plane(index).unwrap().copy_from(&ours.plane(index).unwrap()).unwrap();
        }
        let rgba = image(160, 160, PixelFormat::Rgba);
        let letterbox = letterbox();
        gl.convert(&frame, &rgba, &letterbox).unwrap();
        check(&ours, &rgba);
        let said = said(&gl, &frame, &rgba);
        assert!(said.contains(" 0 copies made") && !said.contains("copied"), "{said}");
    }
    // A byte more than there is.
    let error = import(&[plane(&luma, 0, 384), plane(&chroma, 1, 320)]).unwrap_err();
    assert!(error.to_string().contains("ends at byte 38401"), "{error}");
    let error = import(&[plane(&luma, 0, 319), plane(&chroma, 0, 320)]).unwrap_err();
    assert!(error.to_string().contains("319 is shorter"), "{error}");
    let error = import(&[plane(&luma, 0, 384), plane(&luma, 0, 384)]).unwrap_err();
    assert!(error.to_string().contains("share bytes"), "{error}");
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn a_fence_holds_both_sides() {
    let gl = processor(EngineKind::Gl, 1);
    let frame = image(320, 240, PixelFormat::Nv12);
    paint(&frame, 6, 1);
    let rgba = image(160, 160, PixelFormat::Rgba);
    for _ in 0..3 {
        let (_, fence) = gl.convert_later(&frame, &rgba, &letterbox()).unwrap();
        assert!(fence.wait(Some(WAIT)).unwrap());
        // Nobody holds it any more, at once, and no device is at work.
        check(&frame, &rgba);
        assert!(rgba.buffer().wait_ready(Access::KernelWrite, Some(WAIT)).unwrap());
    }
}

#[test]
#[ignore = "needs a camera and DMA-BUF: tests/vm/test"]
fn from_a_camera_to_dma_memory() {
    let path = cameras().into_iter().find(|found| found.capture.is_ok()).unwrap().path;
    let mut camera = Camera::open(path).unwrap();
    camera.set_control("OSD Text Mode", 2).unwrap();
    camera.negotiate(Wanted::pixels(PixelFormat::Nv12).size(640, 360)).unwrap();
    let mut stream = camera.stream().unwrap();
    let gl = processor(EngineKind::Gl, 1);
    // As most models want it, which no driver imports as pixels.
    let rgb = image(320, 320, PixelFormat::Rgb);
    for _ in 0..8 {
        let frame = stream.next(WAIT).unwrap().unwrap();
        assert_eq!(frame.memory(), TensorMemory::Dma);
        gl.convert(&*frame, &rgb, &letterbox()).unwrap();
        check(&*frame, &rgb);
        // Neither the frame nor the picture is copied, whichever of the camera's buffers it is in.
        let words = said(&gl, &*frame, &rgb);
        assert!(words.ends_with(", 0 copies made") && !words.contains("copied"), "{words}");
        assert!(!words.contains(", 0 imports kept"), "{words}");
    }
}
