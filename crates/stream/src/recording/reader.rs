//! Recordings that are read.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use tenure_tensor::TensorDyn;

use super::{Entry, Error, FRAMES, INDEX, LONGEST_LINE};
use crate::fill;

/// A recording that is read, frame by frame.
#[derive(Debug)]
pub struct Recording {
    index: BufReader<File>,
    index_path: PathBuf,
    /// Lines read so far.
    number: u64,
    text: Vec<u8>,
    frames: File,
    frames_path: PathBuf,
    /// Bytes of the frames when the recording was opened.
    have: u64,
}

/// Opens a regular file; says how many bytes it has. Does not wait, whatever has the name.
fn open(path: &Path) -> Result<(File, u64), Error> {
    tenure_memory::regular::open(path).map_err(|cause| Error::Read { path: path.to_owned(), cause })
}

impl Recording {
    /// Opens the files of a recording. What is in them is looked at as it is read.
    ///
    /// # Errors
    /// If a file is not there, cannot be read, or is no regular file.
    pub fn open(folder: &Path) -> Result<Recording, Error> {
        let (index_path, frames_path) = (folder.join(INDEX), folder.join(FRAMES));
        let (frames, have) = open(&frames_path)?;
        let index = BufReader::new(open(&index_path)?.0);
        Ok(Recording { index, index_path, number: 0, text: vec![], frames, frames_path, have })
    }

    /// Reads the whole index once and checks every line, then goes back to the first frame. Gives the
    /// number of frames, and stops early, with those that it has seen, if `over` says so.
    ///
    /// # Errors
    /// As [`Recording::next`], and [`Error::Empty`] if there is no frame.
    pub fn check(&mut self, mut over: impl FnMut() -> bool) -> Result<u64, Error> {
        self.rewind()?;
        let mut frames = 0;
        let mut stopped = over();
        while !stopped && self.next()?.is_some() {
            frames += 1;
            stopped = over();
        }
        if frames == 0 && !stopped {
            return Err(Error::Empty(self.index_path.clone()));
        }
        self.rewind()?;
        Ok(frames)
    }

    /// The next frame; `None` after the last. A last line without an end is what was being written
    /// when the recording ended, and is left out.
    ///
    /// # Errors
    /// [`Error::Line`] for a line that makes no sense or is longer than
    /// [`LONGEST_LINE`].
    #[expect(clippy::should_implement_trait, reason = "a fallible, lending kind of next")]
    pub fn next(&mut self) -> Result<Option<Entry>, Error> {
        self.text.clear();
        let mut some = (&mut self.index).take(LONGEST_LINE as u64 + 1);
        some.read_until(b'\n', &mut self.text)
            .map_err(|cause| Error::Read { path: self.index_path.clone(), cause })?;
        if self.text.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        match Entry::parse(&self.text, self.have) {
            Ok(entry) => Ok(Some(entry)),
            Err(_) if self.number > 1 && self.is_cut() => Ok(None),
            Err(reason) => {
                let (path, number) = (self.index_path.clone(), self.number);
                Err(Error::Line { path, number, reason })
            }
        }
    }

    fn is_cut(&self) -> bool {
        self.text.len() <= LONGEST_LINE && !self.text.ends_with(b"\n")
    }

    /// Goes back to the first frame.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn rewind(&mut self) -> Result<(), Error> {
        self.number = 0;
        self.index
            .seek(SeekFrom::Start(0))
            .map_err(|cause| Error::Read { path: self.index_path.clone(), cause })?;
        Ok(())
    }

    /// Brings the elements of a frame into a tensor of its [`Entry::spec`].
    ///
    /// # Errors
    /// If the file has become shorter, or the tensor is another or held by somebody.
    pub fn read(&mut self, entry: &Entry, into: &TensorDyn) -> Result<(), Error> {
        let failed = |reason: String| Error::Damaged { path: self.frames_path.clone(), reason };
        let (expected, found) = (entry.spec().flat_bytes(), into.flat_bytes());
        if found != expected {
            return Err(failed(format!(
                "a frame of {expected} bytes does not fit into a tensor of {found}"
            )));
        }
        self.frames
            .seek(SeekFrom::Start(entry.offset()))
            .map_err(|cause| failed(tenure_layout::Language::Plain.say(&cause)))?;
        fill(into, &mut self.frames)
            .map_err(|cause| failed(tenure_layout::Language::Plain.say(&cause)))
    }
}
