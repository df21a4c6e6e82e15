//! What colours mean from one conversion to the next: bytes are what their tensor says of them, or
//! what a tensor that says nothing is read as.

#[path = "common/pictures.rs"]
mod pictures;

use pictures::{image, numbers, processor};
use tenure_image::{Convert, EngineKind, Error};
use tenure_layout::{Colour, ColourMatrix, ColourRange, DType, PixelFormat};
use tenure_tensor::{DynTensor, TensorDyn};

const SIZE: (usize, usize) = (16, 8);

fn engines() -> impl Iterator<Item = EngineKind> {
    // OpenGL has tests of its own, against the same definition.
    [EngineKind::Cpu, EngineKind::Reference].into_iter()
}

/// A flat picture in luma and chroma.
fn flat(format: PixelFormat, colour: Option<Colour>, [y, u, v]: [u8; 3]) -> TensorDyn {
    let mut picture = image(SIZE, format, DType::U8, 0);
    let luma = SIZE.0 * SIZE.1;
    for (at, byte) in picture.map().unwrap().as_mut_slice().iter_mut().enumerate() {
        *byte = if at < luma { y } else { [u, v][at % 2] };
    }
    picture.set_colour(colour);
    picture
}

fn convert(kind: EngineKind, source: &TensorDyn, target: TensorDyn) -> TensorDyn {
    processor(kind, 1).convert(source, &target, &Convert::new()).unwrap();
    target
}

fn near(have: &TensorDyn, want: &TensorDyn, codes: f64) {
    let (have, want) = (numbers(have), numbers(want));
    let close = have.iter().zip(&want).all(|(a, b)| (a - b).abs() <= codes);
    assert!(close, "{:?} and not {:?}", &have[..6], &want[..6]);
}

#[test]
fn a_copy_shows_what_its_source_shows() {
    let rgb = || image(SIZE, PixelFormat::Rgb, DType::U8, 0);
    for kind in engines() {
        let frame = flat(PixelFormat::Nv12, Some(Colour::HD), [97, 60, 190]);
        let shown = convert(kind, &frame, rgb());
        for colour in [None, Some(Colour::HD), Some(Colour::JPEG), Colour::from_code(5)] {
            let mut copy = image(SIZE, PixelFormat::Nv12, DType::U8, 0);
            copy.set_colour(colour);
            let copy = convert(kind, &frame, copy);
            near(&convert(kind, &copy, rgb()), &shown, 3.0);
            if colour == Some(Colour::HD) {
                near(&copy, &frame, 0.0);
            }
        }
        // The same in batches.
        let heap = Some(tenure_tensor::TensorMemory::Mem);
        let batch = TensorDyn::new(&[2, SIZE.1 * 3 / 2, SIZE.0], DType::U8, heap, None).unwrap();
        let batch = batch.with_format(PixelFormat::Nv12).unwrap();
        let other = flat(PixelFormat::Nv12, None, [97, 60, 190]);
        let sources = [&frame, &other];
        processor(kind, 1).convert_batch(&sources, &batch, &Convert::new()).unwrap();
        near(&convert(kind, &batch.batch(0).unwrap(), rgb()), &shown, 3.0);
        near(&convert(kind, &batch.batch(1).unwrap(), rgb()), &convert(kind, &other, rgb()), 1.0);
    }
}

