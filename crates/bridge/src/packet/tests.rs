//! Packets come back as they went, whatever they describe; and no lie gets through or costs much.
#![expect(clippy::indexing_slicing, reason = "a wrong index is a failed test")]

use proptest::prelude::*;
use tenure_layout::{Colour, DType, ImageLayout, PixelFormat, Quantization};
use tenure_tensor::{DynTensor, TensorDyn};

use super::*;
use crate::{Compression, pack, unpack};

fn head(tensor: &TensorDyn) -> Head {
    Head {
        incarnation: 11,
        sequence: 12,
        captured: Some(13),
        sent: 14,
        blob: b"exposure".to_vec(),
        ..Head::of(tensor).unwrap()
    }
}

fn picture(format: PixelFormat, width: usize, height: usize) -> TensorDyn {
    TensorDyn::image(width, height, format, DType::U8, None, None).unwrap()
}

fn formats() -> impl Strategy<Value = PixelFormat> {
    let all: Vec<_> = (0..=u8::MAX).filter_map(PixelFormat::from_code).collect();
    prop::sample::select(all)
}

fn elements() -> impl Strategy<Value = DType> {
    let all: Vec<_> = (0..=u8::MAX).filter_map(DType::from_code).collect();
    prop::sample::select(all)
}

fn tensors() -> impl Strategy<Value = TensorDyn> {
    let pictures = (formats(), elements(), 1usize..40, 1usize..40, 0usize..3).prop_filter_map(
        "no such picture",
        |(format, dtype, width, height, gap)| {
            // Rows with gaps where the format can have them.
            let stride = ImageLayout::new(width, height, format, dtype, None).ok()?.row_stride();
            let stride = (gap > 0).then(|| (stride + gap * 16).next_multiple_of(16));
            let made =
                TensorDyn::image_builder(width, height, format, dtype).row_stride(stride).build();
            let mut tensor =
                made.or_else(|_| TensorDyn::image(width, height, format, dtype, None, None));
            if let Ok(tensor) = &mut tensor {
                tensor.set_colour(Some(Colour::HD));
            }
            tensor.ok()
        },
    );
    let plain = (elements(), prop::collection::vec(0usize..6, 0..5))
        .prop_filter_map("no such tensor", |(dtype, shape)| {
            TensorDyn::new(&shape, dtype, None, None).ok()
        });
    prop_oneof![pictures, plain]
}

/// Bytes that differ from each other.
fn scribble(tensor: &TensorDyn) -> Vec<u8> {
    let bytes: Vec<u8> = (0..tensor.flat_bytes()).map(|at| (at * 7 + at / 256) as u8).collect();
    let mut head = Head::of(tensor).unwrap();
    head.encoding = Encoding::Plain;
    unpack(&head, &bytes[..], tensor).unwrap();
    bytes
}

fn flat(tensor: &TensorDyn) -> Vec<u8> {
    let mut bytes = vec![0; tensor.flat_bytes()];
    tensor.copy_to_flat(&mut bytes).unwrap();
    bytes
}

proptest! {
    #[test]
    fn frames_come_back_as_they_went(tensor in tensors(), lossless in any::<bool>()) {
        scribble(&tensor);
        let how = if lossless { Compression::Lossless } else { Compression::Plain };
        let mut head = head(&tensor);
        let body = pack(&tensor, &mut head, how).unwrap();
        let packet = Packet::Frame(Box::new(head.clone()));
        let encoded = packet.encode();
        prop_assert!(encoded.len() <= LONGEST);
        prop_assert_eq!(Packet::decode(&encoded, body.len()), Ok(packet));

        // A tensor of the same look, as a slot is.
        let (shape, dtype) = (&head.description.shape, head.description.dtype);
        let there = match &head.description.image {
            Some(image) => {
                let (format, width, height) = (image.format, image.width, image.height);
                TensorDyn::image(width, height, format, dtype, None, None).unwrap()
            }
            None => TensorDyn::new(shape, dtype, None, None).unwrap(),
        };
        unpack(&head, &body[..], &there).unwrap();
        let look = |tensor: &TensorDyn| (tensor.format(), tensor.width(), tensor.height());
        prop_assert_eq!(look(&there), look(&tensor));
        prop_assert_eq!(there.shape(), &shape[..]);
        // Where planes follow each other as rows, the shape of a picture has their gaps.
        prop_assert!(tensor.format().is_some() || there.shape() == tensor.shape());
        prop_assert_eq!(flat(&there), flat(&tensor));
        prop_assert!(head.spec().is_ok());
    }

    #[test]
    fn noise_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), body in 0usize..500) {
        prop_assert!(Packet::decode(&bytes, body).is_err());
    }

    #[test]
    fn a_changed_byte_never_makes_another_size(
        tensor in tensors(),
        at in any::<prop::sample::Index>(),
        value in any::<u8>(),
    ) {
        let mut head = head(&tensor);
        let body = pack(&tensor, &mut head, Compression::Plain).unwrap();
        let mut encoded = Packet::Frame(Box::new(head)).encode();
        let at = at.index(encoded.len());
        encoded[at] = value;
        if let Ok(Packet::Frame(head)) = Packet::decode(&encoded, body.len()) {
            // What is believed can be held by a slot of the size of what came.
            prop_assert!(head.spec().unwrap().bytes() >= head.bytes);
            if head.encoding == Encoding::Plain {
                prop_assert_eq!(head.bytes, body.len());
            }
            prop_assert!(head.bytes <= body.len().max(1) * BEST_JPEG);
        }
    }
}

