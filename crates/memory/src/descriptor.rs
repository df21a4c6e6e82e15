//! What a file descriptor is, before anything is mapped through it.

use std::os::fd::BorrowedFd;

use rustix::fs::{self, FileType, OFlags, SealFlags};
use rustix::io::Errno;

use crate::backend::ObjectKey;
use crate::{Error, Result};

/// `f_type` of a DMA-BUF.
const DMA_BUF_MAGIC: u64 = 0x444d_4142;

/// `f_type` of memory files and files in memory.
const TMPFS_MAGIC: u64 = 0x0102_1994;

/// `f_type` of memory files and files made of huge pages.
const HUGETLBFS_MAGIC: u64 = 0x9584_58f6;

/// What kind of memory a descriptor stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Object {
    /// A memory file that carries seals.
    Sealable(SealFlags),
    /// A file: its bytes can be taken away by whoever may write it.
    File,
    /// A DMA-BUF.
    DmaBuf,
}

/// A descriptor that was looked at.
#[derive(Debug)]
pub(crate) struct Inspected {
    pub(crate) object: Object,
    /// Bytes behind the descriptor.
    pub(crate) size: u64,
    /// Device and inode: the same for every descriptor of one object.
    pub(crate) key: ObjectKey,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
}

/// Finds out what `fd` is.
///
/// # Errors
/// If it is closed or not memory at all.
pub(crate) fn inspect(fd: BorrowedFd<'_>) -> Result<Inspected> {
    let flags = fs::fcntl_getfl(fd).map_err(|errno| Error::system("reading the mode", errno))?;
    // First, because such a descriptor answers few other questions.
    if flags.contains(OFlags::PATH) {
        return Err(Error::from(crate::detail::WrongMode {
            mode: "by path only",
            needed: "reading",
        }));
    }
    let stat = fs::fstat(fd).map_err(|errno| Error::system("looking at the descriptor", errno))?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    let filesystem =
        fs::fstatfs(fd).map_err(|errno| Error::system("looking at the descriptor", errno))?;
    let object = if magic_of(&filesystem) == DMA_BUF_MAGIC {
        Object::DmaBuf
    } else if kind == FileType::RegularFile {
        match fs::fcntl_get_seals(fd) {
            // Files of an ordinary tmpfs answer that they are sealed against sealing.
            Ok(seals) if seals != SealFlags::SEAL => Object::Sealable(seals),
            Ok(_) | Err(Errno::INVAL) => Object::File,
            Err(errno) => return Err(Error::system("reading the seals", errno)),
        }
    } else {
        return Err(Error::NotMemory { found: words(kind) });
    };
    let mode = flags & OFlags::ACCMODE;
    let size = match object {
        Object::DmaBuf => fs::seek(fd, fs::SeekFrom::End(0))
            .map_err(|errno| Error::system("asking for the size", errno))?,
        _ => u64::try_from(stat.st_size).unwrap_or(0),
    };
    Ok(Inspected {
        object,
        size,
        key: key_of(&stat),
        readable: mode != OFlags::WRONLY,
        writable: mode != OFlags::RDONLY,
    })
}

#[expect(clippy::unnecessary_cast, reason = "the widths differ between platforms")]
pub(crate) fn key_of(stat: &fs::Stat) -> ObjectKey {
    ObjectKey { device: stat.st_dev as u64, inode: stat.st_ino as u64 }
}

/// The key of the object behind a descriptor.
///
/// # Errors
/// If it is closed.
pub(crate) fn object_key(fd: BorrowedFd<'_>) -> Result<ObjectKey> {
    let stat = fs::fstat(fd).map_err(|errno| Error::system("looking at the descriptor", errno))?;
    Ok(key_of(&stat))
}

/// Signedness and width of `f_type` differ between platforms; the magic is 32 bits.
fn magic_of(filesystem: &fs::StatFs) -> u64 {
    filesystem.f_type as u64 & 0xffff_ffff
}

/// Whether the pages behind a descriptor are ordinary ones that stay in memory.
pub(crate) fn is_tmpfs(fd: BorrowedFd<'_>) -> bool {
    fs::fstatfs(fd).is_ok_and(|at| magic_of(&at) == TMPFS_MAGIC)
}

/// The size of the pages behind a descriptor, if they are huge ones from the kernel's reserve.
/// Whoever has such memory can give pages back, and there may be no others in their place.
pub(crate) fn huge_page(fd: BorrowedFd<'_>) -> Option<usize> {
    let filesystem = fs::fstatfs(fd).ok().filter(|at| magic_of(at) == HUGETLBFS_MAGIC)?;
    usize::try_from(filesystem.f_bsize).ok()
}

/// Whether the object behind a descriptor still has `bytes` bytes.
pub(crate) fn still_has(fd: BorrowedFd<'_>, bytes: u64) -> bool {
    fs::fstat(fd).is_ok_and(|stat| u64::try_from(stat.st_size).unwrap_or(0) >= bytes)
}

/// The size of an object that is to be mapped as a whole.
///
/// # Errors
/// If a program with addresses as short as this one's cannot map it.
pub(crate) fn addressable(size: u64) -> Result<usize> {
    usize::try_from(size).ok().filter(|size| isize::try_from(*size).is_ok()).ok_or_else(|| {
        Error::system("mapping more bytes than there are addresses", Errno::OVERFLOW)
    })
}

fn words(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "a directory",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice => "a character device",
        FileType::BlockDevice => "a block device",
        FileType::Symlink => "a symbolic link",
        _ => "something without bytes (an eventfd, epoll or timer, say)",
    }
}
