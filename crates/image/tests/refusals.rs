//! What cannot be converted is refused, with the value that was wrong, before anything is written.

use tenure_image::{Convert, EngineKind, Error, ImageProcessor, Normalize};
use tenure_layout::{DType, ErrorKind, PixelFormat, Region};
use tenure_tensor::{DynTensor, Tensor, TensorDyn, TensorMemory};

fn image(width: usize, height: usize, format: PixelFormat) -> Tensor<u8> {
    Tensor::<u8>::image(width, height, format, Some(TensorMemory::Mem), None).unwrap()
}

fn refuse(source: &Tensor<u8>, target: &mut TensorDyn, convert: &Convert) -> String {
    let before: Vec<u8> = target.map_read().unwrap().as_slice().to_vec();
    let error = ImageProcessor::new().unwrap().convert(source, target, convert).unwrap_err();
    assert_eq!(before, target.map_read().unwrap().as_slice(), "{error}");
    error.to_string()
}

#[test]
fn tensors_that_are_no_images() {
    let plain = Tensor::<u8>::new(&[4, 4], Some(TensorMemory::Mem), None).unwrap();
    let mut target = image(4, 4, PixelFormat::Rgb).to_dyn();
    let words = refuse(&plain, &mut target, &Convert::new());
    assert!(words.contains("the source of shape [4, 4] is no image"), "{words}");
}

#[test]
fn batches_need_convert_batch() {
    let mut batch =
        TensorDyn::new(&[2, 4, 4, 3], DType::U8, Some(TensorMemory::Mem), None).unwrap();
    batch.set_format(PixelFormat::Rgb).unwrap();
    let source = image(8, 8, PixelFormat::Nv12);
    let words = refuse(&source, &mut batch, &Convert::new());
    assert!(words.contains("batch"), "{words}");
    let processor = ImageProcessor::new().unwrap();
    let places = processor.convert_batch(&[&source, &source], &batch, &Convert::new()).unwrap();
    assert_eq!(places.len(), 2);
    let error = processor.convert_batch(&[&source], &batch, &Convert::new()).unwrap_err();
    assert_eq!(error.to_string(), "1 sources do not fill a batch of 2");
}

#[test]
fn formats_and_types_that_nobody_writes() {
    let source = image(8, 8, PixelFormat::Rgb);
    for format in [PixelFormat::Yuyv, PixelFormat::I420, PixelFormat::Nv24] {
        let words = refuse(&source, &mut image(8, 8, format).to_dyn(), &Convert::new());
        assert!(words.contains("cannot be a destination: rgb, bgr"), "{words}");
    }
    let mut doubles =
        TensorDyn::image(8, 8, PixelFormat::Rgb, DType::F64, Some(TensorMemory::Mem), None)
            .unwrap();
    let words = refuse(&source, &mut doubles, &Convert::new());
    assert!(words.contains("not converted to f64: u8, i8"), "{words}");
}

#[test]
fn regions_outside() {
    let (source, mut target) =
        (image(8, 8, PixelFormat::Rgb), image(4, 4, PixelFormat::Rgb).to_dyn());
    let cases = [
        Convert::new().crop(Region::new(1, 0, 8, 8)),
        Convert::new().crop(Region::new(0, 0, 0, 8)),
        Convert::new().crop(Region::new(usize::MAX, 0, 1, 1)),
        Convert::new().into(Region::new(0, 4, 1, 1)),
    ];
    for convert in cases {
        let words = refuse(&source, &mut target, &convert);
        assert!(words.contains("is empty or leaves the image of"), "{words}");
    }
}

#[test]
fn numbers_that_make_no_sense() {
    let (source, mut target) =
        (image(8, 8, PixelFormat::Rgb), image(4, 4, PixelFormat::Rgb).to_dyn());
    let scaled = Convert::new().normalize(Normalize::scale(0.5));
    assert!(refuse(&source, &mut target, &scaled).contains("needs a quantisation"));
    let nothing = Convert::new().normalize(Normalize::scale(f32::INFINITY));
    assert!(refuse(&source, &mut target, &nothing).contains("inf"));
}

