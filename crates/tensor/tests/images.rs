//! Every pixel format, at sizes that chroma does not divide.

use tenure_layout::format::Arrangement;
use tenure_tensor::{
    Colour, DType, DynTensor, Error, PixelFormat, Quantization, Region, Tensor, TensorDyn,
    TensorMemory,
};

const MEM: Option<TensorMemory> = Some(TensorMemory::Mem);

fn strided(width: usize, height: usize, format: PixelFormat, row_stride: usize) -> Tensor<u8> {
    let image = Tensor::<u8>::image_builder(width, height, format).row_stride(row_stride);
    image.memory(MEM).build().unwrap()
}

/// Every format; where a program runs a thousand times slower, one of each arrangement.
fn formats() -> impl Iterator<Item = PixelFormat> {
    let few = [PixelFormat::Rgb, PixelFormat::I420, PixelFormat::P010, PixelFormat::PlanarRgb];
    PixelFormat::all().filter(move |format| !cfg!(miri) || few.contains(format))
}

fn dtype_of(format: PixelFormat) -> DType {
    if format == PixelFormat::P010 { DType::U16 } else { DType::U8 }
}

fn image(format: PixelFormat, width: usize, height: usize, stride: Option<usize>) -> TensorDyn {
    TensorDyn::image_builder(width, height, format, dtype_of(format))
        .row_stride(stride)
        .memory(MEM)
        .build()
        .unwrap()
}

fn flat(tensor: &TensorDyn) -> Vec<u8> {
    let mut flat = vec![0; tensor.flat_bytes()];
    tensor.copy_to_flat(&mut flat).unwrap();
    flat
}

/// Samples of every plane, row by row, from the definition of the format.
fn samples(format: PixelFormat, width: usize, height: usize) -> Vec<(usize, usize)> {
    let (half_width, half_height) = (width.div_ceil(2), height.div_ceil(2));
    let full = (width, height);
    match format {
        PixelFormat::Rgb | PixelFormat::Bgr => vec![(3 * width, height)],
        PixelFormat::Rgba | PixelFormat::Bgra => vec![(4 * width, height)],
        PixelFormat::Grey => vec![full],
        PixelFormat::Yuyv | PixelFormat::Uyvy => vec![(4 * half_width, height)],
        PixelFormat::Nv12 | PixelFormat::Nv21 | PixelFormat::P010 => {
            vec![full, (2 * half_width, half_height)]
        }
        PixelFormat::Nv16 => vec![full, (2 * half_width, height)],
        PixelFormat::Nv24 => vec![full, (2 * width, height)],
        PixelFormat::I420 => vec![full, (half_width, half_height), (half_width, half_height)],
        PixelFormat::PlanarRgb => vec![full; 3],
        PixelFormat::PlanarRgba => vec![full; 4],
    }
}

/// The shape of the tensor, from the words of the documentation.
fn shape(format: PixelFormat, width: usize, height: usize) -> Vec<usize> {
    let even = width.next_multiple_of(2);
    match format {
        PixelFormat::Yuyv | PixelFormat::Uyvy => vec![height, even, 2],
        PixelFormat::Nv16 => vec![2 * height, even],
        PixelFormat::Nv24 => vec![3 * height, width],
        _ => match format.arrangement() {
            Arrangement::Packed => vec![height, width, format.channels()],
            Arrangement::Planar => vec![format.channels(), height, width],
            Arrangement::LumaChroma => vec![height + height.div_ceil(2), even],
        },
    }
}

#[test]
fn there_are_fifteen_formats() {
    assert_eq!(PixelFormat::all().count(), 15);
}

