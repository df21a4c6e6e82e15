//! Camera to 640x640 f32 planar tensor, twenty frames.

use tenure::camera::Camera;
use tenure::image::{Convert, Fit, ImageProcessor, Normalize};
use tenure::{PixelFormat, Tensor};

pub(crate) fn camera(path: &str) -> tenure::Result<()> {
    let mut camera = Camera::open(path)?;
    camera.negotiate(tenure::camera::Wanted::pixels(PixelFormat::Nv12).size(1280, 720))?;
    let processor = ImageProcessor::new()?;
    let input = Tensor::<f32>::image(640, 640, PixelFormat::PlanarRgb, None, None)?;
    let how = Convert::new().fit(Fit::letterbox(114)).normalize(Normalize::scale(1.0 / 255.0));
    for frame in camera.stream()?.take(20) {
        let frame = frame?;
        processor.convert(&frame, &input, &how)?;
        let m = input.map_read()?;
        println!("{} {}", frame.sequence(), m[0]);
    }
    Ok(())
}