#[test]
fn memory_that_somebody_holds() {
    let processor = ImageProcessor::new().unwrap();
    let (source, target) = (image(8, 8, PixelFormat::Rgb), image(4, 4, PixelFormat::Rgb));
    let written = source.map().unwrap();
    assert!(processor.convert(&source, &target, &Convert::new()).is_err());
    drop(written);
    let other = target.clone();
    let read = other.map_read().unwrap();
    let error = processor.convert(&source, &target, &Convert::new()).unwrap_err();
    assert!(matches!(error, Error::Memory(tenure_memory::Error::Busy { .. })), "{error}");
    drop(read);
    processor.convert(&source, &target, &Convert::new()).unwrap();
}

#[test]
fn a_picture_into_itself() {
    let processor = ImageProcessor::new().unwrap();
    let source = image(8, 8, PixelFormat::Rgb);
    let same = source.clone();
    assert!(processor.convert(&source, &same, &Convert::new()).is_err());
    // Parts that do not touch are another matter.
    let top = source.view(Region::new(0, 0, 8, 4)).unwrap();
    let bottom = source.view(Region::new(0, 4, 8, 4)).unwrap();
    processor.convert(&top, &bottom, &Convert::new()).unwrap();
}

#[test]
fn pictures_that_overlap() {
    let processor = ImageProcessor::new().unwrap();
    let whole = image(8, 8, PixelFormat::Rgb);
    let top = whole.view(Region::new(0, 0, 8, 5)).unwrap();
    let bottom = whole.view(Region::new(0, 4, 8, 4)).unwrap();
    let error = processor.convert(&top, &bottom, &Convert::new()).unwrap_err();
    assert!(matches!(error, Error::Memory(tenure_memory::Error::Busy { .. })), "{error}");
    // Nothing is left held.
    drop(whole.map().unwrap());
    // Chroma of the one where luma of the other is.
    let memory = Tensor::<u8>::new(&[4096], Some(TensorMemory::Mem), None).unwrap();
    let place = |offset: usize| {
        let (buffers, places) = ([memory.buffer().clone()], [(offset, Some(16))]);
        let (format, dtype) = (PixelFormat::Nv12, DType::U8);
        TensorDyn::from_plane_buffers(&buffers, &places, 16, 16, format, dtype).unwrap()
    };
    let error = processor.convert(&place(0), &place(16 * 23), &Convert::new()).unwrap_err();
    assert!(matches!(error, Error::Memory(tenure_memory::Error::Busy { .. })), "{error}");
    processor.convert(&place(0), &place(16 * 24), &Convert::new()).unwrap();
}

#[test]
fn pictures_without_pixels() {
    let processor = ImageProcessor::new().unwrap();
    for (width, height) in [(0, 0), (0, 8), (8, 0)] {
        for format in PixelFormat::all() {
            let dtype = if format == PixelFormat::P010 { DType::U16 } else { DType::U8 };
            let error = processor.create_image(width, height, format, dtype, None).unwrap_err();
            let words = error.to_string();
            assert!(words.contains(&format!("{width}x{height}")), "{format}: {words}");
        }
    }
    // Nor can a tensor without elements be made one.
    let mut empty = TensorDyn::new(&[0, 8, 3], DType::U8, Some(TensorMemory::Mem), None).unwrap();
    assert!(empty.set_format(PixelFormat::Rgb).is_err());
    let source = image(8, 8, PixelFormat::Rgb);
    let error = processor.convert(&source, &empty, &Convert::new()).unwrap_err();
    assert!(matches!(error, Error::NotAnImage { .. }), "{error}");
    // One pixel is a picture.
    for format in PixelFormat::all() {
        let dtype = if format == PixelFormat::P010 { DType::U16 } else { DType::U8 };
        let one = processor.create_image(1, 1, format, dtype, None).unwrap();
        let many = image(3, 5, PixelFormat::Rgb).to_dyn();
        processor.convert(&one, &many, &Convert::new()).unwrap();
    }
}

