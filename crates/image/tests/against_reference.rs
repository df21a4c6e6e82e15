//! Every engine against the definition, over random sizes, formats, strides and geometry.

#[path = "common/pictures.rs"]
mod pictures;

use pictures::{Case, cases, check, image, processor, tolerance};
use proptest::prelude::*;
use proptest::test_runner::Config;
use tenure_image::{EngineKind, Filter, Normalize};
use tenure_layout::{DType, PixelFormat};

proptest! {
    #![proptest_config(Config { cases: 400, ..Config::default() })]

    /// The numbers that the documentation of the crate gives, as they are stored.
    #[test]
    fn normalised_floats_are_as_exact_as_is_said(case in cases(), imagenet in any::<bool>()) {
        let (size, format, _, padding) = case.target;
        prop_assume!(format != PixelFormat::Nv12);
        let wide = matches!(case.convert.filter, Filter::Bicubic | Filter::Lanczos3);
        let (normalize, said) = match (imagenet, wide) {
            (true, _) if case.convert.filter == Filter::Lanczos3 => (Normalize::IMAGENET, 0.0025),
            (true, _) => (Normalize::IMAGENET, 0.002),
            (false, false) => (Normalize::scale(1.0 / 255.0), 0.0012),
            (false, true) => (Normalize::scale(1.0 / 255.0), 0.002),
        };
        let convert = case.convert.clone().with_normalize(normalize);
        prop_assert!(tolerance(DType::F32, &convert, 0.0, 1.0) <= said);
        let case = Case { target: (size, format, DType::F32, padding), convert, ..case };
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
        command.args(["the_cpu_agrees_with_the_definition", "normalised_floats"]);
        command.env("TENURE_IMAGE_KERNELS", name).env("PROPTEST_CASES", "150");
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("2 passed"), "{name}: {said}");
    }
}
