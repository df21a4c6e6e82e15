//! Where the bytes of a test device are, in this process and for others.
#![expect(unsafe_code, reason = "reads and writes host memory that work was submitted for")]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::slice;

use rustix::fs::{FileType, MemfdFlags, Mode, OFlags, fstat, ftruncate, memfd_create, open};
use rustix::io::Errno;

use crate::device::{Address, IpcHandle};

/// What the handle of a block begins with; then process, descriptor, inode and bytes.
const MARK: [u8; 8] = *b"tenureTD";

/// Where the bytes of a block are.
pub(super) enum Store {
    /// In a file that is mapped nowhere.
    Hidden(OwnedFd),
    /// In main memory.
    Host { base: Address, bytes: usize },
}

impl Store {
    pub(super) fn hidden(bytes: usize) -> Result<Store, Errno> {
        let file =
            memfd_create("tenure test device", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, bytes as u64)?;
        Ok(Store::Hidden(file))
    }

    /// The file, of bytes that are in one.
    pub(super) fn file(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Store::Hidden(file) => Some(file.as_fd()),
            Store::Host { .. } => None,
        }
    }

    /// Bytes of a descriptor, if it is a file's.
    pub(super) fn imported(fd: BorrowedFd<'_>) -> Option<Store> {
        let regular = FileType::from_raw_mode(fstat(fd).ok()?.st_mode) == FileType::RegularFile;
        let file = fd.try_clone_to_owned().ok().filter(|_| regular)?;
        Some(Store::Hidden(file))
    }

    /// Its name for other processes: who has it, and as which descriptor.
    pub(super) fn named(&self) -> Option<IpcHandle> {
        let Store::Hidden(file) = self else { return None };
        let known = fstat(file).ok()?;
        let mut handle = [0; 64];
        let words = [
            u64::from(std::process::id()),
            u64::try_from(file.as_raw_fd()).ok()?,
            known.st_ino,
            u64::try_from(known.st_size).ok()?,
        ];
        let mark = MARK.into_iter().chain(words.into_iter().flat_map(u64::to_le_bytes));
        handle.iter_mut().zip(mark).for_each(|(byte, value)| *byte = value);
        Some(handle)
    }

    /// The bytes that another process named, if they are what it said.
    pub(super) fn open(handle: &IpcHandle, bytes: usize) -> Option<Store> {
        let (words, _) = handle.as_chunks::<8>();
        let [mark, process, descriptor, inode, size, rest @ ..] = words else { return None };
        let [process, descriptor, inode, size] =
            [process, descriptor, inode, size].map(|word| u64::from_le_bytes(*word));
        if *mark != MARK || rest.iter().any(|word| *word != [0; 8]) || size != bytes as u64 {
            return None;
        }
        let path = format!("/proc/{process}/fd/{descriptor}");
        let file =
            open(path, OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty()).ok()?;
        let found = fstat(&file).ok()?;
        let same = found.st_ino == inode && u64::try_from(found.st_size) == Ok(size);
        same.then_some(Store::Hidden(file))
    }
}

impl Store {
    pub(super) fn read(&self, at: usize, into: &mut [u8]) -> Option<()> {
        match self {
            Store::Hidden(file) => {
                let mut done = 0;
                while done < into.len() {
                    let rest = into.get_mut(done..)?;
                    match rustix::io::pread(file, rest, (at + done) as u64).ok()? {
                        0 => return None,
                        more => done += more,
                    }
                }
            }
            Store::Host { .. } => {
                let from = self.host(at, into.len())?;
                // SAFETY: checked to be inside the block, which whoever submitted work keeps, and
                // keeps others from writing, until the work is done.
                into.copy_from_slice(unsafe { slice::from_raw_parts(from, into.len()) });
            }
        }
        Some(())
    }

    pub(super) fn write(&self, at: usize, bytes: &[u8]) -> Option<()> {
        match self {
            Store::Hidden(file) => {
                let mut done = 0;
                while done < bytes.len() {
                    done +=
                        rustix::io::pwrite(file, bytes.get(done..)?, (at + done) as u64).ok()?;
                }
            }
            Store::Host { .. } => {
                let to = self.host(at, bytes.len())?;
                // SAFETY: as above, and keeps others from using the bytes at all.
                unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
            }
        }
        Some(())
    }

    /// The address of bytes in main memory.
    fn host(&self, at: usize, len: usize) -> Option<*mut u8> {
        match self {
            Store::Host { base, bytes } if at.checked_add(len)? <= *bytes => {
                Some(base.0.as_ptr().wrapping_add(at))
            }
            _ => None,
        }
    }
}
