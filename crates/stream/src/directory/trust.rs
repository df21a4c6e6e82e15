//! Which directories are safe to keep sockets in, or to connect to sockets in.
//!
//! Who can write a directory can replace what is in it. So a directory of streams is used only if
//! - it belongs to this user, to root, to a user that the caller names, or to anybody if its parent
//!   belongs to root and nobody else can write that (`RuntimeDirectory=` of systemd: root chose the
//!   owner), and
//! - nobody but its owner can write it, or it has the sticky bit, with which everybody manages only
//!   files of their own (`/tmp`, or a `/run/tenure` of mode 1777 or 1770 that several users publish in).
//!
//! It is opened once, and what is looked at is what is used afterwards. Symbolic links to it are
//! followed if they belong to this user or root. Directories further up are not looked at.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, open, openat, readlinkat};
use rustix::process::geteuid;

/// As the kernel, which follows more, but no loops.
const MOST_LINKS: usize = 16;
const STICKY: u32 = 0o1000;
const OTHERS_WRITE: u32 = 0o022;

/// A directory that is safe to use.
#[derive(Debug)]
pub(crate) struct Trusted {
    fd: OwnedFd,
    owner: u32,
}

impl Trusted {
    /// Opens a directory and looks at it. It may also belong to the user `also`.
    pub(crate) fn open(path: &Path, also: Option<u32>) -> io::Result<Trusted> {
        // Without what follows the name: a slash at the end would follow any link.
        let mut path: PathBuf = path.components().collect();
        if path.as_os_str().is_empty() {
            path.push(".");
        }
        let me = geteuid().as_raw();
        for _ in 0..MOST_LINKS {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let fd = open(&path, flags, Mode::empty())?;
            let found = fstat(&fd)?;
            match FileType::from_raw_mode(found.st_mode) {
                FileType::Directory => {
                    check(&fd, &found, me, also)?;
                    return Ok(Trusted { fd, owner: found.st_uid });
                }
                FileType::Symlink if [me, 0].contains(&found.st_uid) => {
                    let target = readlinkat(&fd, c"", vec![])?;
                    let target = OsStr::from_bytes(target.as_bytes());
                    path = path.parent().unwrap_or(Path::new(".")).join(target);
                }
                FileType::Symlink => {
                    let owner = found.st_uid;
                    return Err(refused(format!("it is a symbolic link of user {owner}")));
                }
                _ => return Err(refused("it is no directory".to_owned())),
            }
        }
        Err(refused("it is a symbolic link in a circle".to_owned()))
    }

    /// Who it belongs to.
    pub(crate) fn owner(&self) -> u32 {
        self.owner
    }
}

impl AsFd for Trusted {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

pub(super) fn refused(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, what)
}

fn check(fd: &OwnedFd, found: &Stat, me: u32, also: Option<u32>) -> io::Result<()> {
    let owner = found.st_uid;
    if owner != me && owner != 0 && Some(owner) != also && !made_by_root(fd) {
        let why = format!(
            "it belongs to user {owner}: it must belong to this user ({me}) or root, or root must \
             have made it for that user"
        );
        return Err(refused(why));
    }
    let mode = found.st_mode & 0o7777;
    if mode & OTHERS_WRITE != 0 && mode & STICKY == 0 {
        let why = format!(
            "it has the mode {mode:04o}, with which others can replace what is in it: take that \
             away (chmod go-w), or set the sticky bit (chmod +t) if they shall publish there too"
        );
        return Err(refused(why));
    }
    Ok(())
}

/// Whether only root can have put the directory where it is.
fn made_by_root(fd: &OwnedFd) -> bool {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let above = openat(fd, c"..", flags, Mode::empty()).and_then(fstat);
    above.is_ok_and(|above| above.st_uid == 0 && above.st_mode & OTHERS_WRITE == 0)
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};

    use super::*;

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Whether files can be given to other users: root can, unless it is root of a user namespace
    /// that has no others.
    pub(in crate::directory) fn can_give_files_away() -> bool {
        let mapped = |line: &str| {
            let mut numbers = line.split_ascii_whitespace().filter_map(|word| word.parse().ok());
            let (Some(first), _, Some(count)): (Option<u64>, Option<u64>, Option<u64>) =
                (numbers.next(), numbers.next(), numbers.next())
            else {
                return false;
            };
            (first..first + count).contains(&12345)
        };
        let map = fs::read_to_string("/proc/self/uid_map");
        geteuid().is_root() && map.map_or(true, |map| map.lines().any(mapped))
    }

    fn refuses(path: &Path, what: &str) {
        let error = Trusted::open(path, None).unwrap_err().to_string();
        assert!(error.starts_with(what), "{error}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "asks the system who may do what")]
    fn nobody_else_may_replace_what_is_in_it() {
        let stage = tempfile::tempdir().unwrap();
        let path = stage.path().join("streams");
        assert_eq!(Trusted::open(&path, None).unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::write(&path, "").unwrap();
        refuses(&path, "it is no directory");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        for fine in [0o700, 0o750, 0o755, 0o1777, 0o1770] {
            mode(&path, fine);
            assert_eq!(Trusted::open(&path, None).unwrap().owner(), geteuid().as_raw());
        }
        for open in [0o770, 0o775, 0o777, 0o702, 0o2775] {
            mode(&path, open);
            refuses(&path, &format!("it has the mode {open:04o}"));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "asks the system who may do what")]
    fn links_are_followed_if_they_are_ours() {
        let stage = tempfile::tempdir().unwrap();
        let (there, link) = (stage.path().join("there"), stage.path().join("link"));
        fs::create_dir(&there).unwrap();
        symlink("there", &link).unwrap();
        Trusted::open(&link, None).unwrap();
        let slash = stage.path().join("link/");
        Trusted::open(&slash, None).unwrap();
        let circle = stage.path().join("circle");
        symlink("circle", &circle).unwrap();
        refuses(&circle, "it is a symbolic link in a circle");
        if can_give_files_away() {
            lchown(&link, Some(12345), None).unwrap();
            refuses(&link, "it is a symbolic link of user 12345");
            refuses(&slash, "it is a symbolic link of user 12345");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "asks the system who may do what")]
    #[expect(clippy::print_stdout, reason = "says that it was skipped")]
    fn somebody_elses_is_fine_if_root_made_it_or_the_caller_says_so() {
        if !can_give_files_away() {
            println!("skipped: only root can give directories away, where other users exist");
            return;
        }
        let stage = tempfile::tempdir().unwrap();
        let path = stage.path().join("streams");
        fs::create_dir(&path).unwrap();
        chown(&path, Some(12345), None).unwrap();
        assert_eq!(Trusted::open(&path, None).unwrap().owner(), 12345);
        mode(stage.path(), 0o1777);
        refuses(&path, "it belongs to user 12345");
        Trusted::open(&path, Some(12345)).unwrap();
        assert!(Trusted::open(&path, Some(12346)).is_err());
        mode(stage.path(), 0o755);
        chown(stage.path(), Some(12345), None).unwrap();
        refuses(&path, "it belongs to user 12345");
    }
}
