//! A camera of V4L2, whose frames are published in the driver's own buffers.

use std::path::Path;

use tenure::camera::{self, FourCc, Stream, Wanted};
use tenure::image::codec;
use tenure::stream::{Publisher, Spec};
use tenure::{DType, TensorDyn};

use super::{LOOK, Source, Taken, Tensor};
use crate::capture::{self, Format};
use crate::clock;
use crate::run::{Camera, Problem};
use crate::stop::Stop;

/// Buffers of the camera: enough for consumers to hold some.
const BUFFERS: usize = 8;
/// Those that the driver and the conversion need.
const OWN: usize = 3;
/// A camera that gives no frame for so long is stuck.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// A running camera.
pub(super) struct Live {
    about: String,
    stream: Stream,
    /// Whether frames are JPEG files.
    jpeg: bool,
}

impl Live {
    pub(super) fn open(told: &Camera) -> Result<Live, Problem> {
        let path = Path::new(&told.source);
        let mut wanted = match told.capture {
            None => Wanted::any(),
            Some(Format::Pixels(pixels)) => Wanted::pixels(pixels),
            Some(Format::Code(letters)) => Wanted::fourcc(FourCc::new(&letters)),
        };
        if let Some(size) = told.size {
            wanted = wanted.size(size.width, size.height);
        }
        if let Some(fps) = told.fps {
            wanted = wanted.fps(fps);
        }
        let mut camera = camera::Camera::open(path).map_err(capture::Problem::from)?;
        let wanted = wanted.buffers(BUFFERS).read_only();
        let mode = camera.negotiate(&wanted).map_err(capture::Problem::from)?;
        let stream = camera.stream().map_err(capture::Problem::from)?;
        let about = format!("{} ({}), {mode}", camera.identity().name, told.source);
        let jpeg =
            mode.pixels.is_none() && [FourCc::MJPG, FourCc::new(b"JPEG")].contains(&mode.fourcc);
        Ok(Live { about, stream, jpeg })
    }
}

impl Source for Live {
    fn about(&self) -> String {
        self.about.clone()
    }

    fn lends(&self) -> Option<usize> {
        (!self.jpeg).then(|| self.stream.buffers().saturating_sub(OWN).max(1))
    }

    fn next(&mut self, frames: &mut Publisher, stop: &Stop) -> Result<Option<Taken>, Problem> {
        let began = clock::now();
        loop {
            if stop.is_over() {
                return Ok(None);
            }
            let frame = match self.stream.next(LOOK) {
                Ok(Some(frame)) => frame,
                Ok(None) | Err(camera::Error::Starved { .. })
                    if clock::now().saturating_sub(began) < PATIENCE =>
                {
                    continue;
                }
                Ok(None) => return Err(capture::Problem::NoFrame { within: PATIENCE }.into()),
                Err(error) => return Err(capture::Problem::from(error).into()),
            };
            let missed = frame.dropped();
            let timestamp = frame.timestamp().unwrap_or_else(clock::now);
            let tensor = if !self.jpeg {
                Tensor::Brought(frame.into_tensor())
            } else {
                match decode(&frame, frames)? {
                    Some(slot) => Tensor::Filled(slot),
                    // Cameras send broken pictures now and then, the first ones above all.
                    None => continue,
                }
            };
            return Ok(Some(Taken { tensor, timestamp, missed }));
        }
    }
}

/// The picture of a JPEG file in a slot; `None` if it is broken.
fn decode(
    frame: &TensorDyn,
    frames: &mut Publisher,
) -> Result<Option<tenure::stream::Slot>, Problem> {
    let bytes = frame.map_read()?;
    let Ok(head) = codec::inspect(bytes.as_slice()) else { return Ok(None) };
    let spec = Spec::image_of(head.width, head.height, head.format, DType::U8, None)?;
    let slot = frames.claim_as(&spec)?;
    let mut target = slot.tensor().clone();
    let decoded = codec::decode_into(bytes.as_slice(), &mut target);
    drop(target);
    Ok(decoded.is_ok().then_some(slot))
}

#[cfg(test)]
mod tests {
    use tenure::PixelFormat;

    use super::*;

    /// What a camera that sends JPEG puts into a buffer: the file, and whatever was there before.
    fn frame(file: &[u8], room: usize) -> TensorDyn {
        let tensor = tenure::Tensor::<u8>::new(&[room], None, None).unwrap();
        let mut bytes = tensor.map().unwrap();
        bytes.as_mut_slice()[..file.len()].copy_from_slice(file);
        drop(bytes);
        tensor.to_dyn()
    }

    #[test]
    fn a_jpeg_is_decoded_into_a_slot_and_a_broken_one_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let builder = Publisher::builder("jpeg").directory(directory.path());
        let mut publisher = builder.open().unwrap();
        let picture = tenure::Tensor::<u8>::image(32, 16, PixelFormat::Rgb, None, None).unwrap();
        picture.fill(200).unwrap();
        let mut file = vec![];
        codec::encode_jpeg(&picture, 95, &mut file).unwrap();
        let whole = frame(&file, file.len() + 1000);
        let slot = decode(&whole, &mut publisher).unwrap().unwrap();
        assert_eq!((slot.width(), slot.height()), (Some(32), Some(16)));
        let bytes = slot.typed::<u8>().unwrap();
        assert!(bytes.map_read().unwrap().as_slice().iter().all(|it| it.abs_diff(200) <= 1));
        drop((bytes, slot));
        // Cut, empty, and noise after a good beginning: no slot stays claimed.
        let mut spoilt = file.clone();
        spoilt[file.len() / 2..].fill(0xff);
        for broken in [&file[..40], &[0; 100], &spoilt] {
            assert!(decode(&frame(broken, broken.len()), &mut publisher).unwrap().is_none());
        }
        assert!([publisher.claim(), publisher.claim()].iter().all(Result::is_ok));
    }
}
