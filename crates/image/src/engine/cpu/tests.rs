//! Small pictures through every way of the engine.

mod exact;

use tenure_layout::{DType, PixelFormat, Region};
use tenure_tensor::{DynTensor, TensorDyn, TensorMemory};

use super::Cpu;
use super::kernels::{self, Way};
use super::prepare::{Pass, Prepared, Work};
use super::threads::Threads;
use crate::engine::Engine;
use crate::engine::reference::Reference;
use crate::job::Job;
use crate::{Convert, Filter, Fit, Normalize, Rotation};

fn image(width: usize, height: usize, format: PixelFormat, dtype: DType) -> TensorDyn {
    let memory = Some(TensorMemory::Mem);
    let image = TensorDyn::image(width, height, format, dtype, memory, None).unwrap();
    let mut map = image.map().unwrap();
    for (at, byte) in map.as_mut_slice().iter_mut().enumerate() {
        *byte = (at * 37 % 251) as u8;
    }
    drop(map);
    image
}

/// The passes of a job that is done in fixed point.
fn passes(job: &Job, ways: &[Way]) -> Vec<Pass> {
    let fixed = |work| match work {
        Work::Fixed(pass) => *pass,
        Work::Precise(precise) => panic!("not in fixed point: {precise:?}"),
    };
    Prepared::new(&job.recipe, ways).works.into_iter().map(fixed).collect()
}

fn compare(from: PixelFormat, to: PixelFormat, convert: &Convert) {
    compare_sizes((19, 7), (9, 18), from, to, convert);
}

fn compare_sizes(
    (width, height): (usize, usize),
    into: (usize, usize),
    from: PixelFormat,
    to: PixelFormat,
    convert: &Convert,
) {
    let dtype = if from == PixelFormat::P010 { DType::U16 } else { DType::U8 };
    compare_images(&image(width, height, from, dtype), into, to, convert);
}

fn compare_images(source: &TensorDyn, into: (usize, usize), to: PixelFormat, convert: &Convert) {
    let [one, other] = [0, 1].map(|_| image(into.0, into.1, to, DType::U8));
    Reference.run(&Job::new(source, &other, convert).unwrap()).unwrap();
    let other = other.map_read().unwrap();
    for kernels in kernels::all() {
        let (cpu, name) = (Cpu::with_kernels(kernels, Threads::One), kernels.name);
        cpu.run(&Job::new(source, &one, convert).unwrap()).unwrap();
        let one = one.map_read().unwrap();
        for (at, (a, b)) in one.as_slice().iter().zip(other.as_slice()).enumerate() {
            let agrees = a.abs_diff(*b) <= 1;
            assert!(agrees, "{name}: {source:?} to {to} {into:?} at {at}: {a}, not {b}");
        }
    }
}

/// Whether rows become half as long without becoming columns.
fn is_regular(size: (usize, usize), into: (usize, usize), from: PixelFormat, to: &Convert) -> bool {
    let source = image(size.0, size.1, from, DType::U8);
    let target = image(into.0, into.1, PixelFormat::Rgb, DType::U8);
    let job = Job::new(&source, &target, to).unwrap();
    let ways = kernels::portable::KERNELS.ways;
    passes(&job, ways).iter().all(|pass| pass.regular.is_some())
}

#[test]
fn every_source() {
    for from in PixelFormat::all() {
        compare(from, PixelFormat::Rgb, &Convert::new());
    }
}

#[test]
fn every_way() {
    let turned = Convert::new().rotation(Rotation::Quarter).fit(Fit::letterbox(9));
    compare(PixelFormat::Nv12, PixelFormat::PlanarRgba, &turned);
    compare(PixelFormat::Rgba, PixelFormat::Nv12, &Convert::new().filter(Filter::Lanczos3));
    // The same size: rows stay rows, with chroma repeated and between samples.
    let same = |filter| {
        Convert::new().crop(Region::new(2, 0, 9, 7)).into(Region::new(0, 1, 9, 7)).filter(filter)
    };
    compare(PixelFormat::Nv12, PixelFormat::Rgb, &same(Filter::Nearest));
    compare(PixelFormat::I420, PixelFormat::PlanarRgb, &same(Filter::Bilinear));
    compare(PixelFormat::Yuyv, PixelFormat::Grey, &same(Filter::Bilinear));
}

