//! Frames one after the other in a file or in a pipe, each read straight into its slot.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use tenure::stream::{Publisher, Spec, Unfilled, fill};
use tenure::{DType, ImageLayout, PixelFormat};

use super::{Piped, Source, Taken, Tensor};
use crate::convert::RawFrame;
use crate::run::Problem;
use crate::run::pace::Pace;
use crate::stop::Stop;
use crate::{clock, input};

/// A raw video.
pub(super) struct RawVideo {
    path: PathBuf,
    from: From,
    frame: RawFrame,
    spec: Spec,
    /// `None` if frames come when they come.
    pace: Option<Pace>,
    once: bool,
}

/// Where the frames are.
enum From {
    File {
        file: File,
        frames: u64,
        /// The frame to read next.
        at: u64,
    },
    Pipe(BufReader<Piped>),
}

/// What slots a frame needs, and how many bytes it has without gaps.
fn shape(frame: RawFrame) -> Result<(Spec, usize), Problem> {
    let RawFrame { format, size } = frame;
    let dtype = if format == PixelFormat::P010 { DType::U16 } else { DType::U8 };
    let (width, height) = (size.width as usize, size.height as usize);
    let layout = ImageLayout::new(width, height, format, dtype, None)
        .map_err(tenure::tensor::Error::from)?;
    Ok((Spec::image_of(width, height, format, dtype, None)?, layout.packed_bytes()))
}

impl RawVideo {
    pub(super) fn open(
        path: &Path,
        frame: RawFrame,
        fps: f64,
        once: bool,
    ) -> Result<RawVideo, Problem> {
        let (spec, need) = shape(frame)?;
        let (file, have) =
            input::open(path).map_err(|cause| Problem::Read { path: path.to_owned(), cause })?;
        let frames = have.checked_div(need as u64).unwrap_or(0);
        if frames == 0 || frames * need as u64 != have {
            let RawFrame { format, size } = frame;
            let (path, width, height) = (path.to_owned(), size.width, size.height);
            return Err(Problem::RawSize { path, have, need, format, width, height });
        }
        let from = From::File { file, frames, at: 0 };
        Ok(RawVideo { path: path.to_owned(), from, frame, spec, pace: Some(Pace::new(fps)), once })
    }

    /// The video in a pipe.
    pub(super) fn piped(
        path: &Path,
        pipe: Piped,
        frame: RawFrame,
        fps: Option<f64>,
    ) -> Result<RawVideo, Problem> {
        let (spec, _) = shape(frame)?;
        let from = From::Pipe(BufReader::new(pipe));
        let (path, pace) = (path.to_owned(), fps.map(Pace::new));
        Ok(RawVideo { path, from, frame, spec, pace, once: true })
    }

    /// Whether there is a frame to read; waits for it.
    fn find(&mut self) -> io::Result<bool> {
        match &mut self.from {
            From::Pipe(pipe) => Ok(!pipe.fill_buf()?.is_empty()),
            From::File { file, frames, at } => {
                if *at == *frames {
                    if self.once {
                        return Ok(false);
                    }
                    *at = 0;
                    file.seek(SeekFrom::Start(0))?;
                }
                *at += 1;
                Ok(true)
            }
        }
    }
}

impl Source for RawVideo {
    fn about(&self) -> String {
        let RawFrame { format, size } = self.frame;
        let path = self.path.display();
        let frames = match &self.from {
            From::File { frames, .. } => format!("{frames} frames of"),
            From::Pipe(_) => "frames from a pipe,".to_owned(),
        };
        format!("{path}, {frames} {format} {}x{}", size.width, size.height)
    }

    fn next(&mut self, frames: &mut Publisher, stop: &Stop) -> Result<Option<Taken>, Problem> {
        // Frames that are late are passed over in time, not in the file.
        if let Some(pace) = &mut self.pace
            && pace.wait(stop).is_none()
        {
            return Ok(None);
        }
        let found =
            self.find().map_err(|cause| Problem::Read { path: self.path.clone(), cause })?;
        if !found || stop.is_over() {
            return Ok(None);
        }
        let timestamp = clock::now();
        let slot = frames.claim_as(&self.spec)?;
        let filled = match &mut self.from {
            From::File { file, .. } => fill(slot.tensor(), file),
            From::Pipe(pipe) => fill(slot.tensor(), pipe),
        };
        match filled {
            Ok(()) => Ok(Some(Taken { tensor: Tensor::Filled(slot), timestamp, missed: 0 })),
            Err(_) if stop.is_over() => Ok(None),
            Err(Unfilled::Read(cause)) if cause.kind() == ErrorKind::UnexpectedEof => {
                let reason = "it ends in the middle of a frame".to_owned();
                Err(Problem::Cut { path: self.path.clone(), reason })
            }
            Err(Unfilled::Read(cause)) => Err(Problem::Read { path: self.path.clone(), cause }),
            Err(Unfilled::Tensor(error)) => Err(error.into()),
        }
    }
}
