//! Every engine against the definition, over random sizes, formats, strides and geometry.

#[path = "common/pictures.rs"]
mod pictures;

use pictures::{cases, check, image, processor};
use proptest::prelude::*;
use proptest::test_runner::Config;
use tenure_image::EngineKind;

proptest! {
    #![proptest_config(Config { cases: 400, ..Config::default() })]

    #[test]
    fn the_cpu_agrees_with_the_definition(case in cases()) {
        check(&case, &processor(EngineKind::Cpu, case.threads), 1.0, image)?;
    }
}