/// Whether luma goes straight to red, green and blue.
fn is_direct(size: (usize, usize), from: PixelFormat, convert: &Convert) -> bool {
    let source = image(size.0, size.1, from, DType::U8);
    let target = image(size.0, size.1, PixelFormat::Rgb, DType::U8);
    let job = Job::new(&source, &target, convert).unwrap();
    let ways = kernels::portable::KERNELS.ways;
    passes(&job, ways).iter().all(|pass| pass.direct.is_some())
}

#[test]
fn the_same_size() {
    use PixelFormat::*;
    for filter in [Filter::Nearest, Filter::Bilinear, Filter::Antialiased] {
        let convert = Convert::new().filter(filter);
        for from in [Nv12, Nv21, I420, Nv24, Yuyv, Uyvy] {
            for width in [1, 2, 3, 16, 31, 32, 33, 64, 65, 66, 127, 130, 200] {
                for to in [Rgb, Bgr, PlanarRgb, Rgba] {
                    compare_sizes((width, 5), (width, 5), from, to, &convert);
                }
            }
            assert!(is_direct((130, 5), from, &convert), "{from} {filter:?}");
            // A part of the picture, from even and odd places on.
            for left in 0..4 {
                let part = convert.clone().crop(Region::new(left, 1, 70, 3));
                compare_sizes((77, 5), (70, 3), from, Rgb, &part);
            }
        }
    }
}

#[test]
fn single_samples() {
    let nearest = Convert::new().filter(Filter::Nearest);
    // Every third pixel of every third row, which the middle of a bilinear filter falls on.
    let thirds = Convert::new()
        .crop(Region::new(1, 1, 18, 6))
        .into(Region::new(2, 4, 6, 2))
        .filter(Filter::Bilinear);
    let mirrored = nearest.clone().flips(true, true);
    for from in PixelFormat::all() {
        for to in [PixelFormat::Bgr, PixelFormat::Nv12, PixelFormat::PlanarRgba] {
            for convert in [&nearest, &thirds, &mirrored] {
                compare(from, to, convert);
            }
        }
    }
}

#[test]
fn half_the_size() {
    use PixelFormat::*;
    let widths = [1, 2, 3, 4, 7, 8, 15, 16, 17, 18, 31, 32, 33, 64, 65, 100];
    for filter in [Filter::Antialiased, Filter::Bilinear, Filter::Area, Filter::Lanczos3] {
        let convert = Convert::new().filter(filter);
        for width in widths {
            for from in [Nv12, Nv21, Nv16, Nv24, I420, Grey, PlanarRgb, Yuyv, Rgba, P010] {
                compare_sizes((2 * width, 6), (width, 5), from, Rgb, &convert);
                compare_sizes((2 * width, 8), (width, 4), from, PlanarRgb, &convert);
            }
        }
    }
    let antialiased = Convert::new().filter(Filter::Antialiased);
    for from in [Nv12, Nv21, Nv16, I420, Grey, PlanarRgb] {
        assert!(is_regular((128, 6), (64, 5), from, &antialiased), "{from}");
    }
    // Samples that lie apart in memory, or are more than two for an output, or not whole.
    for from in [Nv24, Yuyv, Rgba] {
        assert!(!is_regular((128, 6), (64, 5), from, &antialiased), "{from}");
    }
    assert!(!is_regular((128, 6), (32, 5), Nv12, &antialiased));
    assert!(!is_regular((129, 6), (64, 5), Nv12, &antialiased));
    // A part of the picture, whose neighbours do not count, at any place.
    for left in 0..5 {
        let cropped = antialiased.clone().crop(Region::new(left, 1, 80, 8));
        compare_sizes((93, 11), (40, 4), Nv12, Bgra, &cropped);
        compare_sizes((93, 11), (40, 4), I420, Grey, &cropped);
        compare_sizes((93, 11), (40, 4), Grey, Nv12, &cropped);
    }
    let mirrored = antialiased.flips(true, false);
    compare_sizes((128, 6), (64, 5), Nv12, Rgb, &mirrored);
}

