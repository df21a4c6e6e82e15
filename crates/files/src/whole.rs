//! Files that are written whole or not at all. A file gets its name when it is complete: until
//! then it has a hidden one beside it, so that nobody sees half of it and a full disk leaves
//! nothing behind.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufWriter, ErrorKind};
use std::path::{Path, PathBuf};
use std::process;

#[cfg(test)]
mod tests;

/// What happens to a file that has the name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It is replaced, by a whole file or not at all.
    Replace,
    /// It stays, and the new one is refused.
    Keep,
}

/// Writes a file with what `fill` gives; says how many bytes it has.
///
/// ```
/// use std::io::Write;
/// use tenure_files::whole::{self, Existing};
/// let path = std::env::temp_dir().join(format!("whole-{}", std::process::id()));
/// let bytes = whole::write(&path, Existing::Keep, |out| out.write_all(b"all of it"))?;
/// assert_eq!((bytes, std::fs::read(&path)?), (9, b"all of it".to_vec()));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// What `fill` says, and what the system says: no space, no such folder, a file that is there and
/// is to be kept. A name of something that is no file (a folder, a device) is refused. The file is
/// then what it was before.
pub fn write<E: From<io::Error>>(
    path: &Path,
    existing: Existing,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<u64, E> {
    write_file(path, existing, false, fill)
}

/// As [`write()`], and on the disk when this returns: the bytes before the name, and the name. A
/// machine that loses its power has the file as it was, or all of the new one.
///
/// # Errors
/// As [`write()`].
pub fn write_durably<E: From<io::Error>>(
    path: &Path,
    existing: Existing,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<u64, E> {
    let bytes = write_file(path, existing, true, fill)?;
    sync_folder(path)?;
    Ok(bytes)
}

fn write_file<E: From<io::Error>>(
    path: &Path,
    existing: Existing,
    durable: bool,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<u64, E> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is there and is no file").into());
    }
    let (part, file) = Part::create(path, random)?;
    let mut writer = BufWriter::new(file);
    fill(&mut writer)?;
    let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
    let bytes = file.metadata()?.len();
    if durable {
        file.sync_all()?;
    }
    drop(file);
    match existing {
        Existing::Replace => fs::rename(&part.0, path)?,
        Existing::Keep => name_new(&part.0, path)?,
    }
    Ok(bytes)
}

/// Puts the names of a folder on the disk.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Folders cannot be opened elsewhere; names are kept with the files.
#[cfg(not(unix))]
fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Gives a file its name, and refuses if somebody has made one of this name meanwhile.
fn name_new(part: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(part, path) {
        // The hidden name goes when the part is dropped.
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
        // File systems that have no links: looked at first, which is nearly as good.
        Err(_) if path.symlink_metadata().is_ok() => Err(ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(part, path),
    }
}

/// So many hidden names are tried. Who has one of them has it by chance, or made all that it could
/// guess: a random one is not among them.
const ATTEMPTS: usize = 16;

/// The hidden name of a file that this made; a file that still has it is removed.
#[derive(Debug)]
struct Part(PathBuf);

impl Part {
    /// Makes a file beside `path` that is not there yet. What is there belongs to others, and stays.
    fn create(path: &Path, number: impl Fn() -> u64) -> io::Result<(Part, File)> {
        let mut taken = ErrorKind::AlreadyExists.into();
        for _ in 0..ATTEMPTS {
            let name = format!(".{}-{:016x}.part", process::id(), number());
            let part = path.with_file_name(name);
            match File::create_new(&part) {
                // Only now: whoever drops a part removes the file.
                Ok(file) => return Ok((Part(part), file)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => taken = error,
                Err(error) => return Err(error),
            }
        }
        Err(taken)
    }
}

/// A number that nobody else guesses: process numbers are used again, and by other machines and
/// containers that share the folder.
fn random() -> u64 {
    // Every state has a key of its own, the first of a thread from the system's random numbers.
    RandomState::new().hash_one(0_u64)
}

impl Drop for Part {
    fn drop(&mut self) {
        // Usually it is not there any more.
        let _ = fs::remove_file(&self.0);
    }
}
