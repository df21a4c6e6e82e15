//! The OpenGL engine against the definition, with the driver that is installed here.
#![cfg(all(target_os = "linux", feature = "gl"))]

#[path = "common/pictures.rs"]
mod pictures;

use std::sync::LazyLock;
use std::time::Duration;

use pictures::{cases, check, check_with, image, numbers, paint, processor};
use proptest::prelude::*;
use proptest::test_runner::Config;
use tenure_image::{Convert, EngineKind, Error, Filter, Fit, ImageProcessor};
use tenure_layout::{DType, PixelFormat};
use tenure_tensor::{DynTensor, TensorDyn, TensorMemory};

static GL: LazyLock<ImageProcessor> = LazyLock::new(|| processor(EngineKind::Gl, 1));

/// An image in memory of this kind, made by the processor; with padding, in rows further apart.
fn image_in(
    memory: TensorMemory,
    (width, height): (usize, usize),
    format: PixelFormat,
    dtype: DType,
    padding: usize,
) -> TensorDyn {
    let make = |width, height| GL.create_image(width, height, format, dtype, Some(memory)).unwrap();
    let tight = make(width, height);
    if padding == 0 {
        return tight;
    }
    // Rows of this length in memory that has room for them.
    let stride = tight.effective_row_stride().unwrap() + padding * 16;
    let mut padded = make(width + padding * 16 * 2, height);
    padded.configure_image(width, height, format, Some(stride)).unwrap();
    padded
}

proptest! {
    #![proptest_config(Config { cases: 60, ..Config::default() })]

    #[test]
    fn copied_pictures_agree_with_the_definition(case in cases()) {
        check(&case, &GL, 2.0, image)?;
    }

    #[test]
    fn copied_pictures_agree_with_the_cpu(case in cases()) {
        check_with(&case, (&processor(EngineKind::Cpu, 1), &GL), 2.0, image)?;
    }

    #[test]
    fn pixel_buffers_agree_with_the_definition(case in cases()) {
        check(&case, &GL, 2.0, |size, format, dtype, padding| {
            image_in(TensorMemory::Pbo, size, format, dtype, padding)
        })?;
    }

    #[test]
    fn shared_memory_agrees_with_the_definition(case in cases()) {
        check(&case, &GL, 2.0, |size, format, dtype, padding| {
            image_in(TensorMemory::Shm, size, format, dtype, padding)
        })?;
    }
}

fn frame() -> TensorDyn {
    let frame = image((64, 48), PixelFormat::Nv12, DType::U8, 0);
    paint(&frame, 7, 0);
    frame
}

fn letterbox() -> Convert {
    Convert::new().fit(Fit::letterbox(114))
}

#[test]
fn there_is_a_driver() {
    // Without one the tests above would compare nothing.
    let target = image((32, 32), PixelFormat::Rgb, DType::U8, 0);
    let said = GL.explain(&frame(), &target, &letterbox()).unwrap();
    assert!(said[0].verdict.is_ok(), "{said:?}");
}

#[test]
fn a_fence_is_done_when_the_picture_is() {
    let (source, make) = (frame(), || image((32, 32), PixelFormat::Rgb, DType::U8, 0));
    let (expected, result) = (make(), make());
    GL.convert(&source, &expected, &letterbox()).unwrap();
    for _ in 0..20 {
        paint(&result, 1, 3);
        let (_, fence) = GL.convert_later(&source, &result, &letterbox()).unwrap();
        assert!(fence.wait(Some(Duration::from_secs(60))).unwrap());
        // Nobody holds it any more, at once.
        assert_eq!(numbers(&result), numbers(&expected));
    }
    // An engine that is not asynchronous has a fence too.
    let cpu = processor(EngineKind::Cpu, 1);
    let (_, fence) = cpu.convert_later(&source, &result, &letterbox()).unwrap();
    assert!(fence.is_done().unwrap());
}

#[test]
fn mapped_pictures_are_busy() {
    for memory in [TensorMemory::Mem, TensorMemory::Pbo] {
        let target = image_in(memory, (32, 32), PixelFormat::Rgb, DType::U8, 0);
        let map = target.clone();
        let map = map.map().unwrap();
        let error = GL.convert(&frame(), &target, &letterbox()).unwrap_err();
        assert!(matches!(&error, Error::Memory(own) if own.is_busy()), "{error}");
        drop(map);
        GL.convert(&frame(), &target, &letterbox()).unwrap();
    }
}