#[test]
fn turned_by_a_quarter() {
    use PixelFormat::*;
    for rotation in [Rotation::Quarter, Rotation::ThreeQuarters] {
        for (width, height) in [(1, 1), (5, 3), (16, 16), (17, 33), (40, 18), (64, 31)] {
            let turned = Convert::new().rotation(rotation).fit(Fit::letterbox(7));
            for to in [Rgb, Bgr, Rgba, Grey, PlanarRgb, PlanarRgba, Nv12] {
                for from in [Nv12, Rgb, Grey] {
                    compare_sizes((2 * width, height), (height, width), from, to, &turned);
                }
            }
        }
    }
}

/// Whether rows are resized along first, and whether one kernel then sums and stores them.
fn is_gathered(
    size: (usize, usize),
    into: (usize, usize),
    from: PixelFormat,
    to: &Convert,
) -> Option<bool> {
    let source = image(size.0, size.1, from, DType::U8);
    let target = image(into.0, into.1, PixelFormat::Rgb, DType::U8);
    let job = Job::new(&source, &target, to).unwrap();
    let passes = passes(&job, &[Way::NARROW, Way::APART]);
    passes.first().and_then(|pass| pass.gathered.as_ref()).map(|gathered| gathered.at_once)
}

#[test]
fn larger_and_a_little_smaller() {
    use PixelFormat::*;
    let sizes = [(17, 16), (20, 33), (33, 20), (64, 90), (100, 70), (70, 200), (16, 300)];
    let nearly_half = [(33, 17), (65, 33), (100, 51), (100, 55)];
    for filter in [Filter::Antialiased, Filter::Bilinear, Filter::Area] {
        let convert = Convert::new().filter(filter);
        for (width, into) in sizes.into_iter().chain(nearly_half) {
            for from in [Nv12, Nv21, Nv16, Nv24, I420, Grey, PlanarRgb, Yuyv, Uyvy, Rgb, Bgra] {
                for to in [Rgb, Bgr, PlanarRgb, PlanarRgba, Grey, Rgba, Nv12] {
                    compare_sizes((width, 9), (into, 13), from, to, &convert);
                }
                compare_sizes((width, 9), (into, 7), from, Rgb, &convert);
            }
        }
    }
    let antialiased = Convert::new().filter(Filter::Antialiased);
    for from in [Nv12, Nv21, Nv16, I420] {
        assert_eq!(is_gathered((64, 9), (90, 13), from, &antialiased), Some(true), "{from}");
        assert_eq!(is_gathered((64, 9), (50, 7), from, &antialiased), Some(true), "{from}");
        assert_eq!(is_gathered((64, 9), (33, 5), from, &antialiased), Some(true), "{from}");
    }
    assert_eq!(is_gathered((64, 9), (90, 13), Grey, &antialiased), Some(false));
    assert_eq!(is_gathered((64, 9), (90, 13), PlanarRgb, &antialiased), Some(false));
    // Samples that are too far from each other, or too many, or too few.
    assert_eq!(is_gathered((64, 9), (30, 7), Nv12, &antialiased), None);
    assert_eq!(is_gathered((64, 9), (60, 3), Nv12, &antialiased), None);
    assert_eq!(is_gathered((64, 9), (60, 7), Rgba, &antialiased), None);
    assert_eq!(is_gathered((15, 9), (60, 7), Nv12, &antialiased), None);
    // A part of the picture, whose neighbours do not count, at any place, and mirrors.
    for left in 0..5 {
        let cropped = antialiased.clone().crop(Region::new(left, 1, 80, 8));
        compare_sizes((93, 11), (100, 14), Nv12, Bgra, &cropped);
        compare_sizes((93, 11), (100, 14), I420, Rgb, &cropped);
        compare_sizes((93, 11), (41, 5), Nv21, Rgb, &cropped);
        compare_sizes((93, 11), (100, 14), Nv12, PlanarRgb, &cropped.flips(true, true));
    }
    let mirrored = antialiased.flips(true, true);
    compare_sizes((64, 60), (90, 50), Nv12, Rgb, &mirrored);
}

