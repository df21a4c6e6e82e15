//! Motion JPEG: pictures that follow each other in a file or in a pipe, each decoded straight into
//! its slot.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use tenure::stream::Publisher;

use super::jpegs::{Fault, Jpegs};
use super::{Piped, Source, Taken, Tensor, decode};
use crate::run::Problem;
use crate::run::pace::Pace;
use crate::stop::Stop;
use crate::{clock, input};

/// Bytes after the first picture of a file in which the second must begin.
const GAP: usize = 4096;

/// A video of JPEG pictures.
pub(super) struct MotionJpeg {
    path: PathBuf,
    about: String,
    jpegs: Jpegs<Box<dyn BufRead>>,
    /// The same file, to begin anew with; none for a pipe.
    file: Option<File>,
    /// `None` if pictures come when they come.
    pace: Option<Pace>,
    once: bool,
    picture: Vec<u8>,
    /// Pictures that were decoded since the beginning.
    good: u64,
}

impl MotionJpeg {
    /// The video in a file; `None` if it has one picture only, or none.
    pub(super) fn open(path: &Path, fps: f64, once: bool) -> Result<Option<MotionJpeg>, Problem> {
        let failed = |cause| Problem::Read { path: path.to_owned(), cause };
        let (mut file, _) = input::open(path).map_err(failed)?;
        if !has_several(&mut file).map_err(failed)? {
            return Ok(None);
        }
        let reader = BufReader::new(file.try_clone().map_err(failed)?);
        let about = format!("{}, motion JPEG", path.display());
        let pace = Some(Pace::new(fps));
        Ok(Some(MotionJpeg::new(path, about, Box::new(reader), Some(file), pace, once)))
    }

    /// The video in a pipe.
    pub(super) fn piped(path: &Path, pipe: Piped, fps: Option<f64>) -> MotionJpeg {
        let about = format!("{}, motion JPEG from a pipe", path.display());
        let reader = Box::new(BufReader::new(pipe));
        MotionJpeg::new(path, about, reader, None, fps.map(Pace::new), true)
    }

    fn new(
        path: &Path,
        about: String,
        reader: Box<dyn BufRead>,
        file: Option<File>,
        pace: Option<Pace>,
        once: bool,
    ) -> MotionJpeg {
        let (path, jpegs, picture) = (path.to_owned(), Jpegs::new(reader), vec![]);
        MotionJpeg { path, about, jpegs, file, pace, once, picture, good: 0 }
    }

    fn fault(&self, fault: Fault) -> Problem {
        let path = self.path.clone();
        match fault {
            Fault::Read(cause) => Problem::Read { path, cause },
            Fault::NoPicture if self.file.is_none() && self.good == 0 => Problem::Pipe(path),
            fault => Problem::Video { path, at: self.jpegs.at(), reason: fault.to_string() },
        }
    }

    /// Goes back to the first picture; `false` if it is over.
    fn rewind(&mut self) -> Result<bool, Problem> {
        let Some(file) = self.file.as_mut().filter(|_| !self.once && self.good > 0) else {
            return Ok(false);
        };
        let failed = |cause| Problem::Read { path: self.path.clone(), cause };
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let again = file.try_clone().map_err(failed)?;
        self.jpegs = Jpegs::new(Box::new(BufReader::new(again)));
        self.good = 0;
        Ok(true)
    }
}

/// Whether a file begins with a picture that another follows, which is not part of the same scene.
fn has_several(file: &mut File) -> io::Result<bool> {
    let mut jpegs = Jpegs::new(BufReader::new(&mut *file));
    let several = match jpegs.next(&mut vec![]) {
        Ok(true) => !jpegs.announced_others(),
        Err(Fault::Read(cause)) => return Err(cause),
        // Whoever decodes it knows better what is wrong.
        Ok(false) | Err(_) => false,
    };
    let end = jpegs.at();
    let mut after = vec![];
    if several {
        file.seek(SeekFrom::Start(end))?;
        file.take(GAP as u64).read_to_end(&mut after)?;
    }
    file.seek(SeekFrom::Start(0))?;
    let padding = after.iter().take_while(|byte| **byte == 0).count();
    let next = after.get(padding..).unwrap_or_default();
    Ok(several && next.starts_with(&[0xff, 0xd8, 0xff]))
}

impl Source for MotionJpeg {
    fn about(&self) -> String {
        self.about.clone()
    }

    fn next(&mut self, frames: &mut Publisher, stop: &Stop) -> Result<Option<Taken>, Problem> {
        if let Some(pace) = &mut self.pace
            && pace.wait(stop).is_none()
        {
            return Ok(None);
        }
        let mut missed = 0;
        loop {
            let mut picture = std::mem::take(&mut self.picture);
            let found = self.jpegs.next(&mut picture);
            self.picture = picture;
            if stop.is_over() {
                return Ok(None);
            }
            match found {
                Err(fault) => return Err(self.fault(fault)),
                Ok(true) => {}
                Ok(false) if self.good == 0 => return Err(Problem::NoFrames(self.path.clone())),
                Ok(false) if self.rewind()? => continue,
                Ok(false) => return Ok(None),
            }
            let timestamp = clock::now();
            match decode(&self.picture, frames)? {
                Ok(slot) => {
                    self.good += 1;
                    return Ok(Some(Taken { tensor: Tensor::Filled(slot), timestamp, missed }));
                }
                // Cameras send broken pictures now and then: passed over, and counted.
                Err(_) => missed += 1,
            }
        }
    }
}
