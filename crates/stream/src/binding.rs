//! A Unix socket that appears under its name with its access mode, whoever else can write the
//! directory.
//!
//! `bind` makes the file with the mode that the process's umask leaves, and changing that by name
//! afterwards can be led to any other file by whoever puts a symbolic link there in between. So the
//! socket is made in a directory that only this user can enter, with a name that nobody can guess,
//! gets its mode there, and is then moved to its place in one step.

use std::ffi::OsStr;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, chmodat, fstat, mkdirat, openat, renameat, renameat_with,
    statat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::directory::Trusted;

/// The socket's name before it is moved.
const SOCKET: &str = "s";
/// How many names are tried: each is free unless somebody can foretell random numbers.
const ATTEMPTS: usize = 8;

/// Device and inode: which file it is.
pub(crate) type Identity = (u64, u64);

/// A socket that is bound and not in its place yet. Gone if it is dropped.
#[derive(Debug)]
pub(crate) struct Bound<'a> {
    directory: &'a Trusted,
    /// The directory that only this user can enter, and its name.
    private: OwnedFd,
    name: String,
    identity: Identity,
}

/// Has `bind` make a socket at the path that it is given, and sets the mode of the socket's file.
pub(crate) fn bound<'a, T>(
    directory: &'a Trusted,
    path: &Path,
    mode: u32,
    bind: impl FnOnce(&Path) -> io::Result<T>,
) -> io::Result<(T, Bound<'a>)> {
    let (name, private) = make_private(directory)?;
    let mut made = Bound { directory, private, name, identity: (0, 0) };
    let socket = bind(&made.path(path))?;
    chmodat(&made.private, SOCKET, Mode::from_raw_mode(mode), AtFlags::empty())?;
    made.identity = identity(&made.private, OsStr::new(SOCKET))?;
    Ok((socket, made))
}

fn make_private(directory: &Trusted) -> io::Result<(String, OwnedFd)> {
    for _ in 0..ATTEMPTS {
        let name = format!(".{:016x}", RandomState::new().build_hasher().finish());
        match mkdirat(directory, &name, Mode::RWXU) {
            Err(Errno::EXIST) => continue,
            answer => answer?,
        }
        return match open_private(directory, &name) {
            Ok(private) => Ok((name, private)),
            Err(error) => {
                let _ = unlinkat(directory, &name, AtFlags::REMOVEDIR);
                Err(error)
            }
        };
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

fn open_private(directory: &Trusted, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let private = openat(directory, name, flags, Mode::empty())?;
    let found = fstat(&private)?;
    if found.st_uid != geteuid().as_raw() || found.st_mode & 0o077 != 0 {
        let what = format!("{name} was replaced while a socket was made in it");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
    }
    Ok(private)
}

/// Which file has this name.
pub(crate) fn identity(directory: impl AsFd, name: &OsStr) -> io::Result<Identity> {
    let found = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    #[allow(clippy::unnecessary_cast, reason = "the width differs between architectures")]
    Ok((found.st_dev as u64, found.st_ino as u64))
}

impl Bound<'_> {
    /// Where to bind. By descriptor, so that nothing on the way can be replaced; without `/proc` by
    /// name, which is as good if the directory is one that nobody else can write.
    fn path(&self, directory: &Path) -> PathBuf {
        let by_descriptor = PathBuf::from(format!("/proc/self/fd/{}", self.private.as_raw_fd()));
        let ours = [geteuid().as_raw(), 0].contains(&self.directory.owner());
        if ours && !by_descriptor.exists() {
            return directory.join(&self.name).join(SOCKET);
        }
        by_descriptor.join(SOCKET)
    }

    /// Puts the socket in its place, over whatever is there.
    pub(crate) fn replace(self, name: &OsStr) -> io::Result<Identity> {
        renameat(&self.private, SOCKET, self.directory, name)?;
        Ok(self.identity)
    }

    /// Puts the socket in its place; `None` if something is there.
    pub(crate) fn place(&self, name: &OsStr) -> io::Result<Option<Identity>> {
        let flags = RenameFlags::NOREPLACE;
        match renameat_with(&self.private, SOCKET, self.directory, name, flags) {
            Ok(()) => Ok(Some(self.identity)),
            Err(Errno::EXIST) => Ok(None),
            // A file system that cannot do both at once.
            Err(Errno::INVAL | Errno::NOSYS) => match identity(self.directory, name) {
                Ok(_) => Ok(None),
                Err(_) => {
                    renameat(&self.private, SOCKET, self.directory, name)?;
                    Ok(Some(self.identity))
                }
            },
            Err(errno) => Err(errno.into()),
        }
    }
}

impl Drop for Bound<'_> {
    fn drop(&mut self) {
        let _ = unlinkat(&self.private, SOCKET, AtFlags::empty());
        let _ = unlinkat(self.directory, &self.name, AtFlags::REMOVEDIR);
    }
}

/// Removes a file from a directory, if it is still this one.
pub(crate) fn remove(directory: impl AsFd, name: &OsStr, expected: Identity) {
    if identity(&directory, name).is_ok_and(|found| found == expected) {
        let _ = unlinkat(&directory, name, AtFlags::empty());
    }
}
