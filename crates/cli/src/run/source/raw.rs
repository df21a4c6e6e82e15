//! A file of frames one after the other, each read straight into its slot.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};

use tenure::stream::{Publisher, Spec};
use tenure::{DType, ImageLayout, PixelFormat};

use super::{Source, Taken, Tensor};
use crate::clock;
use crate::convert::RawFrame;
use crate::run::Problem;
use crate::run::pace::Pace;
use crate::stop::Stop;
use crate::stream::{Unfilled, fill};

/// A raw video.
pub(super) struct RawVideo {
    path: PathBuf,
    file: File,
    frame: RawFrame,
    spec: Spec,
    frames: u64,
    /// The frame to read next.
    at: u64,
    pace: Pace,
    once: bool,
}

impl RawVideo {
    pub(super) fn open(
        path: &Path,
        frame: RawFrame,
        fps: f64,
        once: bool,
    ) -> Result<RawVideo, Problem> {
        let failed = |cause| Problem::Read { path: path.to_owned(), cause };
        let RawFrame { format, size } = frame;
        let dtype = if format == PixelFormat::P010 { DType::U16 } else { DType::U8 };
        let (width, height) = (size.width as usize, size.height as usize);
        let layout =
            ImageLayout::new(format, dtype, width, height, None).map_err(tenure::Error::from)?;
        let spec = Spec::image_of(format, dtype, width, height, None)?;
        let file = File::open(path).map_err(failed)?;
        let (have, need) = (file.metadata().map_err(failed)?.len(), layout.packed_bytes());
        let frames = have / need as u64;
        if frames == 0 || frames * need as u64 != have {
            let (path, width, height) = (path.to_owned(), size.width, size.height);
            return Err(Problem::RawSize { path, have, need, format, width, height });
        }
        let (path, pace) = (path.to_owned(), Pace::new(fps));
        Ok(RawVideo { path, file, frame, spec, frames, at: 0, pace, once })
    }
}

impl Source for RawVideo {
    fn about(&self) -> String {
        let RawFrame { format, size } = self.frame;
        let path = self.path.display();
        format!("{path}, {} frames of {format} {}x{}", self.frames, size.width, size.height)
    }

    fn next(&mut self, frames: &mut Publisher, stop: &Stop) -> Result<Option<Taken>, Problem> {
        if self.at == self.frames {
            if self.once {
                return Ok(None);
            }
            self.at = 0;
        }
        // Frames that are late are passed over in time, not in the file.
        if self.pace.wait(stop).is_none() {
            return Ok(None);
        }
        let timestamp = clock::now();
        if self.at == 0 {
            self.file
                .seek(SeekFrom::Start(0))
                .map_err(|cause| Problem::Read { path: self.path.clone(), cause })?;
        }
        let slot = frames.claim_as(&self.spec)?;
        fill(slot.tensor(), &mut self.file).map_err(|cause| match cause {
            Unfilled::Read(cause) => Problem::Read { path: self.path.clone(), cause },
            Unfilled::Tensor(error) => error.into(),
        })?;
        self.at += 1;
        Ok(Some(Taken { tensor: Tensor::Filled(slot), timestamp, missed: 0 }))
    }
}