#[test]
fn grey_is_of_full_range_unless_it_says_otherwise() {
    let grey = |colour| {
        let mut grey = image(SIZE, PixelFormat::Grey, DType::U8, 0);
        grey.set_colour(colour);
        grey
    };
    for kind in engines() {
        let white = flat(PixelFormat::Nv12, Some(Colour::HD), [235, 128, 128]);
        assert_eq!(numbers(&convert(kind, &white, grey(None)))[0], 255.0, "{kind}");
        assert_eq!(numbers(&convert(kind, &white, grey(Some(Colour::HD))))[0], 235.0, "{kind}");
        let unit = image(SIZE, PixelFormat::Grey, DType::F32, 0);
        let scale = Convert::new().normalize(tenure_image::Normalize::scale(1.0 / 255.0));
        processor(kind, 1).convert(&white, &unit, &scale).unwrap();
        assert!((numbers(&unit)[0] - 1.0).abs() < 2e-3, "{kind}");
        // The shares of red, green and blue are those that the destination names.
        let green = image(SIZE, PixelFormat::Rgb, DType::U8, 0);
        green.map().unwrap().as_mut_slice().chunks_mut(3).for_each(|pixel| pixel[1] = 255);
        assert_eq!(numbers(&convert(kind, &green, grey(None)))[0], 150.0, "{kind}");
        let full = Colour { matrix: ColourMatrix::Bt709, range: ColourRange::Full };
        assert_eq!(numbers(&convert(kind, &green, grey(Some(full))))[0], 182.0, "{kind}");
    }
}

#[test]
fn a_colour_that_nobody_would_hear_is_refused() {
    let (source, mut target) =
        (image(SIZE, PixelFormat::Rgb, DType::U8, 0), image(SIZE, PixelFormat::Nv12, DType::U8, 0));
    let (convert, cpu) = (Convert::new().colour(Colour::HD), processor(EngineKind::Cpu, 1));
    let error = cpu.convert(&source, &target, &convert).unwrap_err();
    assert!(matches!(error, Error::ColourOfRgb { .. }), "{error}");
    assert!(error.to_string().contains("rgb has none"), "{error}");
    target.set_colour(Some(Colour::HD));
    cpu.convert(&source, &target, &convert).unwrap();
    // Where there is no luma on either side it has no meaning.
    cpu.convert(&source, &image(SIZE, PixelFormat::Bgr, DType::U8, 0), &convert).unwrap();
}

#[test]
fn ten_bits_of_full_range_are_1023_steps() {
    for (code, limited, full) in [(1023u16, 255.0, 255.0), (940, 255.0, 234.3), (64, 0.0, 15.95)] {
        for (colour, want) in [(Colour::HD, limited), (Colour::JPEG, full)] {
            let mut frame = image(SIZE, PixelFormat::P010, DType::U16, 0);
            let luma = SIZE.0 * SIZE.1 * 2;
            for (at, bytes) in frame.map().unwrap().as_mut_slice().chunks_mut(2).enumerate() {
                let code = if at * 2 < luma { code } else { 512 };
                bytes.copy_from_slice(&(code << 6).to_ne_bytes());
            }
            frame.set_colour(Some(colour));
            for kind in engines() {
                let have = convert(kind, &frame, image(SIZE, PixelFormat::Rgb, DType::F32, 0));
                let off = numbers(&have).iter().map(|have| (have - want).abs()).fold(0.0, f64::max);
                assert!(off < 0.1, "{kind} {code} {colour}: {:?}", &numbers(&have)[..3]);
            }
        }
    }
}

#[cfg(feature = "codecs")]
#[test]
fn files_hold_grey_of_full_range() {
    use tenure_image::codec;
    let white = flat(PixelFormat::Grey, Some(Colour::HD), [235; 3]);
    for format in [codec::FileFormat::Png, codec::FileFormat::Jpeg] {
        let mut file = vec![];
        match format {
            codec::FileFormat::Png => codec::encode_png(&white, &mut file).unwrap(),
            codec::FileFormat::Jpeg => codec::encode_jpeg(&white, 95, &mut file).unwrap(),
        }
        let mut back = codec::decode(&file, None).unwrap();
        assert_eq!(back.format(), Some(PixelFormat::Grey));
        assert_eq!(numbers(&back)[0], 255.0, "{}", format.name());
        // Into grey that says otherwise it comes as that says.
        back.set_colour(Some(Colour::HD));
        codec::decode_into(&file, &mut back).unwrap();
        assert_eq!(numbers(&back)[0], 235.0, "{}", format.name());
    }
}