#[test]
fn a_picture_cannot_be_its_own_destination() {
    let frame = image_in(TensorMemory::Pbo, (32, 32), PixelFormat::Rgba, DType::U8, 0);
    let error = GL.convert(&frame.clone(), &frame, &letterbox()).unwrap_err();
    assert!(matches!(&error, Error::Memory(own) if own.is_busy()), "{error}");
}

#[test]
fn pixel_buffers_are_read_while_somebody_else_reads_them() {
    let source = image_in(TensorMemory::Pbo, (64, 48), PixelFormat::Rgba, DType::U8, 0);
    paint(&source, 3, 0);
    let make = || image((20, 20), PixelFormat::Rgb, DType::U8, 0);
    let (one, other) = (make(), make());
    GL.convert(&source, &one, &letterbox()).unwrap();
    let reading = source.map_read().unwrap();
    GL.convert(&source, &other, &letterbox()).unwrap();
    drop(reading);
    assert_eq!(numbers(&one), numbers(&other));
}

#[test]
fn pixel_buffers_outlive_their_processor_only_to_say_so() {
    let own = processor(EngineKind::Gl, 1);
    let memory = Some(TensorMemory::Pbo);
    let image = own.create_image(32, 32, PixelFormat::Rgba, DType::U8, memory).unwrap();
    assert_eq!(image.memory(), TensorMemory::Pbo);
    let mut map = image.map().unwrap();
    map.as_mut_slice().fill(9);
    drop(own);
    // Still mapped, so still there.
    map.as_mut_slice()[4095] = 8;
    assert_eq!(map.as_slice()[4094..], [9, 8]);
    drop(map);
    let mut answer = image.map_read().map(drop);
    for _ in 0..100 {
        if answer.is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
        answer = image.map_read().map(drop);
    }
    let error = answer.unwrap_err().to_string();
    assert!(error.contains("processor") && error.contains("gone"), "{error}");
    // As the source of another engine it is refused in the same words.
    let target = pictures::image((8, 8), PixelFormat::Rgb, DType::U8, 0);
    for kind in [EngineKind::Cpu, EngineKind::Gl] {
        let refused = processor(kind, 1).convert(&image, &target, &letterbox()).unwrap_err();
        assert!(refused.to_string().contains("gone"), "{refused}");
    }
}

#[test]
fn what_is_refused_is_not_done_by_others_in_silence() {
    let huge = image((3, 70_000), PixelFormat::Grey, DType::U8, 0);
    let target = image((8, 8), PixelFormat::Rgb, DType::U8, 0);
    let error = GL.convert(&huge, &target, &Convert::new()).unwrap_err().to_string();
    assert!(error.contains("gl: ") && error.contains("too large"), "{error}");
    let config = ImageProcessor::builder().engines(vec![EngineKind::Gl, EngineKind::Cpu]);
    let both = config.build().unwrap();
    let said = both.explain(&huge, &target, &Convert::new()).unwrap();
    assert!(said[0].verdict.as_ref().is_err_and(|why| why.contains("too large")), "{said:?}");
    assert!(said[1].verdict.is_ok());
    both.convert(&huge, &target, &Convert::new()).unwrap();
}

#[test]
fn what_does_not_fit_between_source_and_destination_is_refused_before() {
    let config =
        ImageProcessor::builder().engines(vec![EngineKind::Gl, EngineKind::Cpu]).threads(1);
    let both = config.build().unwrap();
    // Sixty thousand pixels are fifteen thousand words, but as many texels before they are packed.
    let wide = image((60_000, 2), PixelFormat::Grey, DType::U8, 0);
    let said = both.explain(&frame(), &wide, &Convert::new()).unwrap();
    let refused = said[0].verdict.as_ref().unwrap_err();
    assert!(refused.contains("60000x2 pixels is too large"), "{refused}");
    both.convert(&frame(), &wide, &Convert::new()).unwrap();
    let error = GL.convert(&frame(), &wide, &Convert::new()).unwrap_err();
    assert!(matches!(error, Error::NoEngine { .. }), "{error}");
    // Weights of a whole row, for one output.
    let source = image((60_000, 2), PixelFormat::Nv12, DType::U8, 0);
    let point = image((1, 1), PixelFormat::Rgb, DType::U8, 0);
    let convert = Convert::new().filter(Filter::Lanczos3);
    let said = both.explain(&source, &point, &convert).unwrap();
    if let Err(refused) = &said[0].verdict {
        assert!(refused.contains("reduced too much"), "{refused}");
    }
    both.convert(&source, &point, &convert).unwrap();
}

