//! Picture files: one that stays, or those of a folder in turn, each decoded straight into its slot.
//! Videos of a folder are shown picture by picture.

use std::path::{Path, PathBuf};

use tenure::image::codec;
use tenure::stream::Publisher;
use tenure::{TensorDyn, TensorMemory};

use super::motion::MotionJpeg;
use super::{Source, Taken, Tensor, decode};
use crate::run::Problem;
use crate::run::pace::Pace;
use crate::stop::Stop;
use crate::{clock, input};

/// One picture or several.
pub(super) struct Pictures {
    about: String,
    files: Vec<PathBuf>,
    /// A single picture is decoded once, and published again and again.
    still: Option<TensorDyn>,
    /// The next to show.
    at: usize,
    /// The video that is shown, of which more pictures come.
    video: Option<MotionJpeg>,
    fps: f64,
    pace: Pace,
    once: bool,
}

impl Pictures {
    pub(super) fn open(path: &Path, fps: f64, once: bool) -> Result<Pictures, Problem> {
        let (files, still, about);
        if path.is_dir() {
            files = pictures_of(path)?;
            still = None;
            about = format!("{}, {} files", path.display(), files.len());
        } else {
            let picture = codec::decode(&read(path)?, Some(TensorMemory::Shm))
                .map_err(|cause| Problem::Picture { path: path.to_owned(), cause })?;
            files = vec![path.to_owned()];
            still = Some(picture);
            about = format!("{}, one picture", path.display());
        }
        Ok(Pictures { about, files, still, at: 0, video: None, fps, pace: Pace::new(fps), once })
    }
}

/// The picture files of a folder, by name.
fn pictures_of(folder: &Path) -> Result<Vec<PathBuf>, Problem> {
    let failed = |cause| Problem::Read { path: folder.to_owned(), cause };
    let shown = |path: &Path| codec::FileFormat::of_name(path).is_ok() || is_video(path);
    let files = input::files_of(folder, shown).map_err(failed)?;
    if files.is_empty() { Err(Problem::NoPictures(folder.to_owned())) } else { Ok(files) }
}

/// Whether a file is a video by its name.
fn is_video(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| ending == "mjpeg" || ending == "mjpg")
}

impl Source for Pictures {
    fn about(&self) -> String {
        self.about.clone()
    }

    fn next(&mut self, frames: &mut Publisher, stop: &Stop) -> Result<Option<Taken>, Problem> {
        if let Some(video) = &mut self.video {
            match video.next(frames, stop)? {
                None if stop.is_over() => return Ok(None),
                None => self.video = None,
                taken => return Ok(taken),
            }
        }
        if self.once && self.at == self.files.len() {
            return Ok(None);
        }
        if self.pace.wait(stop).is_none() {
            return Ok(None);
        }
        let timestamp = clock::now();
        let Some(path) = self.files.get(self.at % self.files.len().max(1)) else {
            return Ok(None);
        };
        let next = if self.once { self.at + 1 } else { (self.at + 1) % self.files.len() };
        if self.still.is_none()
            && let Some(mut video) = MotionJpeg::open(path, self.fps, true)?
        {
            let taken = video.next(frames, stop)?;
            (self.video, self.at) = (Some(video), next);
            return Ok(taken);
        }
        let tensor = match &self.still {
            Some(picture) => Tensor::Brought(picture.clone()),
            None => {
                let picture = decode(&read(path)?, frames)?;
                let failed = |cause| Problem::Picture { path: path.clone(), cause };
                Tensor::Filled(picture.map_err(failed)?)
            }
        };
        self.at = next;
        Ok(Some(Taken { tensor, timestamp, missed: 0 }))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Problem> {
    input::bytes(path, input::MOST_PICTURE)
        .map_err(|cause| Problem::Read { path: path.to_owned(), cause })
}
