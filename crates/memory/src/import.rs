//! Memory from descriptors: recognised, checked, mapped once, and known again.
//!
//! One kernel object has one identity and one ledger in this process, however often and through
//! whatever descriptor it comes in, and where possible one mapping.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{self, Mode, OFlags, SealFlags};

use crate::backend::ObjectKey;
use crate::bus::Watch;
use crate::descriptor::{Inspected, Object, addressable, huge_page, inspect, object_key};
use crate::duplicate::duplicate;
use crate::kind::dma::DmaBuf;
use crate::kind::file::Mapped;
use crate::kind::shm::Shared;
use crate::mapping::Mapping;
use crate::{Buffer, Error, Protection, RawBuffer, Result, TensorMemory, registry};

/// What memory a descriptor stands for, without mapping it: memory files are
/// [`TensorMemory::Shm`], regular files [`TensorMemory::File`], DMA-BUFs [`TensorMemory::Dma`].
///
/// # Errors
/// If it is closed or not memory at all.
pub fn recognise(fd: impl AsFd) -> Result<TensorMemory> {
    Ok(match inspect(fd.as_fd())?.object {
        Object::Sealable(_) => TensorMemory::Shm,
        Object::File => TensorMemory::File,
        Object::DmaBuf => TensorMemory::Dma,
    })
}

/// Takes memory from a descriptor. The descriptor may be closed afterwards.
///
/// Memory files must be sealed against shrinking; one that can still be sealed is. Regular files
/// become read-only [`crate::TensorMemory::File`] memory.
///
/// # Errors
/// If it is closed, not memory, shorter than `at_least`, open in the wrong mode, or can shrink; and
/// [`Error::Sparse`] if it is a memory file with more unwritten bytes, all such imports taken
/// together, than a quarter of what this process has: reading them would take its memory.
pub fn import(
    fd: impl AsFd,
    at_least: usize,
    protection: Protection,
    name: Option<&str>,
) -> Result<Buffer> {
    let fd = duplicate(fd)?;
    let inspected = inspect(fd.as_fd())?;
    if inspected.size < at_least as u64 {
        return Err(Error::TooShort { have: inspected.size, need: at_least as u64 });
    }
    if !inspected.readable {
        return Err(Error::from(crate::detail::WrongMode {
            mode: "for writing only",
            needed: "reading",
        }));
    }
    let size = addressable(inspected.size)?;
    let writable = match inspected.object {
        Object::Sealable(seals) => may_write(&inspected, seals, protection)?,
        Object::File if protection == Protection::Writable => {
            return Err(Error::Unsealed { found: "a regular file" });
        }
        Object::File => false,
        Object::DmaBuf => may_write(&inspected, SealFlags::empty(), protection)?,
    };
    if let Some(raw) = find(inspected.key, writable, protection)
        && raw.size() >= at_least
        // A file may have grown or been cut since; memory files keep their bytes.
        && (raw.memory() != TensorMemory::File || raw.size() == size)
        && raw.intact().is_ok()
    {
        if raw.memory() == TensorMemory::File {
            // What foreign code writes to exports of the other opening is not seen in this one.
            return Ok(Buffer::named(Arc::new(RawBuffer::lent(raw, ())), name));
        }
        return Ok(Buffer::named(raw, name));
    }
    let raw = match inspected.object {
        Object::File => RawBuffer::new(Mapped::new(fd, size)?, name),
        Object::DmaBuf => RawBuffer::new(DmaBuf::imported(fd, size, writable)?, name),
        Object::Sealable(_) => RawBuffer::new(map_sealed(fd, size, writable)?, name),
    };
    raw.mark_shared();
    let raw = Arc::new(raw);
    registry::remember(inspected.key, &raw);
    Ok(Buffer::from_shared(raw))
}

/// Whether to map for writing: what was asked, if descriptor and seals allow it.
fn may_write(inspected: &Inspected, seals: SealFlags, asked: Protection) -> Result<bool> {
    let sealed = seals.intersects(SealFlags::WRITE | SealFlags::FUTURE_WRITE);
    let allowed = inspected.writable && !sealed;
    match asked {
        Protection::ReadOnly => Ok(false),
        Protection::AsAllowed => Ok(allowed),
        Protection::Writable if allowed => Ok(true),
        Protection::Writable if sealed => Err(Error::from(crate::detail::WrongMode {
            mode: "on memory sealed against writing",
            needed: "writing",
        })),
        Protection::Writable => Err(Error::from(crate::detail::WrongMode {
            mode: "for reading only",
            needed: "writing",
        })),
    }
}

