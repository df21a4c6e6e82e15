//! Numbers with a point: in fixed point where that is exact enough, and as exact as is said.

use tenure_layout::{Colour, DType, PixelFormat};
use tenure_tensor::TensorDyn;

use super::image;
use crate::engine::Engine;
use crate::engine::cpu::prepare::{Prepared, Work};
use crate::engine::cpu::threads::Threads;
use crate::engine::cpu::{Cpu, kernels};
use crate::engine::reference::Reference;
use crate::job::Job;
use crate::{Convert, Filter, Normalize};

/// Whether all of a job is done in fixed point.
fn is_fixed(from: PixelFormat, sizes: [(usize, usize); 2], dtype: DType, to: &Convert) -> bool {
    let [size, into] = sizes;
    let source = image(size.0, size.1, from, DType::U8);
    let target = image(into.0, into.1, PixelFormat::PlanarRgb, dtype);
    let job = Job::new(&source, &target, to).unwrap();
    let works = Prepared::new(&job.recipe, kernels::portable::KERNELS.ways).works;
    works.iter().all(|work| matches!(work, Work::Fixed(_)))
}

const HALVES: Normalize = Normalize::mean_std(1.0 / 255.0, [0.5; 3], [0.5; 3]);
const UNIT: Normalize = Normalize::scale(1.0 / 255.0);

#[test]
fn fixed_point_where_it_is_exact_enough() {
    use PixelFormat::{Nv12, Rgb};
    let frame = [(1920, 1080), (640, 360)];
    let with = |filter, normalize| Convert::new().filter(filter).normalize(normalize);
    for normalize in [UNIT, HALVES, Normalize::IMAGENET, Normalize::NONE] {
        let usual = with(Filter::Antialiased, normalize);
        assert!(is_fixed(Nv12, frame, DType::F32, &usual), "{normalize:?}");
        assert!(is_fixed(Nv12, [(640, 480), (640, 480)], DType::F16, &usual), "{normalize:?}");
        assert!(is_fixed(Nv12, [(320, 240), (500, 400)], DType::F32, &usual), "{normalize:?}");
    }
    for filter in Filter::all() {
        assert!(is_fixed(Nv12, frame, DType::U8, &with(filter, Normalize::NONE)), "{filter}");
        assert!(is_fixed(Nv12, frame, DType::F32, &with(filter, UNIT)), "{filter}");
    }
    // What overshoots, becomes numbers far from each other, or is a sum of very many.
    let lanczos = with(Filter::Lanczos3, Normalize::IMAGENET);
    assert!(!is_fixed(Nv12, frame, DType::F32, &lanczos));
    let narrow = Normalize::mean_std(1.0 / 255.0, [0.5; 3], [0.05; 3]);
    assert!(!is_fixed(Nv12, frame, DType::F32, &with(Filter::Antialiased, narrow)));
    assert!(!is_fixed(Rgb, [(5000, 20), (2, 20)], DType::F32, &with(Filter::Area, HALVES)));
}

#[test]
fn one_colour_stays_one_colour_in_floats() {
    use PixelFormat::{Nv12, PlanarRgb};
    // Where all products of a sum lose the same: nothing at all, or nearly one of the last bit.
    let codes = [0, 1, 18, 24, 33, 64, 66, 85, 110, 120, 128, 129, 189, 219, 255];
    let picture = |size: (usize, usize), (luma_code, chroma_code): (u8, u8)| {
        let mut source = image(size.0, size.1, Nv12, DType::U8);
        let mut map = source.map().unwrap();
        let (luma, chroma) = map.as_mut_slice().split_at_mut(size.0 * size.1);
        luma.fill(luma_code);
        chroma.fill(chroma_code);
        drop(map);
        source.set_colour(Some(Colour::HD));
        source
    };
    let numbers = |target: &TensorDyn| {
        let map = target.map_read().unwrap();
        let bytes = map.as_slice().as_chunks::<4>().0;
        bytes.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect::<Vec<f32>>()
    };
    let (one, other) = (image(4, 4, PlanarRgb, DType::F32), image(4, 4, PlanarRgb, DType::F32));
    for times in [2, 3, 4, 6, 8, 12, 16, 23, 31, 32, 60, 64, 90] {
        for filter in [Filter::Antialiased, Filter::Area, Filter::Lanczos3] {
            for normalize in [UNIT, HALVES, Normalize::IMAGENET] {
                let convert = Convert::new().filter(filter).normalize(normalize);
                let cpus = kernels::all().map(|kernels| Cpu::with_kernels(kernels, Threads::One));
                let cpus: Vec<Cpu> = cpus.collect();
                for colour in codes.iter().zip(codes.iter().rev()).map(|(a, b)| (*a, *b)) {
                    let small = picture((4, 4), colour);
                    Reference.run(&Job::new(&small, &other, &convert).unwrap()).unwrap();
                    let (large, expected) = (picture((16, 4 * times), colour), numbers(&other));
                    for cpu in &cpus {
                        cpu.run(&Job::new(&large, &one, &convert).unwrap()).unwrap();
                        let name = cpu.kernels.name;
                        for (a, b) in numbers(&one).into_iter().zip(&expected) {
                            let close = (a - b).abs() <= 0.002;
                            assert!(close, "{name}: {times} {filter} {colour:?}: {a}, not {b}");
                        }
                    }
                }
            }
        }
    }
}