#[test]
fn planes_have_the_samples_of_their_format() {
    for format in formats() {
        let sizes = [(3, 3), (1, 1), (1, 2), (2, 1), (4, 5), (5, 4), (7, 2), (8, 6)];
        for &(width, height) in &sizes[..if cfg!(miri) { 1 } else { 8 }] {
            let image = image(format, width, height, None);
            let size = dtype_of(format).size().unwrap();
            assert_eq!(image.shape(), shape(format, width, height), "{format} {width}x{height}");
            assert_eq!((image.width(), image.height()), (Some(width), Some(height)));
            assert_eq!((image.format(), image.row_stride()), (Some(format), None));
            let planes = samples(format, width, height);
            assert_eq!(image.plane_count(), planes.len());
            // Every plane another value: the planes neither overlap nor leave a gap.
            let mut expected = vec![];
            for (n, (across, rows)) in planes.into_iter().enumerate() {
                let plane = image.plane(n).unwrap();
                assert_eq!((plane.len(), plane.shape()[0]), (across * rows, rows), "{format} {n}");
                let mut map = plane.map_rows().unwrap();
                assert_eq!(map.len(), rows);
                for row in map.rows_mut() {
                    row.fill(n as u8 + 1);
                }
                expected.extend(vec![n as u8 + 1; across * rows * size]);
            }
            assert_eq!(flat(&image), expected, "{format} {width}x{height}");
            assert!(image.plane(image.plane_count()).is_err());
        }
    }
}

#[test]
fn formats_are_declared() {
    for format in formats() {
        let (width, height) = (6, 4);
        let mut t =
            TensorDyn::new(&shape(format, width, height), dtype_of(format), MEM, None).unwrap();
        assert_eq!((t.format(), t.width(), t.effective_row_stride()), (None, None, None));
        t.set_format(format).unwrap();
        let made = image(format, width, height, None);
        assert_eq!(t.image_layout(), made.image_layout(), "{format}");
        assert_eq!((t.shape(), t.strides()), (made.shape(), made.strides()));
        // A shape that no such image has, and the words for one that would do.
        let wrong = TensorDyn::new(&[5, 7, 11], dtype_of(format), MEM, None).unwrap();
        let words = wrong.with_format(format).unwrap_err().to_string();
        let expected = format.shape_words();
        assert!(words.contains("[5, 7, 11]") || words.contains(expected), "{words}");
    }
    let t = TensorDyn::new(&[4, 6, 3], DType::Bool, MEM, None).unwrap();
    assert!(t.with_format(PixelFormat::Rgb).is_err());
    let t = TensorDyn::new(&[6, 6], DType::F32, MEM, None).unwrap();
    assert!(t.with_format(PixelFormat::Nv12).unwrap_err().to_string().contains("u8"));
}

#[test]
fn rows_are_put_apart() {
    for format in formats() {
        let mut image = image(format, 6, 4, Some(64));
        assert_eq!((image.row_stride(), image.effective_row_stride()), (Some(64), Some(64)));
        let values: Vec<u8> = (0..image.flat_bytes()).map(|n| n as u8).collect();
        let packed = TensorDyn::image(6, 4, format, dtype_of(format), MEM, None).unwrap();
        packed.map().unwrap().as_mut_slice().copy_from_slice(&values);
        image.copy_from(&packed).unwrap();
        assert_eq!(flat(&image), values, "{format}");
        // Closer again, in the same memory.
        image.set_row_stride(48).unwrap();
        assert_eq!((image.row_stride(), image.effective_row_stride()), (Some(48), Some(48)));
        image.copy_from(&packed).unwrap();
        assert_eq!(flat(&image), values, "{format}");
        let before = image.image_layout().cloned();
        assert!(matches!(image.set_row_stride(1), Err(Error::Layout(_))));
        assert!(image.set_row_stride(1 << 20).is_err(), "beyond the memory");
        assert_eq!(image.image_layout().cloned(), before, "unchanged");
    }
    let t = Tensor::<u8>::new(&[4, 4], MEM, None).unwrap();
    let words = t.with_row_stride(8).unwrap_err().to_string();
    assert!(words.contains("set_format"), "{words}");
}

#[test]
fn strides_must_hold_whole_elements() {
    let p010 = TensorDyn::image_builder(6, 4, PixelFormat::P010, DType::U16)
        .row_stride(13)
        .memory(MEM)
        .build();
    assert!(p010.unwrap_err().to_string().contains("multiple of 2"));
    let i420 = TensorDyn::image_builder(6, 4, PixelFormat::I420, DType::U8)
        .row_stride(13)
        .memory(MEM)
        .build();
    assert!(i420.unwrap_err().to_string().contains("multiple of 2"));
    let rgb =
        Tensor::<f32>::image_builder(5, 5, PixelFormat::Rgb).row_stride(61).memory(MEM).build();
    assert!(rgb.unwrap_err().to_string().contains("multiple of 4"));
}

