//! Pipes and the standard input, read without ever waiting where nobody can end it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// The name of the standard input.
pub(crate) const STDIN: &str = "-";
/// How long nobody looks whether it is over, in nanoseconds.
const LOOK: i64 = 100_000_000;

/// Whether a name is one of a pipe, or of the standard input.
pub(crate) fn is_one(path: &Path) -> bool {
    path == Path::new(STDIN) || fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo())
}

/// The reading end of a pipe. It ends when its writers have closed it, or when `over` says so.
#[derive(Debug)]
pub(crate) struct Pipe<F> {
    file: File,
    over: F,
}

impl<F: Fn() -> bool> Pipe<F> {
    /// Opens a FIFO, or `-`, the standard input. Does not wait for a writer: the first read does.
    pub(crate) fn open(path: &Path, over: F) -> io::Result<Pipe<F>> {
        if path == Path::new(STDIN) {
            let stdin = io::stdin();
            if stdin.is_terminal() {
                let text = "the standard input is a terminal: pipe data into it";
                return Err(io::Error::new(ErrorKind::InvalidInput, text));
            }
            // It stays as it is, blocking: others may share it.
            let file = File::from(stdin.as_fd().try_clone_to_owned()?);
            return Ok(Pipe { file, over });
        }
        let mut options = OpenOptions::new();
        options.read(true);
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
        let file = options.open(path)?;
        if !file.metadata()?.file_type().is_fifo() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a pipe"));
        }
        Ok(Pipe { file, over })
    }
}

impl<F: Fn() -> bool> Read for Pipe<F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let look = Timespec { tv_sec: 0, tv_nsec: LOOK };
        while !(self.over)() {
            // A FIFO without a writer yet reads as if it had ended; only `poll` waits for one.
            match poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&look)) {
                Ok(0) | Err(Errno::INTR) => continue,
                Ok(_) => {}
                Err(errno) => return Err(errno.into()),
            }
            match self.file.read(into) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock) => {}
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted) => {}
                done => return done,
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::Write;

    use super::*;

    fn fifo(folder: &tempfile::TempDir) -> std::path::PathBuf {
        let path = folder.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).unwrap();
        path
    }

    #[test]
    fn a_pipe_waits_for_its_writer_and_ends_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = fifo(&folder);
        assert!(is_one(&path) && is_one(Path::new("-")) && !is_one(folder.path()));
        let mut pipe = Pipe::open(&path, || false).unwrap();
        let writer = std::thread::spawn(move || {
            let mut file = OpenOptions::new().write(true).open(path).unwrap();
            file.write_all(b"hello").unwrap();
        });
        let mut text = vec![];
        pipe.read_to_end(&mut text).unwrap();
        assert_eq!(text, b"hello");
        writer.join().unwrap();
    }

    #[test]
    fn a_pipe_without_a_writer_can_be_ended() {
        let folder = tempfile::tempdir().unwrap();
        let looks = Cell::new(0);
        let over = || looks.replace(looks.get() + 1) > 1;
        let mut pipe = Pipe::open(&fifo(&folder), over).unwrap();
        assert_eq!(pipe.read(&mut [0; 8]).unwrap(), 0);
    }
}
