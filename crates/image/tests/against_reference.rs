//! Every engine against the definition, over random sizes, formats, strides and geometry.

#[path = "common/pictures.rs"]
mod pictures;

use pictures::{Case, cases, check, image, processor, tolerance};
use proptest::prelude::*;
use proptest::test_runner::Config;
use tenure_image::{EngineKind, Normalize};
use tenure_layout::{DType, PixelFormat};

/// What models are given, and how far from it numbers may be.
const NORMALIZED: [(Normalize, f64); 7] = [
    (Normalize::scale(1.0 / 255.0), 0.002),
    (Normalize::mean_std(1.0 / 255.0, [0.5; 3], [0.5; 3]), 0.002),
    (Normalize::IMAGENET, 0.002),
    // Codes that become numbers far from each other, a little and much.
    (Normalize::mean_std(1.0 / 255.0, [0.1; 3], [0.05; 3]), 0.002),
    (Normalize::mean_std(0.25, [25.0; 3], [1.0; 3]), 0.005),
    // Numbers that are codes.
    (Normalize::NONE, 0.5),
    (Normalize::mean_std(1.0, [104.0, 117.0, 123.0], [1.0; 3]), 0.5),
];

proptest! {
    #![proptest_config(Config { cases: 400, ..Config::default() })]

    /// The numbers that the documentation of the crate gives, as they are stored.
    #[test]
    fn floats_are_as_exact_as_is_said(
        case in cases(),
        (normalize, said) in prop::sample::select(NORMALIZED.to_vec()),
    ) {
        let (size, format, _, padding) = case.target;
        prop_assume!(format != PixelFormat::Nv12);
        let convert = case.convert.clone().normalize(normalize);
        prop_assert!(tolerance(DType::F32, &convert, 0.0, 1.0) <= said);
        let case = Case { target: (size, format, DType::F32, padding), convert, ..case };
        check(&case, &processor(EngineKind::Cpu, 1), 1.0, image)?;
    }

    /// Integers are off by one at most, however much a code is of what they are in.
    #[test]
    fn integers_are_as_exact_as_is_said(
        case in cases(),
        steps in prop::sample::select(vec![0.1f32, 0.9, 1.7, 6.0, 40.0]),
        signed in any::<bool>(),
    ) {
        let (size, format, _, padding) = case.target;
        prop_assume!(format != PixelFormat::Nv12);
        let dtype = if signed { DType::I8 } else { DType::U8 };
        let normalize = Normalize::scale(1.0).quantized(1.0 / steps, -9);
        let convert = case.convert.clone().normalize(normalize);
        let case = Case { target: (size, format, dtype, padding), convert, ..case };
        check(&case, &processor(EngineKind::Cpu, 1), 1.0, image)?;
    }

    #[test]
    fn the_cpu_agrees_with_the_definition(case in cases()) {
        check(&case, &processor(EngineKind::Cpu, case.threads), 1.0, image)?;
    }
}

/// The instructions that a processor would not choose by itself give pictures that are as exact.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[test]
fn other_instructions_agree_with_the_definition() {
    use std::arch::is_x86_feature_detected;
    use std::process::Command;

    let long = is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vnni");
    let short = is_x86_feature_detected!("avx2");
    let all = [("avx512", long), ("zen4", long), ("avx2", short), ("portable", true)];
    for (name, _) in all.into_iter().filter(|(_, available)| *available) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["the_cpu_agrees_with_the_definition", "as_exact_as_is_said"]);
        command.env("TENURE_IMAGE_KERNELS", name).env("PROPTEST_CASES", "150");
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("3 passed"), "{name}: {said}");
    }
}