#[test]
fn images_are_moved_in_their_buffer() {
    let image = Tensor::<u16>::image(4, 4, PixelFormat::P010, MEM, None).unwrap();
    assert_eq!((image.plane_offset(), image.capacity_bytes()), (None, 48));
    let mut image = Tensor::<u16>::new(&[1000], MEM, None).unwrap();
    image.configure_image(4, 4, PixelFormat::P010, None).unwrap();
    let mut image = image.with_plane_offset(100).unwrap();
    assert_eq!(image.plane_offset(), Some(100));
    assert_eq!(image.layout().span(), 100..148);
    image.fill(7).unwrap();
    image.set_plane_offset(200).unwrap();
    assert_eq!(image.plane_offset(), Some(200));
    assert!(image.map_read().unwrap().as_slice().iter().all(|sample| *sample == 0));
    // The stride changes, the place does not.
    image.set_row_stride(16).unwrap();
    assert_eq!((image.plane_offset(), image.layout().span().start), (Some(200), 200));
    image.set_plane_offset(0).unwrap();
    assert_eq!(image.layout().span().start, 0);
    let before = image.layout().clone();
    assert!(image.set_plane_offset(1).unwrap_err().to_string().contains("multiple of 2"));
    assert!(image.set_plane_offset(1999).is_err() && image.set_plane_offset(1990).is_err());
    assert!(image.set_plane_offset(usize::MAX - 1).is_err());
    assert_eq!((image.layout(), image.plane_offset()), (&before, None), "unchanged");
    // Any tensor has a place.
    let small = Tensor::<u16>::new(&[1000], MEM, None).unwrap().slice(0, 10..20).unwrap();
    assert_eq!(small.plane_offset(), Some(20));
    assert!(small.clone().with_plane_offset(22).is_err(), "a view has no more than its bytes");
    let before = small.clone().with_plane_offset(0).unwrap_err().to_string();
    assert!(before.contains("must be at least 20, where its bytes begin, got 0"), "{before}");
    assert_eq!(small.with_plane_offset(20).unwrap().plane_offset(), Some(20));
}

#[test]
fn tight_rows_have_no_stride_and_the_first_byte_no_offset() {
    let rgb = |stride| strided(10, 4, PixelFormat::Rgb, stride);
    let (mut tight, padded) = (rgb(30), rgb(32));
    assert_eq!((tight.row_stride(), padded.row_stride()), (None, Some(32)));
    assert_eq!(padded.with_row_stride(30).unwrap().row_stride(), None);
    tight.set_row_stride(30).unwrap();
    assert_eq!((tight.row_stride(), tight.effective_row_stride()), (None, Some(30)));
    // Odd pictures: chroma makes a row of luma longer than its samples.
    let odd = strided(11, 5, PixelFormat::Nv12, 12);
    assert_eq!((odd.row_stride(), odd.effective_row_stride()), (None, Some(12)));
    // From buffers, with and without a stride that is said.
    for (stride, expected) in [(None, None), (Some(30), None), (Some(31), Some(31))] {
        let buffer = Tensor::<u8>::new(&[200], MEM, None).unwrap().buffer().clone();
        let places = [(8, stride)];
        let frame =
            TensorDyn::from_plane_buffers(&[buffer], &places, 10, 4, PixelFormat::Rgb, DType::U8);
        let frame = frame.unwrap();
        assert_eq!((frame.row_stride(), frame.plane_offset()), (expected, Some(8)));
    }
    let strided = Tensor::<u8>::new(&[4, 16, 3], MEM, None).unwrap();
    let cut = strided.slice(1, 0..10).unwrap().with_format(PixelFormat::Rgb).unwrap();
    assert_eq!(cut.row_stride(), Some(48));
}

