//! Image layouts against a slow model: the set of bytes of every sample.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

fn sample_bytes(image: &ImageLayout) -> Vec<usize> {
    let mut bytes = vec![];
    for plane in image.planes() {
        for row in 0..plane.rows {
            let start = plane.offset + row * plane.row_stride;
            bytes.extend(start..start + plane.row_bytes);
        }
    }
    bytes
}

#[test]
fn known_sizes() {
    let bytes = |format, dtype, width, height| {
        ImageLayout::new(width, height, format, dtype, None).unwrap().packed_bytes()
    };
    assert_eq!(bytes(PixelFormat::Rgb, DType::U8, 640, 480), 640 * 480 * 3);
    assert_eq!(bytes(PixelFormat::Nv12, DType::U8, 1920, 1080), 1920 * 1080 * 3 / 2);
    assert_eq!(bytes(PixelFormat::Nv12, DType::U8, 3, 3), 9 + 8);
    assert_eq!(bytes(PixelFormat::I420, DType::U8, 3, 3), 9 + 4 + 4);
    assert_eq!(bytes(PixelFormat::Nv24, DType::U8, 3, 3), 27);
    assert_eq!(bytes(PixelFormat::Yuyv, DType::U8, 3, 2), 16);
    assert_eq!(bytes(PixelFormat::P010, DType::U16, 4, 4), 48);
    assert_eq!(bytes(PixelFormat::PlanarRgb, DType::F32, 5, 7), 5 * 7 * 12);
}

#[test]
fn strides_of_chroma_follow_luma() {
    let strides = |format| -> Vec<usize> {
        let image = ImageLayout::new(10, 4, format, DType::U8, Some(64)).unwrap();
        image.planes().iter().map(|plane| plane.row_stride).collect()
    };
    assert_eq!(strides(PixelFormat::Nv12), [64, 64]);
    assert_eq!(strides(PixelFormat::I420), [64, 32, 32]);
    assert_eq!(strides(PixelFormat::Nv24), [64, 128]);
    assert_eq!(strides(PixelFormat::PlanarRgb), [64, 64, 64]);
}

#[test]
fn bad_geometry_is_refused() {
    let new = ImageLayout::new;
    assert!(matches!(new(0, 4, PixelFormat::Rgb, DType::U8, None), Err(Error::EmptyImage { .. })));
    assert!(matches!(
        new(10, 4, PixelFormat::Rgb, DType::U8, Some(29)),
        Err(Error::StrideTooShort { stride: 29, minimum: 30 })
    ));
    assert!(matches!(
        new(10, 4, PixelFormat::I420, DType::U8, Some(33)),
        Err(Error::StrideNotMultiple { multiple: 2, .. })
    ));
    assert!(matches!(
        new(10, 4, PixelFormat::P010, DType::U16, Some(33)),
        Err(Error::StrideNotMultiple { multiple: 2, .. })
    ));
    assert!(new(usize::MAX / 2, 4, PixelFormat::Rgba, DType::U8, None).is_err());
    assert!(new(4, usize::MAX / 8, PixelFormat::Rgba, DType::U8, None).is_err());
    assert!(new(4, 4, PixelFormat::Nv12, DType::U8, Some(usize::MAX / 2)).is_err());
    assert!(new(4, 4, PixelFormat::Nv12, DType::F32, None).is_err());
    let one = [(0, None)];
    assert!(ImageLayout::from_planes(PixelFormat::Nv12, DType::U8, 4, 4, &one).is_err());
    let far = [(0, None), (usize::MAX - 3, None)];
    assert!(ImageLayout::from_planes(PixelFormat::Nv12, DType::U8, 4, 4, &far).is_err());
}

#[test]
fn regions_keep_chroma_whole() {
    let frame = ImageLayout::new(7, 5, PixelFormat::Nv12, DType::U8, Some(16)).unwrap();
    let view = frame.view(Region::new(2, 2, 4, 2)).unwrap();
    assert_eq!(view.planes()[0].offset, 2 * 16 + 2);
    assert_eq!(view.planes()[1].offset, 5 * 16 + 16 + 2);
    assert!(!view.planes_follow());
    assert!(matches!(frame.view(Region::new(1, 0, 2, 2)), Err(Error::RegionCutsChroma { .. })));
    assert!(matches!(frame.view(Region::new(0, 0, 3, 2)), Err(Error::RegionCutsChroma { .. })));
    // The odd last column and row have a chroma sample of their own.
    assert!(frame.view(Region::new(4, 4, 3, 1)).is_ok());
    assert!(matches!(frame.view(Region::new(4, 4, 4, 1)), Err(Error::RegionOutOfBounds { .. })));
}

