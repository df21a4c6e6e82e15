//! Files that we write and read back, files of others made here, and files that are damaged.

use super::*;
use ::png::{BitDepth, ColorType, Encoder};

/// A picture with edges and colours, smooth enough for JPEG.
fn picture(width: usize, height: usize, format: PixelFormat, stride: Option<usize>) -> TensorDyn {
    let heap = Some(TensorMemory::Mem);
    let t = TensorDyn::image_builder(width, height, format, DType::U8)
        .row_stride(stride)
        .memory(heap)
        .build()
        .unwrap();
    let channels = format.channels();
    for (y, row) in rows::RowsMut::new(&t).unwrap().iter_mut().enumerate() {
        for (x, pixel) in row.chunks_mut(channels).enumerate() {
            let values = [x * 255 / width, y * 255 / height, (x + y) * 127 / (width + height), 200];
            for (value, new) in pixel.iter_mut().zip(values) {
                *value = new as u8;
            }
        }
    }
    t
}

fn bytes_of(t: &TensorDyn) -> Vec<u8> {
    rows::Rows::new(t).unwrap().iter().flatten().copied().collect()
}

fn png_of(t: &TensorDyn) -> Vec<u8> {
    let mut file = vec![];
    encode_png(t, &mut file).unwrap();
    file
}

fn jpeg_of(t: &TensorDyn, quality: u8) -> Vec<u8> {
    let mut file = vec![];
    encode_jpeg(t, quality, &mut file).unwrap();
    file
}

/// A PNG file of any colour type, as others write it.
fn foreign(
    color: ColorType,
    depth: BitDepth,
    palette: Option<(&[u8], &[u8])>,
    size: (u32, u32),
    data: &[u8],
) -> Vec<u8> {
    let mut file = vec![];
    let mut encoder = Encoder::new(&mut file, size.0, size.1);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if let Some((colours, alphas)) = palette {
        encoder.set_palette(colours.to_vec());
        encoder.set_trns(alphas.to_vec());
    }
    encoder.write_header().unwrap().write_image_data(data).unwrap();
    file
}

#[test]
fn png_keeps_every_byte_at_any_stride() {
    for format in [PixelFormat::Grey, PixelFormat::Rgb, PixelFormat::Rgba] {
        for (width, height) in [(1, 1), (7, 5), (64, 33)] {
            for stride in [None, Some(width * format.channels() + 9)] {
                let t = picture(width, height, format, stride);
                let file = png_of(&t);
                let back = decode(&file, None).unwrap();
                assert_eq!((back.format(), bytes_of(&back)), (Some(format), bytes_of(&t)));
                let mut padded = picture(width, height, format, Some(512));
                padded.map_span().unwrap().fill(7);
                decode_into(&file, &mut padded).unwrap();
                assert_eq!(bytes_of(&padded), bytes_of(&t));
                if height > 1 {
                    let between = padded.map_span_read().unwrap()[511];
                    assert_eq!(between, 7, "padding is left alone");
                }
            }
        }
    }
}

#[test]
fn jpeg_is_close_in_every_format_and_quality() {
    for format in [PixelFormat::Rgb, PixelFormat::Bgra, PixelFormat::Grey] {
        for (width, height) in [(1, 1), (8, 8), (17, 9), (100, 61)] {
            for (quality, most) in [(100, 4), (90, 12), (50, 40)] {
                let t = picture(width, height, format, Some(width * format.channels() + 3));
                let file = jpeg_of(&t, quality);
                let mut back = picture(width, height, format, None);
                decode_into(&file, &mut back).unwrap();
                let (a, b) = (bytes_of(&t), bytes_of(&back));
                let alpha = |at: usize| format.channels() == 4 && at % 4 == 3;
                let worst = a.iter().zip(&b).enumerate().filter(|(at, _)| !alpha(*at));
                let worst = worst.map(|(_, (a, b))| a.abs_diff(*b)).max().unwrap();
                assert!(worst <= most, "{format} {width}x{height} quality {quality}: {worst}");
                let mut padded = picture(width, height, format, Some(1024));
                decode_into(&file, &mut padded).unwrap();
                assert_eq!(bytes_of(&padded), b);
            }
        }
    }
    let t = picture(8, 8, PixelFormat::Rgb, None);
    for quality in [0, 101] {
        let error = encode_jpeg(&t, quality, vec![]).unwrap_err().to_string();
        assert!(error.contains(&quality.to_string()) && error.contains("1 to 100"), "{error}");
    }
}