#[test]
fn views_say_their_own_stride_and_offset() {
    let rgb = strided(10, 8, PixelFormat::Rgb, 32);
    let tile = rgb.view(Region::new(2, 3, 4, 4)).unwrap();
    assert_eq!((tile.row_stride(), tile.plane_offset()), (Some(32), Some(3 * 32 + 6)));
    let inner = tile.view(Region::new(1, 1, 2, 2)).unwrap();
    assert_eq!((inner.row_stride(), inner.plane_offset()), (Some(32), Some(4 * 32 + 9)));
    assert_eq!(rgb.view(Region::new(0, 0, 10, 8)).unwrap().plane_offset(), None);
    let grey = Tensor::<u8>::image(10, 8, PixelFormat::Grey, MEM, None).unwrap();
    let rows = grey.view(Region::new(0, 2, 10, 3)).unwrap();
    assert_eq!((rows.row_stride(), rows.plane_offset()), (None, Some(20)));
    let mut batch = Tensor::<u8>::new(&[3, 4, 4, 3], MEM, None).unwrap();
    batch.set_format(PixelFormat::Rgb).unwrap();
    assert_eq!((batch.batch(0).unwrap().plane_offset(), batch.plane_offset()), (None, None));
    assert_eq!(batch.batch(2).unwrap().plane_offset(), Some(96));
    let chroma = Tensor::<u8>::image(8, 8, PixelFormat::Nv12, MEM, None).unwrap().plane(1).unwrap();
    assert_eq!(chroma.plane_offset(), Some(64));
    // What a view was cut to stays all it has.
    let mut tile = tile;
    tile.configure_image(2, 2, PixelFormat::Rgb, None).unwrap();
    assert_eq!((tile.plane_offset(), tile.row_stride()), (Some(3 * 32 + 6), None));
}

#[test]
fn a_new_format_drops_the_stride_of_the_old_one() {
    let rgba = || strided(10, 4, PixelFormat::Rgba, 64);
    // The same format again, and one that the shape cannot have, change nothing.
    let mut frame = rgba().with_format(PixelFormat::Rgba).unwrap();
    assert_eq!(frame.row_stride(), Some(64));
    assert!(frame.set_format(PixelFormat::Rgb).is_err());
    assert_eq!((frame.format(), frame.row_stride()), (Some(PixelFormat::Rgba), Some(64)));
    frame.set_format(PixelFormat::Bgra).unwrap();
    assert_eq!((frame.row_stride(), frame.effective_row_stride()), (None, Some(40)));
    assert_eq!((frame.shape(), frame.strides()), (&[4, 10, 4][..], &[40, 4, 1][..]));
    // The first byte is where it was, and the stride can be said again.
    let mut moved = Tensor::<u8>::new(&[1000], MEM, None).unwrap();
    moved.configure_image(10, 4, PixelFormat::Nv12, Some(16)).unwrap();
    moved.set_plane_offset(100).unwrap();
    moved.set_format(PixelFormat::Nv21).unwrap();
    assert_eq!((moved.row_stride(), moved.plane_offset()), (None, Some(100)));
    assert_eq!(moved.with_row_stride(16).unwrap().row_stride(), Some(16));
    // A view's stride is that of the memory it looks at.
    let tile = rgba().view(Region::new(2, 1, 4, 2)).unwrap();
    let tile = tile.with_format(PixelFormat::Bgra).unwrap();
    assert_eq!((tile.row_stride(), tile.plane_offset()), (Some(64), Some(72)));
}

#[test]
fn one_allocation_serves_frames_of_changing_size() {
    let side = if cfg!(miri) { 32 } else { 64 };
    let mut frame = Tensor::<u8>::image(side, side, PixelFormat::Rgba, MEM, None).unwrap();
    let id = frame.buffer_identity().id();
    for format in formats().filter(|format| *format != PixelFormat::P010) {
        for (width, height, stride) in [(side, side, None), (5, 3, None), (10, 6, Some(64))] {
            frame.configure_image(width, height, format, stride).unwrap();
            assert_eq!(frame.shape(), image(format, width, height, stride).shape());
            assert_eq!(frame.row_stride(), stride);
            frame.fill(3).unwrap();
        }
    }
    assert_eq!(frame.buffer_identity().id(), id);
    let before = (frame.shape().to_vec(), frame.format(), frame.row_stride());
    assert!(frame.configure_image(side + 1, side, PixelFormat::Rgba, None).is_err());
    assert!(frame.configure_image(side, side, PixelFormat::Rgba, Some(4 * side + 1)).is_err());
    assert!(frame.configure_image(0, side, PixelFormat::Rgba, None).is_err());
    assert!(frame.configure_image(8, 8, PixelFormat::P010, None).is_err(), "not of u8");
    assert_eq!((frame.shape().to_vec(), frame.format(), frame.row_stride()), before);
}

