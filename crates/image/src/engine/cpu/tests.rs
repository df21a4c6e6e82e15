//! Small pictures through every way of the engine.

use tenure_layout::{DType, PixelFormat, Region};
use tenure_tensor::{TensorDyn, TensorMemory};

use super::Cpu;
use super::threads::Threads;
use crate::engine::Engine;
use crate::engine::reference::Reference;
use crate::job::Job;
use crate::{Convert, Filter, Fit, Rotation};

fn image(width: usize, height: usize, format: PixelFormat, dtype: DType) -> TensorDyn {
    let memory = Some(TensorMemory::Mem);
    let image = TensorDyn::image(width, height, format, dtype, None, memory, None).unwrap();
    let mut map = image.map().unwrap();
    for (at, byte) in map.as_mut_slice().iter_mut().enumerate() {
        *byte = (at * 37 % 251) as u8;
    }
    drop(map);
    image
}

fn compare(from: PixelFormat, to: PixelFormat, convert: &Convert) {
    let dtype = if from == PixelFormat::P010 { DType::U16 } else { DType::U8 };
    let source = image(19, 7, from, dtype);
    let (one, other) = (image(9, 18, to, DType::U8), image(9, 18, to, DType::U8));
    let cpu = Cpu::with_kernels(super::kernels::best(), Threads::One);
    cpu.run(&Job::new(&source, &one, convert).unwrap()).unwrap();
    Reference.run(&Job::new(&source, &other, convert).unwrap()).unwrap();
    let (one, other) = (one.map_read().unwrap(), other.map_read().unwrap());
    for (at, (a, b)) in one.as_slice().iter().zip(other.as_slice()).enumerate() {
        assert!(a.abs_diff(*b) <= 1, "{from} to {to} at {at}: {a}, not {b}");
    }
}

#[test]
fn every_source() {
    for from in PixelFormat::all() {
        compare(from, PixelFormat::Rgb, &Convert::new());
    }
}

#[test]
fn every_way() {
    let turned = Convert::new().with_rotation(Rotation::Quarter).with_fit(Fit::letterbox(9));
    compare(PixelFormat::Nv12, PixelFormat::PlanarRgba, &turned);
    compare(PixelFormat::Rgba, PixelFormat::Nv12, &Convert::new().with_filter(Filter::Lanczos3));
    // The same size: rows stay rows, with chroma repeated and between samples.
    let same = |filter| {
        Convert::new()
            .with_crop(Region::new(2, 0, 9, 7))
            .with_into(Region::new(0, 1, 9, 7))
            .with_filter(filter)
    };
    compare(PixelFormat::Nv12, PixelFormat::Rgb, &same(Filter::Nearest));
    compare(PixelFormat::I420, PixelFormat::PlanarRgb, &same(Filter::Bilinear));
    compare(PixelFormat::Yuyv, PixelFormat::Grey, &same(Filter::Bilinear));
}

#[test]
fn single_samples() {
    let nearest = Convert::new().with_filter(Filter::Nearest);
    // Every third pixel of every third row, which the middle of a bilinear filter falls on.
    let thirds = Convert::new()
        .with_crop(Region::new(1, 1, 18, 6))
        .with_into(Region::new(2, 4, 6, 2))
        .with_filter(Filter::Bilinear);
    let mirrored = nearest.clone().with_flips(true, true);
    for from in PixelFormat::all() {
        for to in [PixelFormat::Bgr, PixelFormat::Nv12, PixelFormat::PlanarRgba] {
            for convert in [&nearest, &thirds, &mirrored] {
                compare(from, to, convert);
            }
        }
    }
}