#[test]
fn every_kind_of_png_becomes_eight_bits() {
    let wide: Vec<u8> = [0x1234u16, 0xff00, 0x00ff].iter().flat_map(|v| v.to_be_bytes()).collect();
    let t = decode(&foreign(ColorType::Rgb, BitDepth::Sixteen, None, (1, 1), &wide), None).unwrap();
    assert_eq!((t.format(), bytes_of(&t)), (Some(PixelFormat::Rgb), vec![0x12, 0xff, 0x00]));
    let t = decode(
        &foreign(ColorType::Grayscale, BitDepth::One, None, (9, 1), &[0b1010_1010, 0x80]),
        None,
    );
    assert_eq!(bytes_of(&t.unwrap()), [255, 0, 255, 0, 255, 0, 255, 0, 255]);
    let file = foreign(ColorType::GrayscaleAlpha, BitDepth::Eight, None, (2, 1), &[9, 1, 8, 2]);
    let t = decode(&file, None).unwrap();
    assert_eq!((t.format(), bytes_of(&t)), (Some(PixelFormat::Rgba), vec![9, 9, 9, 1, 8, 8, 8, 2]));
    let palette: (&[u8], &[u8]) = (&[1, 2, 3, 4, 5, 6], &[77]);
    let file = foreign(ColorType::Indexed, BitDepth::Two, Some(palette), (2, 1), &[0b0100_0000]);
    let t = decode(&file, None).unwrap();
    assert_eq!(bytes_of(&t), [4, 5, 6, 255, 1, 2, 3, 77]);
}

#[test]
fn other_destinations_are_converted_to() {
    let t = picture(20, 10, PixelFormat::Rgb, None);
    for file in [png_of(&t), jpeg_of(&t, 95)] {
        let natural = decode(&file, None).unwrap();
        for (format, dtype) in [
            (PixelFormat::PlanarRgb, DType::F32),
            (PixelFormat::Bgr, DType::U8),
            (PixelFormat::Nv12, DType::U8),
            (PixelFormat::Grey, DType::U8),
        ] {
            let mut into = TensorDyn::image(20, 10, format, dtype, None, None).unwrap();
            decode_into(&file, &mut into).unwrap();
            assert_eq!(into.colour(), format.is_yuv().then_some(Colour::JPEG));
            let expected = TensorDyn::image(20, 10, format, dtype, None, None).unwrap();
            processor().unwrap().convert(&natural, &expected, &Convert::new()).unwrap();
            let close = |a: &u8, b: &u8| a.abs_diff(*b) <= 2 || dtype == DType::F32;
            let (a, b) = (into.map_read().unwrap(), expected.map_read().unwrap());
            assert!(a.as_slice().iter().zip(b.as_slice()).all(|(a, b)| close(a, b)), "{format}");
        }
    }
    let mut small = picture(4, 4, PixelFormat::Rgb, None);
    let error = decode_into(&png_of(&t), &mut small).unwrap_err().to_string();
    assert!(error.contains("20x10") && error.contains("4x4"), "{error}");
}

#[test]
fn files_that_are_cut_off_are_refused() {
    let t = picture(50, 40, PixelFormat::Rgb, None);
    for file in
        [png_of(&t), jpeg_of(&t, 80), jpeg_of(&picture(50, 40, PixelFormat::Grey, None), 95)]
    {
        assert!(decode(&file, None).is_ok());
        for end in 0..file.len() {
            assert!(decode(&file[..end], None).is_err(), "{} of {}", end, file.len());
        }
    }
}