#[test]
fn colour_and_quantisation_travel() {
    let per_tensor = Quantization::per_tensor(0.5, 3).unwrap();
    let frame = Tensor::<u8>::image(8, 8, PixelFormat::Rgb, MEM, None).unwrap();
    let frame = frame.with_colour(Colour::HD).with_quantization(per_tensor.clone()).unwrap();
    let views = [
        frame.view(Region::new(2, 2, 4, 4)).unwrap(),
        frame.slice(0, 1..3).unwrap(),
        frame.slice_step(1, 0..8, 2).unwrap(),
        frame.index(2, 0).unwrap(),
        frame.permute(&[2, 0, 1]).unwrap(),
        frame.reshape(&[64, 3]).unwrap(),
        frame.unsqueeze(0).unwrap(),
        frame.unsqueeze(0).unwrap().squeeze(0).unwrap(),
        frame.slice(2, 0..1).unwrap().broadcast_to(&[8, 8, 3]).unwrap(),
        frame.clone(),
        frame.to(MEM).unwrap(),
        frame.view(Region::new(2, 2, 4, 4)).unwrap().to(MEM).unwrap(),
    ];
    for view in views {
        assert_eq!(view.colour(), Some(Colour::HD), "{view:?}");
        assert_eq!(view.quantization(), Some(&per_tensor), "{view:?}");
    }
    // A description belongs to a handle: changing one leaves the others alone.
    let mut other = frame.clone();
    other.set_colour(None);
    other.set_quantization(None).unwrap();
    assert_eq!((other.colour(), frame.colour()), (None, Some(Colour::HD)));
    assert!(frame.quantization().is_some());
    let floats = Tensor::<f32>::new(&[4], MEM, None).unwrap();
    assert!(matches!(floats.with_quantization(per_tensor), Err(Error::NotQuantizable { .. })));
}

#[test]
fn scales_by_channel_travel() {
    let by_channel =
        |axis| Quantization::per_axis(vec![1.0, 2.0, 3.0], vec![4, 5, 6], axis).unwrap();
    let packed = Tensor::<u8>::image(8, 6, PixelFormat::Rgb, MEM, None).unwrap();
    let packed = packed.with_quantization(by_channel(2)).unwrap().with_colour(Colour::JPEG);
    let region = Region::new(2, 2, 4, 3);
    assert_eq!(packed.view(region).unwrap().quantization(), Some(&by_channel(2)));
    assert_eq!(packed.plane(0).unwrap().quantization(), Some(&by_channel(2)));
    let planar = Tensor::<u8>::image(8, 6, PixelFormat::PlanarRgb, MEM, None).unwrap();
    let planar = planar.with_quantization(by_channel(0)).unwrap().with_colour(Colour::JPEG);
    let view = planar.view(region).unwrap();
    assert_eq!((view.shape(), view.strides()), (&[3, 3, 4][..], &[48, 8, 1][..]));
    assert_eq!(view.quantization(), Some(&by_channel(0)));
    for plane in 0..3 {
        let one = planar.plane(plane).unwrap();
        let quantization = one.quantization().unwrap();
        assert_eq!((quantization.scales(), quantization.axis()), (&[plane as f32 + 1.0][..], None));
        assert_eq!(one.colour(), Some(Colour::JPEG));
    }
    // By row and by column, as a region cuts them.
    let scales: Vec<f32> = (1..=8).map(|n| n as f32).collect();
    let grey = Tensor::<u8>::image(8, 6, PixelFormat::Grey, MEM, None).unwrap();
    let by_row = Quantization::per_axis(scales[..6].to_vec(), vec![], 0).unwrap();
    let view = grey.clone().with_quantization(by_row).unwrap().view(region).unwrap();
    assert_eq!(view.quantization().unwrap().scales(), &scales[2..5]);
    let by_column = Quantization::per_axis(scales.clone(), vec![], 1).unwrap();
    let view = grey.with_quantization(by_column).unwrap().view(region).unwrap();
    assert_eq!(view.quantization().unwrap().scales(), &scales[2..6]);
    // One scale for all belongs to every plane of every format.
    for format in formats().filter(|format| *format != PixelFormat::P010) {
        let all = Quantization::per_tensor(0.5, 3).unwrap();
        let image = Tensor::<u8>::image(8, 6, format, MEM, None).unwrap();
        let image = image.with_quantization(all.clone()).unwrap().with_colour(Colour::HD);
        for plane in 0..image.plane_count() {
            let plane = image.plane(plane).unwrap();
            assert_eq!((plane.quantization(), plane.colour()), (Some(&all), Some(Colour::HD)));
        }
    }
}