#[test]
fn which_memory_was_chosen_and_why_is_told() {
    let processor = ImageProcessor::builder().engines(vec![EngineKind::Cpu]).build().unwrap();
    for format in PixelFormat::all() {
        let dtype = if format == PixelFormat::P010 { DType::U16 } else { DType::U8 };
        let chosen = processor.choose_image(40, 20, format, dtype).unwrap();
        let memory = chosen.image.memory();
        assert_eq!((chosen.engine, chosen.image.width()), (Some(EngineKind::Cpu), Some(40)));
        let start = format!("the engine cpu does the work and takes memory {memory}");
        assert!(chosen.reason.starts_with(&start), "{}", chosen.reason);
        // Every memory that was tried before is there, with its reason.
        for refusal in chosen.image.refusals() {
            assert!(
                chosen.reason.contains(&format!("; {}: ", refusal.memory)),
                "{}",
                chosen.reason
            );
        }
        let made = processor.create_image(40, 20, format, dtype, None).unwrap();
        assert_eq!(made.memory(), memory);
    }
    // Also of numbers that perhaps nobody converts.
    let none = processor.choose_image(40, 20, PixelFormat::Rgb, DType::F64);
    assert!(none.is_ok_and(|chosen| chosen.image.dtype() == DType::F64));
}

#[test]
fn settings_that_cannot_be() {
    let none = ImageProcessor::builder().threads(0);
    assert!(none.build().is_err());
    let error = "vulkan".parse::<EngineKind>().unwrap_err().to_string();
    assert!(error.starts_with("unknown image engine `vulkan`: cpu, "), "{error}");
    let nobody = ImageProcessor::builder().engines(vec![]);
    let processor = nobody.build().unwrap();
    let (source, target) = (image(8, 8, PixelFormat::Rgb), image(4, 4, PixelFormat::Rgb));
    assert!(processor.convert(&source, &target, &Convert::new()).is_err());
}

#[test]
fn what_engines_say() {
    let processor = ImageProcessor::new().unwrap();
    let (source, target) = (image(8, 8, PixelFormat::Rgb), image(4, 4, PixelFormat::Rgb));
    let said = processor.explain(&source, &target, &Convert::new()).unwrap();
    assert!(said.iter().any(|line| line.verdict.is_ok()), "{said:?}");
}

#[test]
fn luma_and_chroma_of_sixteen_bits_are_not_converted() {
    use PixelFormat::{I420, Nv12, Nv16, Nv21, Nv24, P010};
    let processor = ImageProcessor::new().unwrap();
    for format in [Nv12, Nv21, Nv16, Nv24, I420] {
        // There is such a picture, made by the processor too.
        let words = processor.create_image(8, 8, format, DType::U16, None).unwrap();
        assert_eq!((words.dtype(), words.effective_row_stride()), (DType::U16, Some(16)));
        let rgb = image(8, 8, PixelFormat::Rgb);
        let error = processor.convert(&words, &rgb, &Convert::new()).unwrap_err();
        let said = error.to_string();
        let start = format!("{format} images of u16 cannot be a source: u8 images of every format");
        assert!(said.starts_with(&start), "{said}");
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let error = processor.convert(&rgb, &words, &Convert::new()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{format} images of u16 cannot be a dest")), "{error}");
        let reason = processor.choose_image(8, 8, format, DType::U16).unwrap().reason;
        assert!(reason.starts_with("no engine converts such pictures"), "{reason}");
    }
    // The format of ten bits in words is.
    let ten = processor.create_image(8, 8, P010, DType::U16, None).unwrap();
    processor.convert(&ten, &image(8, 8, PixelFormat::Rgb), &Convert::new()).unwrap();
}