#[test]
fn files_that_are_changed_do_not_harm() {
    let t = picture(33, 20, PixelFormat::Rgb, None);
    for file in [png_of(&t), jpeg_of(&t, 60)] {
        for at in 0..file.len() {
            for change in [0x01, 0x80, 0xff] {
                let mut changed = file.clone();
                changed[at] ^= change;
                // An answer is enough: the bytes may still be a picture.
                let _ = decode(&changed, Some(TensorMemory::Mem));
            }
        }
    }
}

#[test]
fn huge_pictures_are_refused_before_memory_is_taken() {
    let t = picture(8, 8, PixelFormat::Rgb, None);
    let mut file = jpeg_of(&t, 60);
    let frame = file.windows(2).position(|bytes| bytes == [0xff, 0xc0]).unwrap();
    file[frame + 5..frame + 9].fill(0xff);
    let error = decode(&file, None).unwrap_err().to_string();
    assert!(error.contains("65535x65535"), "{error}");
    file[frame + 5..frame + 9].copy_from_slice(&[0x20, 0, 0x20, 0]);
    let error = decode(&file, None).unwrap_err().to_string();
    assert!(error.contains("cannot hold 8192x8192 pixels"), "{error}");
    let error = decode(b"GIF89a", None).unwrap_err().to_string();
    assert!(error.contains("neither a JPEG nor a PNG"), "{error}");
}

#[test]
fn saved_files_are_whole() {
    let folder = tempfile::tempdir().unwrap();
    let t = picture(30, 20, PixelFormat::Rgb, None);
    for name in ["a.png", "a.JPG", "a.jpeg"] {
        let path = folder.path().join(name);
        let bytes = save(&path, &t).unwrap();
        assert_eq!(bytes, std::fs::metadata(&path).unwrap().len());
        assert_eq!(open_in(&path, None).unwrap().width(), Some(30));
    }
    let path = folder.path().join("a.png");
    let before = std::fs::read(&path).unwrap();
    // Somebody writes it: nothing is saved, and the file stays.
    let map = t.map().unwrap();
    assert!(save(&path, &t).is_err());
    drop(map);
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let error = save(folder.path().join("a.gif"), &t).unwrap_err().to_string();
    assert!(error.contains("a.gif") && error.contains(".png"), "{error}");
    let error = save(folder.path().join("none/a.png"), &t).unwrap_err().to_string();
    assert!(error.contains("none/a.png cannot be written"), "{error}");
    let error = open_in(folder.path().join("b.png"), None).unwrap_err().to_string();
    assert!(error.contains("b.png cannot be read"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
}

#[test]
#[cfg(linux_like)]
fn pipes_and_devices_are_refused_without_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.png");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).unwrap();
    let refused = |path: &Path| open(path).unwrap_err().to_string();
    assert!(
        refused(&path)
            .ends_with("a.png cannot be read: it is a pipe, and a regular file is needed")
    );
    assert!(refused(Path::new("/dev/zero")).contains("it is a device"));
    assert!(refused(folder.path()).contains("it is a folder"));
}

#[test]
fn what_foreign_code_may_write_is_encoded_as_it_is() {
    // Rows with gaps, which the copy does not have.
    let t = picture(31, 17, PixelFormat::Rgb, Some(128));
    let (png, jpeg) = (png_of(&t), jpeg_of(&t, 90));
    let lent = t.buffer().hold(tenure_memory::Access::ExportWrite, 0..t.buffer().len()).unwrap();
    assert!(t.map_rows_read().is_err(), "references are excluded");
    assert_eq!((png_of(&t), jpeg_of(&t, 90)), (png, jpeg));
    drop(lent);
    let writing = t.map_rows().unwrap();
    assert!(encode_png(&t, &mut vec![]).is_err());
    drop(writing);
}