/// A mapping that is here already. A writable one serves readers too, unless the caller insists
/// on a read-only tensor; that then is a second mapping with the same ledger.
fn find(key: ObjectKey, writable: bool, asked: Protection) -> Option<Arc<RawBuffer>> {
    match asked {
        Protection::AsAllowed => {
            registry::mapped(key, true).or_else(|| registry::mapped(key, writable))
        }
        _ => registry::mapped(key, writable),
    }
}

fn map_sealed(fd: OwnedFd, size: usize, writable: bool) -> Result<Shared> {
    let seals =
        fs::fcntl_get_seals(&fd).map_err(|errno| Error::system("reading the seals", errno))?;
    if !seals.contains(SealFlags::SHRINK) {
        // Not sealed by its maker: we do it, so that nobody can take the bytes away.
        fs::fcntl_add_seals(&fd, SealFlags::SHRINK)
            .map_err(|_| Error::Unsealed { found: "a memory file that refuses to be sealed" })?;
    }
    // It may have shrunk between the look and the seal, whoever sealed it.
    let now = fs::fstat(&fd).map_err(|errno| Error::system("asking for the size", errno))?;
    let now = u64::try_from(now.st_size).unwrap_or(0);
    if now < size as u64 {
        return Err(Error::TooShort { have: now, need: size as u64 });
    }
    let mapping = Mapping::shared(fd.as_fd(), size, writable)
        .map_err(|errno| Error::system("mapping the memory file", errno))?;
    let watch = match huge_page(fd.as_fd()) {
        Some(_) => Some(Watch::new(&mapping, fd.as_fd(), writable)?),
        None => None,
    };
    Shared::new(fd, mapping, size, writable, watch)
}

/// Maps a whole file for reading. If another process shortens it, the bytes that are gone read as
/// zero and the buffer says so; [`crate::ensure_sigbus_handler`] says what that depends on.
///
/// ```no_run
/// let weights = tenure_memory::open_file("model.bin")?;
/// println!("{} bytes, none of them read yet", weights.len());
/// # Ok::<(), tenure_memory::Error>(())
/// ```
///
/// # Errors
/// If it cannot be opened or is not a regular file.
pub fn open_file(path: impl AsRef<Path>) -> Result<Buffer> {
    let path = path.as_ref();
    // A pipe is not waited for, and then refused.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = fs::open(path, flags, Mode::empty()).map_err(|errno| {
        Error::from(crate::detail::Open { path: path.into(), cause: errno.into() })
    })?;
    match inspect(file.as_fd())?.object {
        Object::File | Object::Sealable(_) => {}
        Object::DmaBuf => return Err(Error::NotMemory { found: "a DMA-BUF" }),
    }
    import(file, 0, Protection::ReadOnly, path.file_name().and_then(|name| name.to_str()))
}

impl Buffer {
    /// Another descriptor for the memory, to give to another process or library.
    ///
    /// # Errors
    /// [`Error::NoDescriptor`] if the memory has none.
    pub fn clone_descriptor(&self) -> Result<OwnedFd> {
        let raw = self.raw()?;
        let fd = duplicate(raw.descriptor()?)?;
        self.expect_back()?;
        Ok(fd)
    }

    /// The descriptor, to send to another process.
    ///
    /// # Errors
    /// [`Error::NoDescriptor`] if the memory has none.
    pub fn lend_descriptor(&self) -> Result<BorrowedFd<'_>> {
        self.expect_back()?;
        self.raw()?.descriptor()
    }

    /// Remembers the mapping, so that it is used again when a descriptor of it comes back.
    fn expect_back(&self) -> Result<()> {
        let raw = self.raw()?;
        raw.mark_shared();
        // A window over a slot is written until the slot is published: a mapping that came back by
        // its descriptor would keep it from that. All other leases last for as long as any handle.
        let file = raw.own_memory().home().is_some() && raw.memory() == TensorMemory::File;
        // A file's own mapping is known since it was made.
        if !(raw.takes_turns() || file) {
            registry::remember(object_key(raw.descriptor()?)?, raw);
        }
        Ok(())
    }
}