#[test]
fn words_of_luma_and_chroma_have_strides_of_their_own() {
    let new = |format, stride| ImageLayout::new(6, 4, format, DType::U16, stride);
    let places = |image: &ImageLayout| -> Vec<_> {
        let place = |plane: &PlaneLayout| (plane.offset, plane.row_stride, plane.rows);
        image.planes().iter().map(place).collect()
    };
    for (format, expected) in [
        (PixelFormat::Nv12, vec![(0, 12, 4), (48, 12, 2)]),
        (PixelFormat::Nv21, vec![(0, 12, 4), (48, 12, 2)]),
        (PixelFormat::Nv16, vec![(0, 12, 4), (48, 12, 4)]),
        (PixelFormat::Nv24, vec![(0, 12, 4), (48, 24, 4)]),
        // Half of a stride has to be whole words.
        (PixelFormat::I420, vec![(0, 12, 4), (48, 6, 2), (60, 6, 2)]),
    ] {
        let image = new(format, None).unwrap();
        assert_eq!(places(&image), expected, "{format}");
        let bytes = ImageLayout::new(6, 4, format, DType::U8, None).unwrap();
        assert_eq!(image.packed_bytes(), 2 * bytes.packed_bytes());
        assert!(new(format, Some(10)).is_err() && new(format, Some(13)).is_err(), "{format}");
        assert_eq!(new(format, Some(64)).unwrap().row_stride(), 64);
    }
    assert!(new(PixelFormat::I420, Some(14)).is_err(), "7 bytes are no words");
    let error = new(PixelFormat::Yuyv, None).unwrap_err().to_string();
    assert_eq!(error, "yuyv images have u8 elements, not u16");
    let error = ImageLayout::new(6, 4, PixelFormat::Nv12, DType::F32, None).unwrap_err();
    assert_eq!(error.to_string(), "nv12 images have u8 or u16 elements, not f32");
}

fn formats() -> impl Strategy<Value = (PixelFormat, DType)> {
    let all: Vec<_> = PixelFormat::all()
        .flat_map(|format| [DType::U8, DType::U16, DType::F32].map(|dtype| (format, dtype)))
        .filter(|(format, dtype)| format.accepts(*dtype))
        .collect();
    prop::sample::select(all)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 512 }))]

    #[test]
    fn samples_never_share_bytes((format, dtype) in formats(), width in 1usize..9, height in 1usize..9, extra in 0usize..9) {
        let minimum = ImageLayout::new(width, height, format, dtype, None).unwrap();
        let stride = minimum.row_stride() + extra;
        if let Ok(image) = ImageLayout::new(width, height, format, dtype, Some(stride)) {
            let bytes = sample_bytes(&image);
            let unique: HashSet<_> = bytes.iter().collect();
            prop_assert_eq!(unique.len(), bytes.len());
            prop_assert_eq!(bytes.len(), image.packed_bytes());
            prop_assert_eq!(image.span(), 0..bytes.iter().max().unwrap() + 1);
            prop_assert!(image.allocation_bytes() >= image.span().end);
            prop_assert!(image.planes_follow());
            let layout = image.tensor_layout().unwrap();
            prop_assert!(layout.span().end <= image.allocation_bytes());
        }
    }

    #[test]
    fn shape_and_size_agree((format, dtype) in formats(), width in 1usize..9, height in 1usize..9) {
        let image = ImageLayout::new(width, height, format, dtype, None).unwrap();
        let layout = image.tensor_layout().unwrap();
        let again = ImageLayout::from_shape(format, dtype, layout.shape(), None).unwrap();
        // A shape of a subsampled format only knows the even width.
        let shown = if format.subsampling().0 == 2 { width.next_multiple_of(2) } else { width };
        prop_assert_eq!((again.width(), again.height()), (shown, height));
    }

    #[test]
    fn region_views_stay_inside((format, dtype) in formats(), width in 1usize..12, height in 1usize..12,
        x in 0usize..12, y in 0usize..12, w in 0usize..12, h in 0usize..12) {
        let image = ImageLayout::new(width, height, format, dtype, None).unwrap();
        if let Ok(view) = image.view(Region::new(x, y, w, h)) {
            let all: HashSet<_> = sample_bytes(&image).into_iter().collect();
            prop_assert!(sample_bytes(&view).iter().all(|byte| all.contains(byte)));
            prop_assert_eq!((view.width(), view.height()), (w, h));
        } else {
            let (across, down) = format.subsampling();
            let whole = x % across == 0 && y % down == 0 && w % across == 0 && h % down == 0;
            prop_assert!(w == 0 || h == 0 || x + w > width || y + h > height || !whole);
        }
    }
}

#[test]
fn planes_on_top_of_each_other_are_counted_together() {
    // Each plane fits the address space; the three of them do not.
    let side = 1usize << (usize::BITS / 2 - 1);
    let places = [(0, Some(side)), (0, Some(side)), (0, Some(side))];
    let made = |height: usize| {
        let format = PixelFormat::PlanarRgb;
        ImageLayout::from_planes(format, DType::U8, side, height, &places)
    };
    assert!(matches!(made(side), Err(Error::ImageTooLarge { .. })));
    assert!(made(side / 2).is_ok());
    for (width, height) in [(side, side), (usize::MAX, 1), (1, usize::MAX), (side, side / 2)] {
        for format in PixelFormat::all() {
            for dtype in DType::all() {
                if let Ok(image) = ImageLayout::new(width, height, format, dtype, None) {
                    let bytes = |plane: &PlaneLayout| plane.row_bytes as u128 * plane.rows as u128;
                    let all: u128 = image.planes().iter().map(bytes).sum();
                    assert_eq!(image.packed_bytes() as u128, all);
                    assert!(isize::try_from(all).is_ok());
                }
            }
        }
    }
}
