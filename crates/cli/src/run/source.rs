//! Where frames come from.

mod camera;
mod jpegs;
mod motion;
mod pictures;
mod raw;
mod stream;
mod test_camera;

use std::path::Path;
use std::time::Duration;

use tenure::image::{self, codec};
use tenure::stream::{Publisher, Slot, Spec};
use tenure::{DType, TensorDyn};

use super::{Camera, Problem};
use crate::input::pipe::{self, Pipe};
use crate::stop::Stop;

/// Frames a second of sources that have no rate of their own.
const USUAL_RATE: f64 = 30.0;
/// How long to wait for a frame before looking whether it is over.
const LOOK: Duration = Duration::from_millis(100);

/// Gives frames, one after the other.
pub(super) trait Source {
    /// What it is, in words.
    fn about(&self) -> String;

    /// How many of its own buffers consumers may hold at one time, if frames are published in them.
    fn lends(&self) -> Option<usize> {
        None
    }

    /// The next frame, in a slot claimed from `frames` or in memory of the source's; `None` if it is
    /// over.
    fn next(&mut self, frames: &mut Publisher, stop: &Stop) -> Result<Option<Taken>, Problem>;
}

/// A frame of a source.
pub(super) struct Taken {
    pub(super) tensor: Tensor,
    /// When it was taken, by `CLOCK_MONOTONIC`.
    pub(super) timestamp: Duration,
    /// Frames that were lost before it.
    pub(super) missed: u64,
}

/// Where a frame is.
pub(super) enum Tensor {
    /// In the stream already.
    Filled(Slot),
    /// In memory of the source's.
    Brought(TensorDyn),
}

/// A pipe that ends when the command does.
type Piped = Pipe<Box<dyn Fn() -> bool>>;

/// Opens what a camera's source says.
pub(super) fn open(camera: &Camera, stop: &Stop) -> Result<Box<dyn Source>, Problem> {
    let word = camera.source.as_str();
    let path = Path::new(word);
    if let Some(name) = word.strip_prefix("stream:") {
        refuse(camera, &[&FROM, &SIZE, &FPS, &CAPTURE, &ONCE])?;
        return Ok(Box::new(stream::Other::open(name, stop)?));
    }
    if word == "test" {
        refuse(camera, &[&FROM, &CAPTURE, &ONCE])?;
        return Ok(Box::new(test_camera::TestCamera::new(camera.size, rate(camera))?));
    }
    if pipe::is_one(path) {
        refuse(camera, &[&SIZE, &CAPTURE])?;
        let stop = stop.clone();
        let pipe = Pipe::open(path, Box::new(move || stop.is_over()) as Box<dyn Fn() -> bool>)
            .map_err(|cause| Problem::Read { path: path.to_owned(), cause })?;
        return Ok(match camera.from {
            Some(frame) => Box::new(raw::RawVideo::piped(path, pipe, frame, camera.fps)?),
            None => Box::new(motion::MotionJpeg::piped(path, pipe, camera.fps)),
        });
    }
    if let Some(frame) = camera.from {
        refuse(camera, &[&SIZE, &CAPTURE])?;
        return Ok(Box::new(raw::RawVideo::open(path, frame, rate(camera), camera.once)?));
    }
    if path.is_dir() || path.is_file() {
        refuse(camera, &[&SIZE, &CAPTURE])?;
        if path.is_file()
            && let Some(video) = motion::MotionJpeg::open(path, rate(camera), camera.once)?
        {
            return Ok(Box::new(video));
        }
        return Ok(Box::new(pictures::Pictures::open(path, rate(camera), camera.once)?));
    }
    if !word.starts_with("/dev/") {
        return Err(Problem::NoSource(word.to_owned()));
    }
    refuse(camera, &[&ONCE])?;
    Ok(Box::new(camera::Live::open(camera)?))
}

fn rate(camera: &Camera) -> f64 {
    camera.fps.unwrap_or(USUAL_RATE)
}

/// Decodes a picture straight into a slot. The outer error is the stream's, the inner one says what
/// is wrong with the picture.
fn decode(bytes: &[u8], frames: &mut Publisher) -> Result<Result<Slot, image::Error>, Problem> {
    let head = match codec::inspect(bytes) {
        Ok(head) => head,
        Err(cause) => return Ok(Err(cause)),
    };
    let spec = Spec::image_of(head.width, head.height, head.format, DType::U8, None)?;
    let slot = frames.claim_as(&spec)?;
    let mut target = slot.tensor().clone();
    let decoded = codec::decode_into(bytes, &mut target);
    drop(target);
    Ok(decoded.map(|()| slot))
}

/// An option that only some sources have.
struct Particular {
    option: &'static str,
    for_what: &'static str,
    given: fn(&Camera) -> bool,
}

const FROM: Particular = Particular {
    option: "--from",
    for_what: "raw video files",
    given: |camera| camera.from.is_some(),
};
const SIZE: Particular =
    Particular { option: "--size", for_what: "cameras", given: |camera| camera.size.is_some() };
const FPS: Particular = Particular {
    option: "--fps",
    for_what: "cameras and files",
    given: |camera| camera.fps.is_some(),
};
const CAPTURE: Particular = Particular {
    option: "--capture",
    for_what: "cameras of V4L2",
    given: |camera| camera.capture.is_some(),
};
const ONCE: Particular =
    Particular { option: "--once", for_what: "files", given: |camera| camera.once };

fn refuse(camera: &Camera, options: &[&Particular]) -> Result<(), Problem> {
    match options.iter().find(|particular| (particular.given)(camera)) {
        None => Ok(()),
        Some(Particular { option, for_what, .. }) => {
            Err(Problem::OptionFor { option, for_what, name: camera.source.clone() })
        }
    }
}
