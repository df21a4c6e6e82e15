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
use tenure_tensor::{ElementKind, Tensor, TensorDyn, TensorMemory};

const WAIT: Duration = Duration::from_secs(60);

fn image(width: usize, height: usize, format: PixelFormat) -> TensorDyn {
    let memory = Some(TensorMemory::Dma);
    TensorDyn::image(width, height, format, DType::U8, None, memory, None).unwrap()
}

fn letterbox() -> Convert {
    Convert::new().with_fit(Fit::letterbox(114)).with_filter(Filter::Bilinear)
}

/// What the engine says that it keeps: `4 imports kept`.
fn imports<E: ElementKind>(gl: &ImageProcessor, source: &Tensor<E>, target: &TensorDyn) -> String {
    let said = gl.explain(source, target, &letterbox()).unwrap().remove(0).verdict.unwrap();
    said.rsplit(", ").next().unwrap_or_default().to_owned()
}

/// Checks against the CPU, within two codes.
fn check<E: ElementKind>(source: &Tensor<E>, result: &TensorDyn) {
    let (width, height) = (result.width().unwrap(), result.height().unwrap());
    let mut expected = image(width, height, result.format().unwrap());
    processor(EngineKind::Cpu, 1).convert(source, &mut expected, &letterbox()).unwrap();
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
    let mut rgba = image(160, 160, PixelFormat::Rgba);
    gl.convert(&frame, &mut rgba, &letterbox()).unwrap();
    check(&frame, &rgba);
    // Two planes in, one out.
    assert_eq!(imports(&gl, &frame, &rgba), "3 imports kept");
    // Packed pixels of three bytes, which no driver imports as such.
    let mut rgb = image(160, 160, PixelFormat::Rgb);
    gl.convert(&frame, &mut rgb, &letterbox()).unwrap();
    check(&frame, &rgb);
    assert_eq!(imports(&gl, &frame, &rgb), "4 imports kept");
    drop(rgba);
    gl.convert(&frame, &mut rgb, &letterbox()).unwrap();
    assert_eq!(imports(&gl, &frame, &rgb), "3 imports kept");
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn a_fence_holds_both_sides() {
    let gl = processor(EngineKind::Gl, 1);
    let frame = image(320, 240, PixelFormat::Nv12);
    paint(&frame, 6, 1);
    let mut rgba = image(160, 160, PixelFormat::Rgba);
    for _ in 0..3 {
        let (_, fence) = gl.convert_async(&frame, &mut rgba, &letterbox()).unwrap();
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
    camera.negotiate(&Wanted::pixels(PixelFormat::Nv12).size(640, 360)).unwrap();
    let mut stream = camera.stream().unwrap();
    let gl = processor(EngineKind::Gl, 1);
    let mut rgba = image(320, 320, PixelFormat::Rgba);
    for _ in 0..3 {
        let frame = stream.next(WAIT).unwrap();
        assert_eq!(frame.memory(), TensorMemory::Dma);
        gl.convert(&*frame, &mut rgba, &letterbox()).unwrap();
        check(&*frame, &rgba);
        assert_ne!(imports(&gl, &*frame, &rgba), "0 imports kept");
    }
}