#[test]
fn wide_and_up_to_four_times_smaller() {
    use PixelFormat::*;
    let antialiased = Convert::new().filter(Filter::Antialiased);
    let sizes = [((700, 9), (300, 4)), ((640, 13), (200, 4)), ((580, 30), (149, 8))];
    let sizes = sizes.into_iter().chain([((290, 12), (150, 6)), ((300, 21), (257, 20))]);
    for (size, into) in sizes {
        for from in [Nv12, Nv21, Nv16, Nv24, I420, Grey, PlanarRgb, Yuyv, Rgba] {
            for to in [Rgb, Bgr, PlanarRgb, Rgba, Grey, Nv12] {
                compare_sizes(size, into, from, to, &antialiased);
            }
        }
    }
    for left in [0, 1, 62, 63] {
        let cropped = antialiased.clone().crop(Region::new(left, 1, 400, 20));
        compare_sizes((463, 22), (160, 7), Nv12, Rgb, &cropped);
        compare_sizes((463, 22), (150, 7), Yuyv, Rgb, &cropped.flips(true, true));
    }
    // Kernels that gather many samples do so.
    let (source, target) = (image(640, 12, Nv12, DType::U8), image(200, 4, Rgb, DType::U8));
    let job = Job::new(&source, &target, &antialiased).unwrap();
    for kernels in kernels::all() {
        let gathers_more = kernels.ways.iter().any(|way| way.pairs > 2);
        let pass = &passes(&job, kernels.ways)[0];
        assert_eq!(pass.gathered.as_ref().is_some_and(|all| all.at_once), gathers_more);
    }
}

#[test]
fn rows_that_are_dealt_out() {
    use PixelFormat::*;
    let antialiased = Convert::new().filter(Filter::Antialiased);
    let mirrored = antialiased.clone().flips(true, true);
    let cropped = antialiased.clone().crop(Region::new(3, 1, 960, 5));
    for from in [Yuyv, Uyvy] {
        for to in [Rgb, Bgr, PlanarRgb, Rgba, Grey, Nv12] {
            compare_sizes((1001, 5), (2050, 8), from, to, &antialiased);
        }
        compare_sizes((1300, 9), (950, 7), from, Rgb, &antialiased);
        compare_sizes((1300, 9), (950, 7), from, PlanarRgb, &mirrored);
        compare_sizes((1001, 7), (2049, 9), from, Rgb, &mirrored);
        compare_sizes((1001, 7), (2001, 9), from, Rgb, &cropped);
    }
    let is_dealt = |size: (usize, usize), into: (usize, usize), ways: &[Way]| {
        let (source, target) =
            (image(size.0, size.1, Yuyv, DType::U8), image(into.0, into.1, Rgb, DType::U8));
        let job = Job::new(&source, &target, &antialiased).unwrap();
        passes(&job, ways)[0].gathered.as_ref().is_some_and(|gathered| gathered.dealt.is_some())
    };
    for kernels in kernels::all() {
        assert!(is_dealt((1001, 5), (2050, 8), kernels.ways), "{}", kernels.name);
        // Longer windows pay for shorter rows, if there are not many more source rows than others.
        let long = kernels.ways[0].window >= 64;
        assert_eq!(is_dealt((640, 5), (800, 8), kernels.ways), long, "{}", kernels.name);
        assert_eq!(is_dealt((1300, 9), (950, 7), kernels.ways), long, "{}", kernels.name);
        assert!(!is_dealt((640, 9), (500, 7), kernels.ways), "{}", kernels.name);
        assert!(!is_dealt((1900, 9), (950, 5), kernels.ways), "{}", kernels.name);
    }
}

