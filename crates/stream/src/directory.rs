//! Where streams are found: a directory of sockets, and their names.

mod trust;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::process::geteuid;

use crate::{Error, Result};

pub(crate) use trust::Trusted;
use trust::refused;

/// Environment variable that names the directory; for tests and containers.
pub const VARIABLE: &str = "TENURE_STREAM_DIR";
/// The directory of the whole machine.
const MACHINE: &str = "/run/tenure";
/// What the directory of a user begins with where there is no other; the user's number follows.
const ANYBODY: &str = "/tmp/tenure-";
/// `sun_path`, with its last byte zero.
const LONGEST_PATH: usize = 107;
/// The longest name of a stream.
const LONGEST_NAME: usize = 80;
/// Stands for `/` in file names; no stream can have it in its name.
const SLASH: &str = "+";

/// The directory in which this process looks for streams and puts its own: `$TENURE_STREAM_DIR`,
/// `$XDG_RUNTIME_DIR/tenure`, `/run/tenure` if that is there or this user can make it, and
/// `/tmp/tenure-UID` otherwise, which must be this user's alone.
///
/// Whatever names it, a directory is used only if it belongs to this user or root, or root made it
/// for another user (its parent is root's and nobody else can write that), and if others cannot
/// replace what is in it: its mode has neither `g+w` nor `o+w`, or the sticky bit besides. A machine
/// whose users publish for each other has a `/run/tenure` of mode 1777, or 1770 with a group.
pub fn directory() -> PathBuf {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set(VARIABLE)
        .or_else(|| set("XDG_RUNTIME_DIR").map(|runtime| runtime.join("tenure")))
        .unwrap_or_else(|| of_machine_or_user(Path::new(MACHINE)))
}

/// A directory of the machine, or else the one of this user.
fn of_machine_or_user(machine: &Path) -> PathBuf {
    let can_be_made =
        || machine.parent().is_some_and(|above| access(above, Access::WRITE_OK).is_ok());
    if machine.is_dir() || can_be_made() { machine.to_owned() } else { of_user() }
}

/// Where anybody can make a directory; it has the sticky bit, so nobody can take it away again.
fn of_user() -> PathBuf {
    PathBuf::from(format!("{ANYBODY}{}", geteuid().as_raw()))
}

/// Whether nobody but this user can have put anything there. Somebody else may have made the
/// directory before, to be taken for a producer or to listen.
fn check_private(path: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    let refuse = |what: String| {
        let why = format!("{what}, where a directory that only this user can open was expected");
        Err(refused(why))
    };
    if !found.is_dir() {
        return refuse("it is no directory".to_owned());
    }
    if found.uid() != geteuid().as_raw() {
        return refuse(format!("it belongs to user {}", found.uid()));
    }
    match found.mode() & 0o777 {
        mode if mode & 0o077 != 0 => refuse(format!("it has the mode {mode:03o}")),
        _ => Ok(()),
    }
}

/// Checks that a stream can have this name: what comes from elsewhere may not lead out of the
/// directory of streams.
///
/// ```
/// assert!(tenure_stream::check_name("cam0/frame").is_ok());
/// assert!(tenure_stream::check_name("../cam0").is_err());
/// ```
///
/// # Errors
/// [`Error::Name`], which says what names are like.
pub fn check_name(name: &str) -> Result<()> {
    let refuse = |reason| Err(Error::from(crate::detail::Name { name: name.to_owned(), reason }));
    if name.is_empty() || name.len() > LONGEST_NAME {
        return refuse("it has from 1 to 80 letters");
    }
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
    if !name.chars().all(allowed) {
        return refuse("it consists of letters a-z A-Z, digits, and the signs . _ - /");
    }
    if name.split('/').any(|part| part.is_empty() || part.starts_with('.')) {
        return refuse("the parts between / are not empty and do not begin with a dot");
    }
    Ok(())
}

/// The name of a stream that can be one, and the files that belong to it.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) name: String,
    directory: PathBuf,
}

impl Place {
    /// Checks the name; touches no file.
    pub(crate) fn new(name: &str, directory: Option<&Path>) -> Result<Place> {
        check_name(name)?;
        let directory = directory.map_or_else(crate::directory, Path::to_owned);
        Ok(Place { name: name.to_owned(), directory })
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    fn file(&self, ending: &str) -> OsString {
        (self.name.replace('/', SLASH) + ending).into()
    }

    /// The name of the socket in its directory.
    pub(crate) fn socket_name(&self) -> OsString {
        self.file(".sock")
    }

    /// The name of the lock that the producer holds.
    pub(crate) fn lock_name(&self) -> OsString {
        self.file(".lock")
    }

    /// The socket that consumers connect to.
    pub(crate) fn socket(&self) -> Result<PathBuf> {
        let path = self.directory.join(self.socket_name());
        if path.as_os_str().len() > LONGEST_PATH {
            return Err(Error::from(crate::detail::PathTooLong { path, limit: LONGEST_PATH }));
        }
        Ok(path)
    }

    /// Opens the directory, and makes it if it is not there.
    pub(crate) fn make_directory(&self) -> Result<Trusted> {
        let path = &self.directory;
        // A directory of the machine is for all users, one of a user for that user.
        let mode = if path == Path::new(MACHINE) { 0o755 } else { 0o700 };
        let made = match fs::DirBuilder::new().mode(mode).create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            answer => answer,
        };
        made.and_then(|()| open(path, None))
            .map_err(|cause| Error::from(crate::detail::Directory { path: path.clone(), cause }))
    }

