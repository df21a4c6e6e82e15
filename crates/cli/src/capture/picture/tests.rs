//! Every format shows the colours that were put into it.

use tenure::{DynTensor, TensorMemory};

use super::*;

/// Six pixels across and four down: odd formats have room for whole groups.
const SIZE: (usize, usize) = (6, 4);

const COLOURS: [[u8; 3]; 9] = [
    [255, 255, 255],
    [0, 0, 0],
    [128, 128, 128],
    [255, 0, 0],
    [0, 255, 0],
    [0, 0, 255],
    [255, 255, 0],
    [191, 0, 191],
    [20, 200, 90],
];

/// Luma and differences of a colour, from 0 to 1 and from -0.5 to 0.5, by the definitions.
fn definition(rgb: [u8; 3], matrix: ColourMatrix) -> [f64; 3] {
    let [r, g, b] = rgb.map(|part| f64::from(part) / 255.0);
    let (kr, kb) = match matrix {
        ColourMatrix::Bt601 => (0.299, 0.114),
        ColourMatrix::Bt709 => (0.2126, 0.0722),
        ColourMatrix::Bt2020 => (0.2627, 0.0593),
    };
    let y = kr * r + (1.0 - kr - kb) * g + kb * b;
    [y, (b - y) / (2.0 - 2.0 * kb), (r - y) / (2.0 - 2.0 * kr)]
}

/// The numbers that stand for a colour, in so many bits.
fn encode(rgb: [u8; 3], colour: Colour, yuv: bool, bits: u32) -> [u16; 3] {
    let unit = f64::from(1u32 << (bits - 8));
    let most = f64::from((1u32 << bits) - 1);
    let limited = colour.range == ColourRange::Limited;
    let level = |part: f64| if limited { (16.0 + 219.0 * part) * unit } else { most * part };
    let difference = |part: f64| {
        let scale = if limited { 224.0 * unit } else { most };
        128.0 * unit + scale * part
    };
    let round = |value: f64| value.round().clamp(0.0, most) as u16;
    if yuv {
        let [y, b, r] = definition(rgb, colour.matrix);
        [level(y), difference(b), difference(r)].map(round)
    } else {
        rgb.map(|part| round(level(f64::from(part) / 255.0)))
    }
}

/// A frame of one colour, padded, written sample by sample as the format's definition says.
fn frame(format: PixelFormat, rgb: [u8; 3], colour: Colour) -> TensorDyn {
    let ten = format == PixelFormat::P010;
    let (dtype, bits) = if ten { (DType::U16, 10) } else { (DType::U8, 8) };
    let mem = Some(TensorMemory::Mem);
    let mut frame = TensorDyn::image_builder(SIZE.0, SIZE.1, format, dtype)
        .row_stride(64)
        .memory(mem)
        .build()
        .unwrap();
    let [a, b, c] = encode(rgb, colour, format.is_yuv(), bits).map(|value| value as u8);
    let groups: &[&[u8]] = match format {
        PixelFormat::Rgb => &[&[a, b, c]],
        PixelFormat::Bgr => &[&[c, b, a]],
        PixelFormat::Rgba => &[&[a, b, c, 0]],
        PixelFormat::Bgra => &[&[c, b, a, 0]],
        PixelFormat::Grey => &[&[a]],
        PixelFormat::Yuyv => &[&[a, b, a, c]],
        PixelFormat::Uyvy => &[&[b, a, c, a]],
        PixelFormat::Nv12 | PixelFormat::Nv16 | PixelFormat::Nv24 => &[&[a], &[b, c]],
        PixelFormat::Nv21 => &[&[a], &[c, b]],
        PixelFormat::I420 | PixelFormat::PlanarRgb => &[&[a], &[b], &[c]],
        PixelFormat::PlanarRgba => &[&[a], &[b], &[c], &[0]],
        PixelFormat::P010 => &[],
    };
    for (plane, group) in groups.iter().enumerate() {
        let plane = frame.plane(plane).unwrap();
        let mut map = plane.map_rows().unwrap();
        for row in map.rows_mut() {
            row.iter_mut().zip(group.iter().cycle()).for_each(|(to, from)| *to = *from);
        }
    }
    if ten {
        let [a, b, c] = encode(rgb, colour, true, 10).map(|value| value << 6);
        for (plane, group) in [&[a][..], &[b, c]].iter().enumerate() {
            let plane = frame.plane(plane).unwrap().typed::<u16>().unwrap();
            let mut map = plane.map_rows().unwrap();
            for row in map.rows_mut() {
                row.iter_mut().zip(group.iter().cycle()).for_each(|(to, from)| *to = *from);
            }
        }
    }
    frame.set_colour(Some(colour));
    frame
}

fn check(format: PixelFormat, rgb: [u8; 3], colour: Colour) {
    let shown = picture(&frame(format, rgb, colour)).unwrap();
    assert_eq!((shown.width, shown.height), SIZE);
    assert_eq!(shown.bytes.len(), SIZE.0 * SIZE.1 * shown.channels);
    for pixel in shown.bytes.chunks(shown.channels) {
        for (found, wanted) in pixel.iter().zip(rgb) {
            assert!(found.abs_diff(wanted) <= 2, "{format}, {colour}: {pixel:?}, not {rgb:?}");
        }
    }
}

#[test]
fn every_format_shows_its_colours() {
    for format in PixelFormat::all() {
        for code in 0..6 {
            let colour = Colour::from_code(code).unwrap();
            for rgb in COLOURS {
                // Grey has no colours.
                let grey = rgb[0] == rgb[1] && rgb[1] == rgb[2];
                if grey || format != PixelFormat::Grey {
                    check(format, rgb, colour);
                }
            }
        }
    }
}

#[test]
fn pixels_are_where_they_were() {
    let mem = Some(TensorMemory::Mem);
    let frame = TensorDyn::image(5, 3, PixelFormat::Nv12, DType::U8, mem, None).unwrap();
    let (luma, chroma) = (frame.plane(0).unwrap(), frame.plane(1).unwrap());
    chroma.map().unwrap().as_mut_slice().fill(128);
    luma.map_rows().unwrap().rows_mut().enumerate().for_each(|(y, row)| {
        row.iter_mut().enumerate().for_each(|(x, luma)| *luma = 16 + (y * 5 + x) as u8 * 10);
    });
    let shown = picture(&frame).unwrap();
    assert_eq!((shown.width, shown.height, shown.channels), (5, 3, 3));
    for (index, pixel) in shown.bytes.chunks(3).enumerate() {
        let wanted = (index as f64 * 10.0 * 255.0 / 219.0).round() as u8;
        assert_eq!(pixel, [wanted; 3], "pixel {index}");
    }
}

#[test]
fn what_is_no_picture_says_so() {
    let mem = Some(TensorMemory::Mem);
    let bytes = TensorDyn::new(&[10], DType::U8, mem, None).unwrap();
    assert!(matches!(picture(&bytes), Err(NoPicture::NoImage)));
    let real = TensorDyn::image(4, 4, PixelFormat::Rgb, DType::F32, mem, None).unwrap();
    let words = picture(&real).unwrap_err().to_string();
    assert_eq!(words, "rgb pixels of f32 cannot be shown: u8 can");
}