#[test]
fn destinations_that_no_cache_has_room_for() {
    const SIZE: (usize, usize) = (1700, 1300);
    let floats = |(width, height)| {
        let memory = Some(TensorMemory::Mem);
        TensorDyn::image(width, height, PixelFormat::PlanarRgb, DType::F32, memory, None).unwrap()
    };
    let source = image(150, 9, PixelFormat::Nv12, DType::U8);
    let convert = Convert::new().normalize(Normalize::scale(1.0 / 255.0));
    for kernels in kernels::all() {
        let cpu = Cpu::with_kernels(kernels, Threads::One);
        let large = floats(SIZE);
        for (at, width) in [1, 15, 16, 17, 31, 32, 40, 64, 100, 200].into_iter().enumerate() {
            let (left, top) = (3 * at + width % 5, 20 * at);
            let small = floats((width, 12));
            cpu.run(&Job::new(&source, &small, &convert).unwrap()).unwrap();
            let there = convert.clone().into(Region::new(left, top, width, 12));
            cpu.run(&Job::new(&source, &large, &there).unwrap()).unwrap();
            let (small, large) = (small.map_read().unwrap(), large.map_read().unwrap());
            let (small, large) = (small.as_slice(), large.as_slice());
            for (plane, row) in (0..3).flat_map(|plane| (0..12).map(move |row| (plane, row))) {
                let expected = &small[4 * width * (12 * plane + row)..][..4 * width];
                let first = 4 * (SIZE.0 * (SIZE.1 * plane + top + row) + left);
                let (name, found) = (kernels.name, &large[first..][..4 * width]);
                assert_eq!(found, expected, "{name}: {width} pixels, row {row} of plane {plane}");
                // Nothing beside it.
                assert!(large[first + 4 * width..][..64].iter().all(|byte| *byte == 0), "{name}");
                assert!(
                    large[..first].iter().rev().take(4 * left).all(|byte| *byte == 0),
                    "{name}"
                );
            }
        }
    }
}

#[test]
fn one_colour_stays_one_colour() {
    use PixelFormat::{Nv12, Nv24, Rgb};
    // Sums of as many rows as 16 bits are enough for, and with a bit more: all lose the same.
    let codes = [0, 1, 2, 3, 16, 17, 64, 85, 127, 128, 129, 170, 200, 235, 240, 254, 255];
    for (height, format) in [(640, Nv12), (640, Nv24), (1280, Nv12), (1280, Nv24)] {
        let source = image(64, height, format, DType::U8);
        for (luma_code, chroma_code) in codes.iter().flat_map(|y| codes.map(|c| (*y, c))) {
            let mut map = source.map().unwrap();
            let (luma, chroma) = map.as_mut_slice().split_at_mut(64 * height);
            luma.fill(luma_code);
            chroma.fill(chroma_code);
            drop(map);
            let antialiased = Convert::new().filter(Filter::Antialiased);
            compare_images(&source, (2, 20), Rgb, &antialiased);
        }
    }
}

#[test]
fn bright_columns_beside_dark_ones() {
    // What bytes at even places add to those at odd ones is taken off again, and no more than that.
    for (height, even) in [640, 660].iter().flat_map(|h| (0..=255).step_by(5).map(|e| (*h, e))) {
        let source = image(40, height, PixelFormat::Nv12, DType::U8);
        let mut map = source.map().unwrap();
        map.as_mut_slice().chunks_mut(2).for_each(|pair| pair.copy_from_slice(&[even, 0]));
        drop(map);
        let antialiased = Convert::new().filter(Filter::Antialiased);
        compare_images(&source, (30, 20), PixelFormat::Rgb, &antialiased);
    }
}

#[test]
fn rows_that_are_far_from_each_other() {
    use PixelFormat::*;
    // Sums of few more rows than 16 bits are enough for, and of few less, and so with a bit more.
    for height in [600, 620, 1200, 1240] {
        let antialiased = Convert::new().filter(Filter::Antialiased);
        compare_sizes((2051, height), (20, 19), Nv12, Rgb, &antialiased);
    }
    for from in [Nv12, Yuyv, Rgba] {
        for filter in [Filter::Antialiased, Filter::Area, Filter::Lanczos3] {
            let convert = Convert::new().filter(filter);
            compare_sizes((2051, 170), (70, 20), from, Rgb, &convert);
        }
    }
}
