//! The OpenGL engine against the definition, with the driver that is installed here.
#![cfg(all(target_os = "linux", feature = "gl"))]

#[path = "common/pictures.rs"]
mod pictures;

use std::sync::LazyLock;

use pictures::{cases, check, image, processor};
use proptest::prelude::*;
use proptest::test_runner::Config;
use tenure_image::{EngineKind, ImageProcessor};

static GL: LazyLock<ImageProcessor> = LazyLock::new(|| processor(EngineKind::Gl, 1));

proptest! {
    #![proptest_config(Config { cases: 200, ..Config::default() })]

    #[test]
    fn copied_pictures_agree_with_the_definition(case in cases()) {
        check(&case, &GL, 2.0, image)?;
    }
}