    /// Opens the directory to look for a socket, which the user `also` may have put there; `None`
    /// if it does not exist.
    pub(crate) fn open_directory(&self, also: Option<u32>) -> Result<Option<Trusted>> {
        match open(&self.directory, also) {
            Ok(directory) => Ok(Some(directory)),
            // Then there are no streams either.
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(cause) => {
                Err(Error::from(crate::detail::Directory { path: self.directory.clone(), cause }))
            }
        }
    }
}

/// Opens a directory that is safe to use. One that this program chose in a place that is open to
/// everybody must be this user's alone.
fn open(directory: &Path, also: Option<u32>) -> io::Result<Trusted> {
    if directory == of_user() {
        check_private(directory)?;
    }
    Trusted::open(directory, also)
}

/// The names of the streams that have a socket in `directory`, in order.
pub(crate) fn names(directory: &Path) -> Result<Vec<String>> {
    let entries = match open(directory, None).and_then(|_| fs::read_dir(directory)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        Err(cause) => {
            return Err(Error::from(crate::detail::Directory {
                path: directory.to_owned(),
                cause,
            }));
        }
    };
    let name = |entry: fs::DirEntry| {
        let file = entry.file_name();
        Some(file.to_str()?.strip_suffix(".sock")?.replace(SLASH, "/"))
    };
    let mut names: Vec<String> = entries.flatten().filter_map(name).collect();
    names.retain(|name| Place::new(name, Some(directory)).is_ok());
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn names_are_files_of_one_directory() {
        let place = Place::new("cam0/frame", Some(Path::new("/tmp/x"))).unwrap();
        assert_eq!(place.socket().unwrap(), Path::new("/tmp/x/cam0+frame.sock"));
        let long = "n".repeat(81);
        for wrong in ["", "a b", "..", "a/../b", "/a", "a/", "a//b", ".hidden", "a+b", "ä", &long]
        {
            assert!(matches!(Place::new(wrong, None), Err(Error::Name { .. })), "{wrong}");
        }
        let deep = PathBuf::from("/tmp/".to_owned() + &"d".repeat(100));
        let place = Place::new("cam0", Some(&deep)).unwrap();
        assert!(matches!(place.socket(), Err(Error::PathTooLong { .. })));
    }

    #[test]
    #[cfg_attr(miri, ignore = "asks the system who may do what")]
    fn a_directory_open_to_others_is_not_this_users() {
        let stage = tempfile::tempdir().unwrap();
        let path = stage.path().join("tenure");
        let refused = |what: &str| {
            let error = check_private(&path).unwrap_err().to_string();
            assert!(error.starts_with(what), "{error}");
        };
        assert_eq!(check_private(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::write(&path, "").unwrap();
        refused("it is no directory");
        fs::remove_file(&path).unwrap();
        fs::DirBuilder::new().mode(0o700).create(&path).unwrap();
        check_private(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        refused("it has the mode 750");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        // Only root can give a directory away, and only others can see one that root has.
        if trust::tests::can_give_files_away() {
            std::os::unix::fs::chown(&path, Some(12345), None).unwrap();
            refused("it belongs to user 12345");
            std::os::unix::fs::chown(&path, Some(0), None).unwrap();
        } else {
            assert!(check_private(Path::new("/")).is_err());
        }
        let there = stage.path().join("there");
        fs::rename(&path, &there).unwrap();
        std::os::unix::fs::symlink(&there, &path).unwrap();
        refused("it is no directory");
    }

    #[test]
    #[cfg_attr(miri, ignore = "asks the system who may do what")]
    fn without_a_directory_of_the_machine_there_is_one_of_the_user() {
        let stage = tempfile::tempdir().unwrap();
        let machine = stage.path().join("run/tenure");
        assert_eq!(of_machine_or_user(&machine), of_user());
        fs::create_dir(stage.path().join("run")).unwrap();
        assert_eq!(of_machine_or_user(&machine), machine);
        fs::create_dir(&machine).unwrap();
        assert_eq!(of_machine_or_user(&machine), machine);
        assert!(of_user().to_str().unwrap().starts_with("/tmp/tenure-"));
    }
}
