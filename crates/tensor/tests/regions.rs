//! Regions of images: the pixels of the rectangle, and nothing else.

use tenure_tensor::{
    Buffer, DType, DynTensor, Error, PixelFormat, Region, Tensor, TensorDyn, TensorMemory,
};

const MEM: Option<TensorMemory> = Some(TensorMemory::Mem);

/// Every format; where a program runs a thousand times slower, one of each arrangement.
fn formats() -> impl Iterator<Item = PixelFormat> {
    let few = [PixelFormat::Rgb, PixelFormat::I420, PixelFormat::P010, PixelFormat::PlanarRgb];
    PixelFormat::all().filter(move |format| !cfg!(miri) || few.contains(format))
}

/// An image whose bytes all differ from their neighbours.
fn numbered(format: PixelFormat, width: usize, height: usize) -> TensorDyn {
    let dtype = if format == PixelFormat::P010 { DType::U16 } else { DType::U8 };
    let image = TensorDyn::image(width, height, format, dtype, MEM, None).unwrap();
    for (n, byte) in image.map().unwrap().as_mut_slice().iter_mut().enumerate() {
        *byte = (n % 251) as u8;
    }
    image
}

fn flat(tensor: &TensorDyn) -> Vec<u8> {
    let mut flat = vec![0; tensor.flat_bytes()];
    tensor.copy_to_flat(&mut flat).unwrap();
    flat
}

/// The bytes of a region, cut out of the whole picture plane by plane.
fn cut(image: &TensorDyn, region: Region) -> Vec<u8> {
    let layout = image.image_layout().unwrap();
    let (all, size) = (image.map_read().unwrap(), image.dtype().size().unwrap());
    let mut out = vec![];
    for (plane, spec) in layout.planes().iter().zip(layout.format().planes()) {
        let rows = region.y / spec.vertical..(region.y + region.height).div_ceil(spec.vertical);
        let group = spec.elements * size;
        let columns =
            region.x / spec.horizontal..(region.x + region.width).div_ceil(spec.horizontal);
        for row in rows {
            let start = plane.offset + row * plane.row_stride;
            let bytes = start + columns.start * group..start + columns.end * group;
            out.extend_from_slice(&all.as_slice()[bytes]);
        }
    }
    out
}

#[test]
fn regions_are_their_pixels() {
    for format in formats() {
        let image = numbered(format, 13, 11);
        let regions = [
            Region::new(0, 0, 13, 11),
            Region::new(4, 2, 6, 4),
            Region::new(2, 4, 2, 2),
            // Up to an edge that chroma does not divide.
            Region::new(8, 6, 5, 5),
            Region::new(12, 10, 1, 1),
        ];
        for &region in &regions[if cfg!(miri) { 3 } else { 0 }..] {
            let view = image.view(region).unwrap();
            assert_eq!((view.width(), view.height()), (Some(region.width), Some(region.height)));
            assert_eq!(view.format(), Some(format));
            assert_eq!(view.effective_row_stride(), image.effective_row_stride());
            assert_eq!(flat(&view), cut(&image, region), "{format} {region}");
            assert!(view.aliases(&image));
            // A region of a region.
            let inner = Region::new(0, 0, region.width.min(2), region.height.min(2));
            let again = Region::new(region.x, region.y, inner.width, inner.height);
            assert_eq!(flat(&view.view(inner).unwrap()), cut(&image, again), "{format} {region}");
            // Copied, it has no gaps and is the same picture.
            let copy = view.to(MEM).unwrap();
            assert_eq!(flat(&copy), flat(&view));
            assert!(!copy.aliases(&image));
        }
    }
}

#[test]
fn regions_outside_are_refused() {
    for format in formats() {
        let image = numbered(format, 12, 8);
        for region in [
            Region::new(0, 0, 13, 8),
            Region::new(0, 0, 12, 9),
            Region::new(12, 0, 1, 1),
            Region::new(2, 2, 0, 2),
            Region::new(usize::MAX, 0, 2, 2),
            Region::new(2, 2, usize::MAX, 2),
        ] {
            let words = image.view(region).unwrap_err().to_string();
            assert!(words.contains(&region.to_string()) && words.contains("12x8"), "{words}");
        }
        let (across, down) = format.subsampling();
        if across > 1 {
            let words = image.view(Region::new(1, 0, 4, 4)).unwrap_err().to_string();
            assert!(words.contains("cuts a chroma sample"), "{words}");
            assert!(image.view(Region::new(0, 0, 5, 4)).is_err());
        }
        if down > 1 {
            assert!(image.view(Region::new(0, 1, 4, 4)).is_err());
            assert!(image.view(Region::new(0, 0, 4, 5)).is_err());
        }
    }
    let plain = Tensor::<u8>::new(&[8, 8], MEM, None).unwrap();
    assert!(plain.view(Region::new(0, 0, 2, 2)).unwrap_err().to_string().contains("set_format"));
}

#[test]
fn regions_are_written_through() {
    for format in formats() {
        let image = numbered(format, 12, 8);
        let before = flat(&image);
        let (inside, outside) = (Region::new(4, 2, 4, 4), Region::new(8, 2, 4, 4));
        let other = cut(&image, outside);
        let view = image.view(inside).unwrap();
        match image.dtype() {
            DType::U16 => view.typed::<u16>().unwrap().fill(0xfafa).unwrap(),
            _ => view.typed::<u8>().unwrap().fill(0xfa).unwrap(),
        }
        assert!(cut(&image, inside).iter().all(|byte| *byte == 0xfa), "{format}");
        assert_eq!(cut(&image, outside), other, "{format}");
        let changed = flat(&image).iter().zip(&before).filter(|(a, b)| a != b).count();
        assert!(changed <= view.flat_bytes() && changed > 0);
    }
}

