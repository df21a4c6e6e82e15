//! After the first frame, converting allocates nothing.
#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use tenure_image::{Convert, Filter, Fit, ImageProcessor, Normalize, Rotation};
use tenure_layout::{DType, PixelFormat};
use tenure_tensor::{DynTensor, TensorDyn, TensorMemory};

struct Counting;

/// Allocations of all threads but the program's first, in which the test runner keeps its books.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Whether this thread is counted.
fn counts() -> bool {
    rustix::thread::gettid() != rustix::process::getpid()
}

// SAFETY: hands everything to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if counts() {
            COUNT.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(address, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test, since others would be counted too.
#[test]
fn frames_after_the_first_allocate_nothing() {
    for threads in [Some(1), Some(3), None] {
        let config = ImageProcessor::builder().threads(threads);
        check(&config.build().unwrap());
    }
}

fn check(processor: &ImageProcessor) {
    let image = |width, height, format, dtype| {
        TensorDyn::image(width, height, format, dtype, Some(TensorMemory::Mem), None).unwrap()
    };
    let letterbox = Convert::new().fit(Fit::letterbox(114));
    let unit = letterbox.clone().normalize(Normalize::scale(1.0 / 255.0));
    let turned = letterbox.clone().rotation(Rotation::Quarter);
    // In floating point, where it is not exact enough otherwise.
    let exact = letterbox.clone().filter(Filter::Lanczos3);
    let exact = exact.normalize(Normalize::IMAGENET);
    let cases = [
        (PixelFormat::Nv12, PixelFormat::Rgb, DType::U8, letterbox.clone()),
        (PixelFormat::Yuyv, PixelFormat::PlanarRgb, DType::F32, unit),
        (PixelFormat::Nv12, PixelFormat::PlanarRgb, DType::F32, exact),
        (PixelFormat::Rgba, PixelFormat::Nv12, DType::U8, letterbox),
        (PixelFormat::Nv12, PixelFormat::Bgra, DType::U8, turned),
    ];
    // Planes in memories of their own.
    let planes = |width: usize, height: usize, format: PixelFormat| {
        let whole = image(width, height, format, DType::U8);
        let buffer = |bytes: usize| {
            let memory = Some(TensorMemory::Mem);
            let plane = TensorDyn::new(&[bytes], DType::U8, memory, None).unwrap();
            plane.buffer().clone()
        };
        let layout = whole.image_layout().unwrap();
        let buffers: Vec<_> = layout.planes().iter().map(|own| buffer(own.span().len())).collect();
        let places = vec![(0, None); buffers.len()];
        let dtype = DType::U8;
        TensorDyn::from_plane_buffers(&buffers, &places, width, height, format, dtype).unwrap()
    };
    let source = planes(640, 360, PixelFormat::I420);
    let target = planes(32, 32, PixelFormat::PlanarRgba);
    let convert_once = || {
        processor.convert(&source, &target, &Convert::new()).unwrap();
    };
    convert_once();
    let before = COUNT.load(Ordering::Relaxed);
    (0..50).for_each(|_| convert_once());
    assert_eq!(COUNT.load(Ordering::Relaxed) - before, 0, "planes apart");

    for (from, to, dtype, convert) in cases {
        // Reduced a hundred times, where many rows make one, and made larger.
        for (size, side) in [((1280, 720), 32), ((3200, 3200), 32), ((320, 240), 400)] {
            let source = image(size.0, size.1, from, DType::U8);
            let target = image(side, side, to, dtype);
            let convert_once = || {
                processor.convert(&source, &target, &convert).unwrap();
            };
            convert_once();
            let before = COUNT.load(Ordering::Relaxed);
            (0..50).for_each(|_| convert_once());
            let more = COUNT.load(Ordering::Relaxed) - before;
            assert_eq!(more, 0, "{from} to {to} from {size:?}");
        }
    }
}
