//! An image processor in a forked child, where its threads are not: it is dropped, used, and made
//! anew there, after work and before any. Nothing panics, hangs or gives another picture.
#![forbid(unsafe_code)]

use tenure::image::{Convert, Fit, ImageProcessor};
use tenure::{DType, DynTensor, PixelFormat, TensorDyn, TensorMemory};
use tenure_attacks::fork::in_child;

fn image(width: usize, height: usize, format: PixelFormat) -> TensorDyn {
    let memory = Some(TensorMemory::Mem);
    TensorDyn::image(width, height, format, DType::U8, memory, None).expect("memory")
}

fn processor(threads: usize) -> ImageProcessor {
    ImageProcessor::builder().threads(Some(threads)).build().expect("threads")
}

/// A picture with something in it, large enough for several threads.
fn source() -> TensorDyn {
    let source = image(640, 480, PixelFormat::Rgba);
    let mut map = source.map().expect("free");
    for (index, byte) in map.as_mut_slice().iter_mut().enumerate() {
        *byte = (index * 7 % 251) as u8;
    }
    drop(map);
    source
}

fn converted(processor: &ImageProcessor, source: &TensorDyn) -> Vec<u8> {
    let target = image(320, 320, PixelFormat::Rgb);
    let convert = Convert::new().fit(Fit::letterbox(114));
    processor.convert(source, &target, &convert).expect("converted");
    target.map_read().expect("free").as_slice().to_vec()
}

fn main() {
    let source = source();
    let mut kept = Some(processor(4));
    let kept = &mut kept;
    // Its threads have not worked yet, and have just worked.
    for round in 0..2 {
        let status = in_child(|| drop(kept.take()));
        assert!(status.success(), "dropped in round {round}: {status}");
        converted(kept.as_ref().expect("the parent's"), &source);
    }
    let expected = converted(kept.as_ref().expect("the parent's"), &source);
    let status = in_child(|| {
        let own = kept.take().expect("the copy's");
        assert_eq!(converted(&own, &source), expected);
        assert_eq!(converted(&processor(4), &source), expected);
        drop(own);
        // The child is a parent too.
        let again = processor(2);
        assert_eq!(converted(&again, &source), expected);
        let status = in_child(|| {
            assert_eq!(converted(&again, &source), expected);
            drop(again);
        });
        assert!(status.success(), "{status}");
    });
    assert!(status.success(), "{status}");
    // And here everything goes on as before.
    assert_eq!(converted(kept.as_ref().expect("the parent's"), &source), expected);
}