#[test]
fn rows_of_a_region_are_its_rows() {
    for format in formats() {
        let image = numbered(format, 16, 8);
        let region = Region::new(4, 2, 6, 4);
        let view = image.view(region).unwrap();
        // Where planes lie apart the tensor is the first of them.
        let map = view.map_rows_read().unwrap();
        let rows: Vec<u8> = map.rows().flatten().copied().collect();
        let elements = view.len() * view.dtype().size().unwrap();
        assert_eq!(rows.len(), elements, "{format}");
        assert_eq!(rows, cut(&image, region)[..elements], "{format}");
    }
}

#[test]
fn a_region_of_a_planar_image_has_its_channels() {
    for (format, channels) in [(PixelFormat::PlanarRgb, 3), (PixelFormat::PlanarRgba, 4)] {
        let image = numbered(format, 13, 11).typed::<u8>().unwrap();
        let view = image.view(Region::new(4, 2, 6, 5)).unwrap();
        assert_eq!((view.shape(), view.format()), (&[channels, 5, 6][..], Some(format)));
        let (whole, part) = (image.map_read().unwrap(), view.map_strided_read().unwrap());
        for (channel, y, x) in [(0, 0, 0), (channels - 1, 4, 5), (1, 2, 3)] {
            assert_eq!(part.get(&[channel, y, x]), whole.at(&[channel, y + 2, x + 4]));
        }
        assert_eq!(view.size_bytes(), view.flat_bytes());
    }
}

#[test]
fn rows_to_write_are_its_rows() {
    let image = numbered(PixelFormat::Nv12, 16, 8);
    let chroma = image.plane(1).unwrap().to(MEM).unwrap();
    let view = image.view(Region::new(4, 2, 6, 4)).unwrap();
    let mut map = view.map_rows().unwrap();
    let mut rows = 0;
    for row in map.rows_mut() {
        assert_eq!(row.len(), 6);
        row.fill(0xfa);
        rows += 1;
    }
    assert_eq!(rows, 4);
    drop(map);
    assert_eq!(flat(&image.plane(1).unwrap()), flat(&chroma), "chroma is left alone");
}

/// An image whose planes are in one buffer, but not in the usual order.
fn chroma_first() -> Tensor<u8> {
    let bytes = Tensor::<u8>::new(&[1024], MEM, None).unwrap();
    for (n, byte) in bytes.map().unwrap().as_mut_slice().iter_mut().enumerate() {
        *byte = (n % 251) as u8;
    }
    let buffer: Buffer = bytes.buffer().clone();
    let places = [(512, Some(32)), (0, Some(32))];
    TensorDyn::from_plane_buffers(&[buffer], &places, 16, 8, PixelFormat::Nv12, DType::U8)
        .unwrap()
        .typed()
        .unwrap()
}

#[test]
fn elements_are_the_first_plane_wherever_it_lies() {
    let image = chroma_first();
    assert_eq!(image.shape(), &[8, 16]);
    assert!(matches!(image.map_read(), Err(Error::NotContiguous(strided)) if strided.rows));
    let map = image.map_rows_read().unwrap();
    assert_eq!(map[0][0], 10);
    let rows: Vec<&[u8]> = map.rows().collect();
    assert_eq!((rows.len(), rows[0][0], rows[1][3]), (8, (512 % 251) as u8, (547 % 251) as u8));
    drop(map);
    let mut map = image.map_rows().unwrap();
    map.rows_mut().for_each(|row| row.fill(0xfa));
    drop(map);
    assert!(flat(&image.plane(0).unwrap().to_dyn()).iter().all(|byte| *byte == 0xfa));
    assert!(flat(&image.plane(1).unwrap().to_dyn()).iter().all(|byte| *byte != 0xfa));
}

#[cfg(feature = "ndarray")]
#[test]
fn arrays_are_the_first_plane_wherever_it_lies() {
    let image = chroma_first();
    let map = image.map_strided_read().unwrap();
    let array = map.array().unwrap();
    for (index, value) in array.indexed_iter() {
        assert_eq!(map.get(&[index[0], index[1]]), Some(value), "{index:?}");
    }
    drop(map);
    let mut map = image.map_strided().unwrap();
    map.array_mut().unwrap().fill(0xfa);
    drop(map);
    assert!(flat(&image.plane(1).unwrap().to_dyn()).iter().all(|byte| *byte != 0xfa));
}

#[test]
fn planes_side_by_side_are_filled_and_copied() {
    // Both chroma planes in the rows of one block, as some decoders have it.
    let memory = Tensor::<u8>::new(&[1024], MEM, None).unwrap();
    let places = [(0, Some(16)), (128, Some(16)), (136, Some(16))];
    let buffers = [memory.buffer().clone()];
    let image =
        TensorDyn::from_plane_buffers(&buffers, &places, 16, 8, PixelFormat::I420, DType::U8)
            .unwrap();
    let source = numbered(PixelFormat::I420, 16, 8);
    image.copy_from(&source).unwrap();
    assert_eq!(flat(&image), flat(&source));
    image.typed::<u8>().unwrap().fill(9).unwrap();
    assert!(flat(&image).iter().all(|byte| *byte == 9));
    assert_eq!(memory.map_read().unwrap().as_slice()[192..], [0; 832]);
}