#[test]
fn batches_and_their_neighbours() {
    let batch = TensorDyn::new(&[3, 10, 10, 3], DType::U8, Some(TensorMemory::Mem), None)
        .unwrap()
        .with_format(PixelFormat::Rgb)
        .unwrap();
    let source = frame();
    GL.convert_batch(&[&source, &source, &source], &batch, &letterbox()).unwrap();
    let alone = image((10, 10), PixelFormat::Rgb, DType::U8, 0);
    GL.convert(&source, &alone, &letterbox()).unwrap();
    for index in 0..3 {
        assert_eq!(numbers(&batch.batch(index).unwrap()), numbers(&alone));
    }
}

#[test]
fn long_rows_are_sampled_where_they_lie() {
    let cpu = processor(EngineKind::Cpu, 1);
    for (format, from, to) in [
        (PixelFormat::Nv12, (16_000, 6), (11_003, 5)),
        (PixelFormat::Rgb, (16_001, 3), (4999, 3)),
        (PixelFormat::Grey, (5, 16_000), (4, 15_999)),
    ] {
        let source = image(from, format, DType::U8, 0);
        paint(&source, 11, 0);
        for filter in [Filter::Bilinear, Filter::Antialiased] {
            let make = || image(to, PixelFormat::Rgba, DType::U8, 0);
            let (expected, result) = (make(), make());
            let convert = Convert::new().filter(filter);
            cpu.convert(&source, &expected, &convert).unwrap();
            GL.convert(&source, &result, &convert).unwrap();
            for (at, (want, have)) in numbers(&expected).iter().zip(numbers(&result)).enumerate() {
                let close = (want - have).abs() <= 2.0;
                assert!(close, "{format} {filter} at {at}: {have}, not {want}");
            }
        }
    }
}

#[test]
fn the_engine_chooses_its_memory() {
    let image = GL.create_image(64, 64, PixelFormat::Rgb, DType::U8, None).unwrap();
    assert_ne!(image.memory(), TensorMemory::Mem);
    assert!(image.map_read().unwrap().as_slice().iter().all(|byte| *byte == 0));
    // Who is asked is who would do the work, whatever else comes after.
    let engines = vec![EngineKind::Gl, EngineKind::Cpu];
    let both = ImageProcessor::builder().engines(engines).build().unwrap();
    let chosen = both.choose_image(64, 64, PixelFormat::Rgb, DType::U8).unwrap();
    assert_eq!((chosen.engine, chosen.image.memory()), (Some(EngineKind::Gl), image.memory()));
    let memory = chosen.image.memory();
    let start = format!("the engine gl does the work and takes memory {memory}");
    assert!(chosen.reason.starts_with(&start), "{}", chosen.reason);
    // Without DMA-BUF a pixel buffer; shared memory only where the driver imports that, which the script
    // that brings one says (as whoever has one here can).
    if tenure_memory::kind::allocator(TensorMemory::Dma).is_err() {
        let imports = std::env::var_os("TENURE_TEST_IMPORTS").is_some();
        let expected = if imports { TensorMemory::Shm } else { TensorMemory::Pbo };
        assert_eq!(memory, expected, "{}", chosen.reason);
    }
    let usual = ImageProcessor::new().unwrap();
    let chosen = usual.choose_image(64, 64, PixelFormat::Rgb, DType::U8).unwrap();
    assert_eq!(chosen.engine, usual.engines().next(), "the CPU reaches it");
}

#[test]
fn threads_share_one_engine() {
    let expected = {
        let target = image((32, 32), PixelFormat::PlanarRgb, DType::F32, 0);
        GL.convert(&frame(), &target, &letterbox()).unwrap();
        numbers(&target)
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let target = image((32, 32), PixelFormat::PlanarRgb, DType::F32, 0);
                for _ in 0..10 {
                    GL.convert(&frame(), &target, &letterbox()).unwrap();
                    assert_eq!(numbers(&target), expected);
                }
            });
        }
    });
}