#[test]
fn every_cut_is_noticed() {
    let tensor = picture(PixelFormat::Nv12, 16, 8);
    let mut head = head(&tensor);
    head.description.quantization = None;
    let body = head.bytes;
    let whole = Packet::Frame(Box::new(head)).encode();
    assert!(Packet::decode(&whole, body).is_ok());
    for end in 0..whole.len() {
        assert!(Packet::decode(&whole[..end], body).is_err(), "{end}");
    }
    let longer = [&whole[..], &[0]].concat();
    assert_eq!(Packet::decode(&longer, body), Err(Fault::Long(1)));
    for wrong in [0, body - 1, body + 1] {
        let expected = Fault::Bytes { found: wrong as u64, expected: body as u64 };
        assert_eq!(Packet::decode(&whole, wrong), Err(expected));
    }
    let end = Packet::End { incarnation: 5 };
    assert_eq!(Packet::decode(&end.encode(), 0), Ok(end.clone()));
    assert_eq!(Packet::decode(&end.encode(), 3), Err(Fault::Long(3)));
}

#[test]
fn lies_are_refused_without_work() {
    let tensor = TensorDyn::new(&[8, 8], DType::F32, None, None).unwrap();
    let lie = |change: &dyn Fn(&mut Head), body: usize| {
        let mut head = head(&tensor);
        change(&mut head);
        Packet::decode(&Packet::Frame(Box::new(head)).encode(), body).unwrap_err()
    };
    let huge = 1 << 40;
    assert!(matches!(
        lie(&|head| head.bytes = huge, huge),
        Fault::TooLarge { what: "number of bytes", .. }
    ));
    assert!(matches!(
        lie(&|head| head.sequence = u64::MAX, 256),
        Fault::TooLarge { what: "sequence", .. }
    ));
    assert!(matches!(
        lie(&|head| head.blob = vec![0; LONGEST_BLOB + 1], 256),
        Fault::TooLarge { what: "length of the blob", .. }
    ));
    assert_eq!(lie(&|head| head.description.strides = vec![16, 1], 256), Fault::NotDense);
    assert_eq!(lie(&|head| head.description.offset = 4, 256), Fault::NotDense);
    assert_eq!(lie(&|head| head.description.name = Some("x".into()), 256), Fault::NotDense);
    assert!(matches!(
        lie(&|head| head.description.shape = vec![usize::MAX, 8], 256),
        Fault::Impossible(_)
    ));
    assert!(matches!(
        lie(
            &|head| {
                let scales = Quantization::per_axis(vec![1.0; 3], vec![], 0);
                head.description.quantization = scales.ok();
            },
            256
        ),
        Fault::Impossible(_)
    ));
    assert_eq!(lie(&|head| head.encoding = Encoding::Lz4, 1), Fault::Ratio { body: 1, bytes: 256 });
    let jpeg = lie(&|head| head.encoding = Encoding::Jpeg, 100);
    assert_eq!(jpeg, Fault::NoPicture { format: "no picture", dtype: DType::F32 });
    let mut version = Packet::End { incarnation: 0 }.encode();
    version[4] = 9;
    assert_eq!(Packet::decode(&version, 0), Err(Fault::Version { found: 9 }));
    assert_eq!(Packet::decode(b"GET / HTTP/1.1", 0), Err(Fault::NotOurs { found: 0x2054_4547 }));
}

