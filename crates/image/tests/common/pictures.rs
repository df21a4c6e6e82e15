//! Random conversions, and what an engine makes of them against the definition.
#![allow(dead_code, reason = "not every test uses everything")]

use half::{bf16, f16};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use tenure_image::{Convert, EngineKind, Filter, Fit, ImageProcessor, Normalize, Rotation, Siting};
use tenure_layout::{Colour, DType, PixelFormat, Region};
use tenure_tensor::{DynTensor, TensorDyn, TensorMemory};

pub(crate) fn processor(kind: EngineKind, threads: usize) -> ImageProcessor {
    let config = ImageProcessor::builder().engines(vec![kind]).threads(threads);
    config.build().unwrap()
}

pub(crate) fn image(
    (width, height): (usize, usize),
    format: PixelFormat,
    dtype: DType,
    padding: usize,
) -> TensorDyn {
    let packed = TensorDyn::image(width, height, format, dtype, Some(TensorMemory::Mem), None);
    let packed = packed.unwrap();
    if padding == 0 {
        return packed;
    }
    let stride = packed.effective_row_stride().unwrap() + padding * 16;
    TensorDyn::image_builder(width, height, format, dtype)
        .row_stride(stride)
        .memory(TensorMemory::Mem)
        .build()
        .unwrap()
}

/// Bytes that differ, with edges and flat parts, or all the same, or black and white.
pub(crate) fn paint(image: &TensorDyn, seed: u64, kind: u8) {
    let mut map = image.map_span().unwrap();
    let mut state = seed | 1;
    for (at, byte) in map.as_mut_slice().iter_mut().enumerate() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte = match kind {
            0 => state as u8,
            1 => (at / 7 % 256) as u8,
            2 => {
                if at / 13 % 2 == 0 {
                    255
                } else {
                    0
                }
            }
            3 => (seed >> 8) as u8,
            _ => (state as i8 >> 7) as u8,
        };
    }
}

/// The numbers of an image without padding.
pub(crate) fn numbers(image: &TensorDyn) -> Vec<f64> {
    let mut flat = vec![0; image.flat_bytes()];
    image.copy_to_flat(&mut flat).unwrap();
    match image.dtype() {
        DType::U8 => flat.iter().map(|byte| f64::from(*byte)).collect(),
        DType::I8 => flat.iter().map(|byte| f64::from(*byte as i8)).collect(),
        DType::F32 => {
            flat.chunks(4).map(|b| f64::from(f32::from_ne_bytes(b.try_into().unwrap()))).collect()
        }
        DType::F16 => {
            flat.chunks(2).map(|b| f16::from_ne_bytes(b.try_into().unwrap()).to_f64()).collect()
        }
        _ => flat.chunks(2).map(|b| bf16::from_ne_bytes(b.try_into().unwrap()).to_f64()).collect(),
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) source: ((usize, usize), PixelFormat, usize),
    pub(crate) target: ((usize, usize), PixelFormat, DType, usize),
    pub(crate) convert: Convert,
    pub(crate) colour: Option<Colour>,
    pub(crate) paint: (u64, u8),
    pub(crate) threads: usize,
}

fn size() -> impl Strategy<Value = (usize, usize)> {
    prop_oneof![
        3 => (1usize..100, 1usize..100),
        1 => (1usize..9, 1usize..9),
        1 => (100usize..420, 1usize..300),
    ]
}

fn region(within: (usize, usize)) -> impl Strategy<Value = Option<Region>> {
    let some = (0..within.0, 0..within.1).prop_flat_map(move |(x, y)| {
        (1..=within.0 - x, 1..=within.1 - y).prop_map(move |(w, h)| Some(Region::new(x, y, w, h)))
    });
    prop_oneof![2 => Just(None), 1 => some]
}

fn targets() -> impl Strategy<Value = (PixelFormat, DType)> {
    use PixelFormat::{Bgr, Bgra, Grey, Nv12, PlanarRgb, PlanarRgba, Rgb, Rgba};
    let format =
        prop::sample::select(vec![Rgb, Bgr, Rgba, Bgra, Grey, PlanarRgb, PlanarRgba, Nv12]);
    let dtype = prop::sample::select(vec![
        DType::U8,
        DType::U8,
        DType::I8,
        DType::F32,
        DType::F16,
        DType::Bf16,
    ]);
    (format, dtype).prop_map(|(format, dtype)| {
        (format, if format == PixelFormat::Nv12 { DType::U8 } else { dtype })
    })
}

