//! Images of any format, size, stride and region: planes lie where they should, do not meet, and
//! every sample of a region is the sample of the whole image that it is meant to be.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use tenure::layout::{DType, ImageLayout, PixelFormat, Region};

#[derive(Debug, Arbitrary)]
struct Input {
    format: u8,
    dtype: u8,
    width: u8,
    height: u8,
    /// Added to the smallest stride.
    padding: Option<u8>,
    shift: i16,
    regions: Vec<[u8; 4]>,
    /// The same with numbers that may be far too large.
    wild: Option<Wild>,
}

#[derive(Debug, Arbitrary)]
struct Wild {
    width: usize,
    height: usize,
    stride: Option<usize>,
    places: Vec<(usize, Option<usize>)>,
    shift: isize,
    region: [usize; 4],
    shape: Vec<usize>,
}

fn region([x, y, width, height]: [usize; 4]) -> Region {
    Region::new(x, y, width, height)
}

/// What holds for every image layout that exists.
fn sound(image: &ImageLayout) {
    for (index, plane) in image.planes().iter().enumerate() {
        assert!(plane.row_bytes <= plane.row_stride && plane.rows > 0);
        assert!(plane.span().end <= image.span().end && plane.offset >= image.span().start);
        let layout = image.plane_layout(index).expect("a plane that exists");
        assert_eq!(layout.span(), plane.span());
        assert!(!layout.may_self_overlap());
        assert!(layout.check_aligned().is_ok());
    }
    assert!(image.plane_layout(image.planes().len()).is_err());
    assert!(image.allocation_bytes() >= image.span().end);
    let _ = (image.packed_bytes(), image.is_packed(), image.tensor_layout());
}

/// The byte of a sample, in a plane of an image.
fn sample(image: &ImageLayout, plane: usize, index: &[usize]) -> usize {
    let layout = image.plane_layout(plane).expect("a plane that exists");
    layout.element_offset(index).expect("a sample that exists")
}

fn small(input: &Input, format: PixelFormat, dtype: DType) {
    let (width, height) = (usize::from(input.width), usize::from(input.height));
    let Ok(packed) = ImageLayout::new(width, height, format, dtype, None) else { return };
    let stride = input.padding.map(|padding| packed.row_stride() + usize::from(padding));
    let Ok(image) = ImageLayout::new(width, height, format, dtype, stride) else { return };
    sound(&image);
    assert!(image.planes_follow());
    let mut end = 0;
    for plane in image.planes() {
        assert!(plane.offset >= end, "planes follow each other");
        end = plane.span().end;
    }
    let whole = image.tensor_layout().expect("a small image");
    assert!(whole.span().end <= image.allocation_bytes());
    assert!(whole.check_aligned().is_ok() && whole.is_row_major());
    if stride.is_none() {
        let again = ImageLayout::from_shape(format, dtype, whole.shape(), None);
        // Odd sizes of subsampled formats are rounded up in the shape.
        assert!(again.is_ok_and(|again| again.allocation_bytes() == image.allocation_bytes()));
    }
    if let Ok(moved) = image.shifted(input.shift.into()) {
        sound(&moved);
        assert_eq!(moved.shifted(-isize::from(input.shift)).as_ref(), Ok(&image));
    }
    for numbers in input.regions.iter().take(4) {
        let region = region(numbers.map(usize::from));
        let Ok(view) = image.view(region) else { continue };
        sound(&view);
        assert_eq!((view.width(), view.height()), (region.width, region.height));
        for (index, spec) in format.planes().iter().enumerate() {
            let (inner, outer) = (view.planes()[index].span(), image.planes()[index].span());
            assert!(outer.start <= inner.start && inner.end <= outer.end);
            let (x, y) = (region.x / spec.horizontal, region.y / spec.vertical);
            let shape = view.plane_layout(index).expect("a plane").shape().to_vec();
            let last: Vec<usize> = shape.iter().map(|len| len - 1).collect();
            for at in [vec![0; shape.len()], last] {
                let mut there = at.clone();
                there[0] += y;
                there[1] += x;
                assert_eq!(sample(&view, index, &at), sample(&image, index, &there));
            }
        }
    }
}

fn wild(wild: &Wild, format: PixelFormat, dtype: DType) {
    let Wild { width, height, stride, places, shift, shape, .. } = wild;
    let made = [
        ImageLayout::new(*width, *height, format, dtype, *stride),
        ImageLayout::from_planes(format, dtype, *width, *height, places),
        ImageLayout::from_shape(format, dtype, shape, *stride),
    ];
    for image in made.into_iter().flatten() {
        sound(&image);
        if let Ok(moved) = image.shifted(*shift) {
            sound(&moved);
        }
        if let Ok(view) = image.view(region(wild.region)) {
            sound(&view);
            assert!(view.span().end <= image.span().end);
        }
    }
}

fuzz_target!(|input: Input| {
    let (formats, dtypes): (Vec<_>, Vec<_>) =
        (PixelFormat::all().collect(), DType::all().collect());
    let format = formats[usize::from(input.format) % formats.len()];
    let dtype = dtypes[usize::from(input.dtype) % dtypes.len()];
    small(&input, format, dtype);
    if let Some(numbers) = &input.wild {
        wild(numbers, format, dtype);
    }
});