#[test]
fn pictures_cost_no_more_than_their_files_can_hold() {
    let read = |tensor: &TensorDyn, body: usize| {
        let head = Head { encoding: Encoding::Jpeg, ..head(tensor) };
        Packet::decode(&Packet::Frame(Box::new(head)).encode(), body)
    };
    // Megabytes of picture in a few bytes.
    let large = picture(PixelFormat::Grey, 4096, 4096);
    let bytes = 4096 * 4096;
    assert_eq!(read(&large, 300), Err(Fault::Ratio { body: 300, bytes }));
    assert!(read(&large, bytes as usize / 1000).is_ok());
    // What we never send so is not unpacked either.
    let alpha = picture(PixelFormat::Rgba, 8, 8);
    assert_eq!(read(&alpha, 300), Err(Fault::NoPicture { format: "rgba", dtype: DType::U8 }));
    // The best that there is: one colour.
    let plain = picture(PixelFormat::Grey, 4096, 4096);
    let mut best = head(&plain);
    let file = pack(&plain, &mut best, Compression::Jpeg { quality: 1 }).unwrap();
    assert!(Packet::decode(&Packet::Frame(Box::new(best)).encode(), file.len()).is_ok());
}

#[test]
fn bodies_that_are_something_else_are_refused() {
    let tensor = picture(PixelFormat::Rgb, 16, 16);
    for encoding in [Encoding::Lz4, Encoding::Jpeg] {
        let head = Head { encoding, ..head(&tensor) };
        for body in [&[][..], &[0xff; 100], b"\x89PNG\r\n\x1a\n", &[0; 768]] {
            assert!(unpack(&head, body, &tensor).is_err(), "{encoding:?} {body:?}");
        }
    }
    // A whole file of another size, and one that is cut off.
    let mut other = head(&picture(PixelFormat::Rgb, 24, 16));
    let file =
        pack(&picture(PixelFormat::Rgb, 24, 16), &mut other, Compression::Jpeg { quality: 90 })
            .unwrap();
    let head = Head { encoding: Encoding::Jpeg, ..head(&tensor) };
    assert!(unpack(&head, &file[..], &tensor).is_err());
    assert!(unpack(&other, &file[..20], &picture(PixelFormat::Rgb, 24, 16)).is_err());
    // Too few bytes, and too many of a block.
    let plain = Head { encoding: Encoding::Plain, ..head.clone() };
    assert!(unpack(&plain, &[0; 767][..], &tensor).is_err());
    let block = lz4_flex::block::compress(&[7; 1000]);
    let packed = Head { encoding: Encoding::Lz4, ..head };
    assert!(unpack(&packed, &block[..], &tensor).is_err());
}

#[test]
fn photographs_stay_close() {
    for format in [PixelFormat::Rgb, PixelFormat::Nv12, PixelFormat::Grey, PixelFormat::PlanarRgb] {
        let (here, there) = (picture(format, 64, 48), picture(format, 64, 48));
        here.fill_with_slope();
        let mut head = head(&here);
        let body = pack(&here, &mut head, Compression::Jpeg { quality: 90 }).unwrap();
        assert_eq!(head.encoding, Encoding::Jpeg, "{format}");
        assert!(body.len() < head.bytes / 2, "{format}: {} of {}", body.len(), head.bytes);
        unpack(&head, &body[..], &there).unwrap();
        let far = flat(&here).iter().zip(flat(&there)).map(|(a, b)| a.abs_diff(b)).max();
        assert!(far.unwrap() <= 24, "{format}: {far:?}");
    }
    // Alpha would be lost, other types rounded, and nothing writes YUYV: they travel whole.
    let whole = [
        (PixelFormat::Rgba, DType::U8),
        (PixelFormat::Rgb, DType::F32),
        (PixelFormat::Yuyv, DType::U8),
    ];
    for (format, dtype) in whole {
        let tensor = TensorDyn::image(8, 8, format, dtype, None, None).unwrap();
        let mut head = head(&tensor);
        let body = pack(&tensor, &mut head, Compression::Jpeg { quality: 90 }).unwrap();
        assert_eq!((head.encoding, body.len()), (Encoding::Plain, head.bytes));
    }
}

trait Slope {
    fn fill_with_slope(&self);
}

impl Slope for TensorDyn {
    /// Brightness that grows to the right, and no colour.
    fn fill_with_slope(&self) {
        let grey = picture(PixelFormat::Grey, 64, 48);
        grey.map().unwrap().as_mut_slice().iter_mut().enumerate().for_each(|(at, byte)| {
            *byte = 40 + (at % 64) as u8 * 2;
        });
        let into = self.clone();
        let processor = tenure_image::ImageProcessor::new().unwrap();
        processor.convert(&grey, &into, &tenure_image::Convert::new()).unwrap();
    }
}