pub(crate) fn cases() -> impl Strategy<Value = Case> {
    let sources: Vec<PixelFormat> = PixelFormat::all().collect();
    let sizes = (size(), size(), 0u8..3).prop_map(|(from, to, same)| {
        // Often without a change of size, which has ways of its own.
        if same == 0 { (from, from) } else { (from, to) }
    });
    (sizes, prop::sample::select(sources), targets(), 0usize..3, 0usize..3).prop_flat_map(
        |((from, to), source, (target, dtype), pad_source, pad_target)| {
            let filters: Vec<Filter> = Filter::all().collect();
            let normalize = prop::sample::select(vec![
                Normalize::NONE,
                Normalize::NONE,
                Normalize::scale(1.0 / 255.0),
                Normalize::IMAGENET,
            ]);
            let fit = prop::sample::select(vec![
                Fit::Stretch,
                Fit::Letterbox { fill: [114, 20, 255, 7] },
                Fit::Cover,
            ]);
            let turn = (0u32..4, any::<bool>(), any::<bool>());
            let colour =
                prop::option::of((0u8..6).prop_map(|code| Colour::from_code(code).unwrap()));
            let siting = prop::option::of(prop::sample::select(vec![Siting::Centre, Siting::Left]));
            let into =
                if target == PixelFormat::Nv12 { Just(None).boxed() } else { region(to).boxed() };
            (
                region(from),
                into,
                fit,
                turn,
                prop::sample::select(filters),
                (normalize, colour, siting),
                (any::<u64>(), 0u8..5),
                1usize..3,
            )
                .prop_map(
                    move |(crop, into, fit, turn, filter, look, paint, threads)| {
                        let (normalize, colour, siting) = look;
                        let integers = matches!(dtype, DType::U8 | DType::I8);
                        let normalize = match (integers, normalize == Normalize::NONE) {
                            (true, false) => normalize.quantized(1.0 / 50.0, 3),
                            _ => normalize,
                        };
                        let convert = Convert::new()
                            .crop(crop)
                            .into(into)
                            .fit(fit)
                            .rotation(Rotation::from_degrees(turn.0 * 90).unwrap())
                            .flips(turn.1, turn.2)
                            .filter(filter)
                            .siting(siting)
                            .normalize(normalize);
                        Case {
                            source: (from, source, pad_source),
                            target: (to, target, dtype, pad_target),
                            convert,
                            colour,
                            paint,
                            threads,
                        }
                    },
                )
        },
    )
}

/// How far results may differ: so many codes where codes are stored, a fraction of one where
/// floats are, as the documentation of the crate has it.
pub(crate) fn tolerance(dtype: DType, convert: &Convert, value: f64, codes: f64) -> f64 {
    // What a code is after the normalisation, where that is most.
    let least = convert.get_normalize().std.into_iter().fold(f32::INFINITY, f32::min);
    let code = (f64::from(convert.get_normalize().scale) / f64::from(least)).abs();
    let float = match convert.get_filter() {
        _ if codes <= 1.0 && code >= 0.5 => 0.5 * code,
        _ if codes <= 1.0 => f64::min(0.5 * code, f64::max(0.002, 0.02 * code)),
        Filter::Bicubic | Filter::Lanczos3 => 0.5 * code,
        _ => 0.3 * code,
    };
    match dtype {
        DType::U8 | DType::I8 => codes,
        DType::F32 => float,
        DType::F16 => float + value.abs() / 1024.0,
        _ => float + value.abs() / 128.0,
    }
}

/// Converts with the processor and with the definition, in memory that `make` makes, and compares.
pub(crate) fn check(
    case: &Case,
    processor: &ImageProcessor,
    codes: f64,
    make: impl Fn((usize, usize), PixelFormat, DType, usize) -> TensorDyn,
) -> Result<(), TestCaseError> {
    check_with(case, (&self::processor(EngineKind::Reference, 1), processor), codes, make)
}

/// The same with two processors.
pub(crate) fn check_with(
    case: &Case,
    (reference, processor): (&ImageProcessor, &ImageProcessor),
    codes: f64,
    make: impl Fn((usize, usize), PixelFormat, DType, usize) -> TensorDyn,
) -> Result<(), TestCaseError> {
    let (from, format, padding) = case.source;
    let dtype = if format == PixelFormat::P010 { DType::U16 } else { DType::U8 };
    let mut source = make(from, format, dtype, padding);
    paint(&source, case.paint.0, case.paint.1);
    source.set_colour(case.colour);
    let (to, format, dtype, padding) = case.target;
    let (expected, result) = (image(to, format, dtype, padding), make(to, format, dtype, padding));
    paint(&expected, 99, 3);
    paint(&result, 99, 3);
    let placement = reference.convert(&source, &expected, &case.convert);
    match (placement, processor.convert(&source, &result, &case.convert)) {
        (Ok(a), Ok(b)) => prop_assert_eq!(a, b),
        (Err(a), Err(b)) => {
            prop_assert_eq!(a.to_string(), b.to_string());
            return Ok(());
        }
        (a, b) => return Err(TestCaseError::fail(format!("{a:?} but {b:?}"))),
    }
    let (expected, result) = (numbers(&expected), numbers(&result));
    for (at, (want, have)) in expected.iter().zip(&result).enumerate() {
        let close = (want - have).abs() <= tolerance(dtype, &case.convert, *want, codes);
        prop_assert!(
            close || want == have || want.is_nan() && have.is_nan(),
            "at {at}: {have}, not {want}"
        );
    }
    Ok(())
}
