//! Bytes by position: what the readers of heads see of a file.
//!
//! Heads are read into memory of our own and never parsed where they are mapped: names are taken
//! as text, and another process could change the bytes of a mapped file while they are.

use std::fs::File;
use std::io::{self, ErrorKind, Read};

use crate::{Error, Result};

/// Bytes that a [`Stream`] asks for at one time.
const WINDOW: usize = 64 << 10;

/// Something that has bytes at positions.
pub(crate) trait Source {
    /// How many bytes there are.
    fn size(&self) -> u64;

    /// As many bytes from `at` as one read gives; none at the end.
    fn read_some(&self, at: u64, into: &mut [u8]) -> io::Result<usize>;
}

impl Source for [u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_some(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(at).ok().and_then(|at| self.get(at..)).unwrap_or_default();
        rest.take(into.len() as u64).read(into)
    }
}

/// A file, with the size that it had when it was opened.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) file: File,
    pub(crate) size: u64,
}

impl Source for OpenFile {
    fn size(&self) -> u64 {
        self.size
    }

    #[cfg(unix)]
    fn read_some(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.file, into, at)
    }

    #[cfg(windows)]
    fn read_some(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(&self.file, into, at)
    }
}

/// All bytes from `at`: what is there in parts is put together, an interrupted read is done again,
/// and an end before the last byte is an error.
pub(crate) fn read_exact(source: &(impl Source + ?Sized), at: u64, into: &mut [u8]) -> Result<()> {
    read_at_least(source, at, into, into.len())
}

/// As [`read_exact`], with room for more than the `needed` bytes at the beginning of `into`.
pub(crate) fn read_at_least(
    source: &(impl Source + ?Sized),
    at: u64,
    into: &mut [u8],
    needed: usize,
) -> Result<()> {
    let mut done = 0;
    while done < needed {
        let from = at.saturating_add(done as u64);
        let rest = into.get_mut(done..).unwrap_or_default();
        match source.read_some(from, rest) {
            Ok(0) => return Err(Error::CutOff { at: from, had: source.size() }),
            Ok(more) => done += more,
            Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
            Err(cause) => return Err(Error::Read { at: from, cause }),
        }
    }
    Ok(())
}

/// Bytes `at..at + length`, which must be there before memory is taken for them; `None` if not.
pub(crate) fn bytes(
    source: &(impl Source + ?Sized),
    at: u64,
    length: u64,
) -> Result<Option<Vec<u8>>> {
    let there = at.checked_add(length).is_some_and(|end| end <= source.size());
    let Some(length) = usize::try_from(length).ok().filter(|_| there) else { return Ok(None) };
    let mut bytes = zeros(length).map_err(|cause| Error::Read { at, cause })?;
    read_exact(source, at, &mut bytes)?;
    Ok(Some(bytes))
}

/// So many zeros; an error where there is no memory, because a file says how many.
pub(crate) fn zeros(length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).map_err(|_| io::Error::from(ErrorKind::OutOfMemory))?;
    bytes.resize(length, 0);
    Ok(bytes)
}

/// A part of a source from its beginning to its end, for those who read that way.
pub(crate) struct Stream<'a, S: ?Sized> {
    source: &'a S,
    /// Where the window begins.
    start: u64,
    window: Vec<u8>,
    /// How much of the window was used.
    used: usize,
    end: u64,
}

impl<'a, S: Source + ?Sized> Stream<'a, S> {
    pub(crate) fn new(source: &'a S, start: u64, end: u64) -> Stream<'a, S> {
        Stream { source, start, window: vec![], used: 0, end: end.min(source.size()) }
    }

    /// Where the next byte is.
    pub(crate) fn position(&self) -> u64 {
        self.start + self.used as u64
    }

    /// Bytes to the end.
    pub(crate) fn rest(&self) -> u64 {
        self.end.saturating_sub(self.position())
    }

    /// Passes over bytes; false if there are not so many.
    pub(crate) fn skip(&mut self, bytes: u64) -> bool {
        if bytes > self.rest() {
            return false;
        }
        match usize::try_from(bytes) {
            Ok(near) if near <= self.window.len() - self.used => self.used += near,
            _ => {
                self.start = self.position() + bytes;
                self.window.clear();
                self.used = 0;
            }
        }
        true
    }

    fn refill(&mut self) -> io::Result<()> {
        self.start = self.position();
        self.used = 0;
        let room = usize::try_from(self.rest()).unwrap_or(WINDOW).min(WINDOW);
        let more = room.saturating_sub(self.window.len());
        self.window.try_reserve_exact(more).map_err(|_| io::Error::from(ErrorKind::OutOfMemory))?;
        self.window.resize(room, 0);
        read_exact(self.source, self.start, &mut self.window).map_err(io::Error::other)
    }
}

impl<S: Source + ?Sized> Read for Stream<'_, S> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.used == self.window.len() && !into.is_empty() {
            self.refill()?;
        }
        let there = self.window.get(self.used..).unwrap_or_default();
        let count = there.len().min(into.len());
        if let (Some(to), Some(from)) = (into.get_mut(..count), there.get(..count)) {
            to.copy_from_slice(from);
        }
        self.used += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_give_every_byte_and_skip() {
        let all: Vec<u8> = (0..200_000u32).map(|n| (n % 251) as u8).collect();
        let mut stream = Stream::new(&all[..], 5, 150_000);
        let mut first = [0; 3];
        stream.read_exact(&mut first).unwrap();
        assert_eq!(first, [5, 6, 7]);
        assert!(stream.skip(100_000) && stream.position() == 100_008);
        let mut rest = vec![];
        stream.read_to_end(&mut rest).unwrap();
        assert_eq!(Some(&rest[..]), all.get(100_008..150_000));
        assert!(stream.skip(0) && !stream.skip(1));
    }

    #[test]
    fn reads_in_parts_are_put_together() {
        /// Gives one byte at a time, is interrupted now and then, and ends early if told.
        struct Slow(std::cell::Cell<u32>, u64);
        impl Source for Slow {
            fn size(&self) -> u64 {
                10
            }
            fn read_some(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
                self.0.set(self.0.get() + 1);
                if self.0.get().is_multiple_of(3) {
                    return Err(ErrorKind::Interrupted.into());
                }
                match (at < self.1, into.first_mut()) {
                    (true, Some(first)) => *first = at as u8,
                    _ => return Ok(0),
                }
                Ok(1)
            }
        }
        let mut bytes = [0; 10];
        read_exact(&Slow(Default::default(), 10), 0, &mut bytes).unwrap();
        assert_eq!(bytes, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        let cut = read_exact(&Slow(Default::default(), 7), 0, &mut bytes).unwrap_err();
        assert!(matches!(cut, Error::CutOff { at: 7, had: 10 }), "{cut}");
        struct Broken;
        impl Source for Broken {
            fn size(&self) -> u64 {
                10
            }
            fn read_some(&self, _: u64, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::from_raw_os_error(5))
            }
        }
        let broken = read_exact(&Broken, 4, &mut bytes).unwrap_err();
        assert!(matches!(broken, Error::Read { at: 4, .. }), "{broken}");
    }
}
