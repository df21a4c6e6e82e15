//! PNG to a 224x224 normalised f32 NCHW batch of 2.
//!
//! First written with `with_fit` and `with_normalize`: options are named after what they set. The
//! batch says that its elements are planar pictures, which a shape alone does not.

use std::path::Path;

use tenure::image::{Convert, Fit, ImageProcessor, Normalize, codec};
use tenure::{PixelFormat, Tensor};

pub(crate) fn convert(path: &Path) -> tenure::Result<()> {
    let src = Tensor::<u8>::image(320, 200, PixelFormat::Rgb, None, None)?;
    src.fill(200)?;
    codec::save(path, &src)?;
    let pic = codec::open(path)?;
    let batch = Tensor::<f32>::builder(&[2, 3, 224, 224]).format(PixelFormat::PlanarRgb).build()?;
    let p = ImageProcessor::new()?;
    let how = Convert::default().fit(Fit::Stretch).normalize(Normalize::IMAGENET);
    for i in 0..2 {
        p.convert(&pic, &batch.batch(i)?, &how)?;
    }
    let expected = (200.0 / 255.0 - 0.485) / 0.229;
    assert!((batch.batch(1)?.map_read()?[0] - expected).abs() < 0.01);
    Ok(())
}