#[test]
fn batches_are_images_one_by_one() {
    let batch = Tensor::<u8>::new(&[3, 9, 4], MEM, None).unwrap();
    let batch = batch.with_format(PixelFormat::Nv12).unwrap().with_colour(Colour::JPEG);
    assert_eq!((batch.width(), batch.height()), (Some(4), Some(6)));
    for n in 0..3 {
        let frame = batch.batch(n).unwrap();
        assert_eq!((frame.shape(), frame.format()), (&[9, 4][..], Some(PixelFormat::Nv12)));
        assert_eq!((frame.colour(), frame.buffer().start()), (Some(Colour::JPEG), n * 36));
        frame.plane(1).unwrap().fill(n as u8 + 1).unwrap();
    }
    assert!(batch.batch(3).is_err());
    for error in [
        batch.view(Region::new(0, 0, 2, 2)).map(drop).unwrap_err(),
        batch.plane(0).map(drop).unwrap_err(),
        batch.clone().set_row_stride(8).unwrap_err(),
    ] {
        assert!(error.to_string().contains("batch()"), "{error}");
    }
    let all = batch.map_read().unwrap();
    for n in 0..3 {
        assert_eq!(all.as_slice()[n * 36 + 24..(n + 1) * 36], [n as u8 + 1; 12]);
        assert_eq!(all.as_slice()[n * 36..n * 36 + 24], [0; 24]);
    }
    let nested = Tensor::<u8>::new(&[2, 3, 4, 4, 3], MEM, None).unwrap();
    let nested = nested.with_format(PixelFormat::Rgb).unwrap();
    let inner = nested.batch(1).unwrap();
    assert_eq!((inner.shape(), inner.format()), (&[3, 4, 4, 3][..], Some(PixelFormat::Rgb)));
    assert_eq!(inner.batch(2).unwrap().shape(), &[4, 4, 3]);
}

#[test]
fn luma_and_chroma_of_sixteen_bits() {
    for format in [
        PixelFormat::Nv12,
        PixelFormat::Nv21,
        PixelFormat::Nv16,
        PixelFormat::Nv24,
        PixelFormat::I420,
    ] {
        let image = Tensor::<u16>::image(8, 4, format, None, None).unwrap();
        assert_eq!(
            (image.row_stride(), image.effective_row_stride()),
            (None, Some(16)),
            "{format}"
        );
        assert_eq!((image.dtype(), image.format()), (DType::U16, Some(format)));
        let bytes = Tensor::<u8>::image(8, 4, format, None, None).unwrap();
        assert_eq!(image.shape(), bytes.shape());
        for plane in 0..image.plane_count() {
            let (words, plane_bytes) = (image.plane(plane).unwrap(), bytes.plane(plane).unwrap());
            assert_eq!(words.shape(), plane_bytes.shape());
            words.fill(1000 + plane as u16).unwrap();
        }
        let map = image.map_read().unwrap();
        assert_eq!(map.iter().filter(|value| **value == 1000).count(), 32, "luma of {format}");
        assert!(!map.contains(&0));
        drop(map);
        // With padding, and as a region.
        let wide = Tensor::<u16>::image_builder(8, 4, format).row_stride(64).build().unwrap();
        assert_eq!(wide.row_stride(), Some(64));
        wide.copy_from(&image).unwrap();
        let part = wide.view(Region::new(2, 2, 4, 2)).unwrap();
        assert_eq!(part.plane_offset(), Some(2 * 64 + 2 * 2), "{format}");
        let luma = part.plane(0).unwrap();
        assert!(luma.map_strided_read().unwrap().iter().all(|value| *value == 1000));
        let flat = Tensor::<u16>::new(image.shape(), None, None).unwrap();
        assert_eq!(flat.with_format(format).unwrap().width(), Some(8));
    }
    assert!(Tensor::<u16>::image(8, 4, PixelFormat::Yuyv, None, None).is_err());
}
