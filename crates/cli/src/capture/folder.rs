//! The folder that files go to, each whole or not at all.

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use tenure::files::whole::{self, Existing};

use super::problem::Problem;

/// A folder that files can be written into.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Whether files that are there are replaced.
    force: bool,
}

/// What the writing of a file ends with.
pub(super) type Filled = Result<(), Box<dyn Error + Send + Sync>>;

/// The name of a frame's file.
pub(super) fn name(index: u32, ending: &str) -> String {
    format!("{index:06}.{ending}")
}

impl Folder {
    /// Makes the folder if it is not there, and looks whether `frames` frames fit into it with
    /// files of these endings.
    pub(super) fn prepare(
        path: &Path,
        frames: u32,
        endings: &[&str],
        force: bool,
    ) -> Result<Folder, Problem> {
        let failed =
            |what| move |cause: io::Error| Problem::Folder { path: path.to_owned(), what, cause };
        if fs::metadata(path).is_ok_and(|found| !found.is_dir()) {
            return Err(Problem::NotAFolder(path.to_owned()));
        }
        fs::create_dir_all(path).map_err(failed("made"))?;
        let mut there = vec![];
        for entry in fs::read_dir(path).map_err(failed("read"))? {
            let name = entry.map_err(failed("read"))?.file_name();
            if name.to_str().is_some_and(|name| is_ours(name, frames, endings)) {
                there.push(name);
            }
        }
        if let (Some(first), false) = (there.iter().min(), force) {
            return Err(Problem::Exists { first: path.join(first), count: there.len() });
        }
        access(path, Access::WRITE_OK | Access::EXEC_OK)
            .map_err(|errno| failed("written into")(errno.into()))?;
        Ok(Folder { path: path.to_owned(), force })
    }

    /// The path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes one file, whole or not at all; says how many bytes it has.
    pub(super) fn write(
        &self,
        name: &str,
        fill: impl FnOnce(&mut BufWriter<File>) -> Filled,
    ) -> Result<u64, Problem> {
        let path = self.path.join(name);
        let existing = if self.force { Existing::Replace } else { Existing::Keep };
        whole::write(&path, existing, fill).map_err(|cause| Problem::Write { path, cause })
    }
}

/// Whether a file has the name of one that will be written.
fn is_ours(name: &str, frames: u32, endings: &[&str]) -> bool {
    let Some((number, ending)) = name.split_once('.') else { return false };
    let index = number.parse().ok().filter(|index| *index < frames);
    endings.contains(&ending) && index.is_some_and(|index| self::name(index, ending) == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn files_are_whole_or_not_there() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/b");
        let folder = Folder::prepare(&path, 10, &["png"], false).unwrap();
        let bytes = folder.write("000000.png", |out| Ok(out.write_all(b"whole")?)).unwrap();
        assert_eq!((bytes, fs::read(path.join("000000.png")).unwrap()), (5, b"whole".to_vec()));
        let failed = folder.write("000001.png", |out| {
            out.write_all(&[0; 100_000])?;
            assert_eq!(names(&path).len(), 2, "under a hidden name");
            Err(io::Error::from(io::ErrorKind::StorageFull).into())
        });
        let words = failed.unwrap_err().to_string();
        assert!(words.ends_with("000001.png cannot be written: no storage space"), "{words}");
        assert_eq!(names(&path), ["000000.png"]);
    }

    #[test]
    fn nothing_is_replaced_without_being_told() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path();
        let prepare = |frames, force| Folder::prepare(path, frames, &["png", "npy"], force);
        let folder = prepare(3, false).unwrap();
        fs::write(path.join("000002.npy"), "old").unwrap();
        // Made by somebody after we looked.
        let late = folder.write("000002.npy", |out| Ok(out.write_all(b"new")?)).unwrap_err();
        assert!(late.to_string().contains("File exists"), "{late}");
        assert_eq!(fs::read(path.join("000002.npy")).unwrap(), b"old");

        let error = prepare(3, false).unwrap_err().to_string();
        assert!(error.contains("000002.npy is there already") && error.contains("--force"));
        for other in ["000002.txt", "2.npy", "000002.npy.old", "0000002.npy", "+00001.png"] {
            fs::write(path.join(other), "").unwrap();
        }
        assert!(prepare(2, false).is_ok(), "no such frame is written");
        fs::write(path.join("000001.png"), "old").unwrap();
        fs::write(path.join("000001.npy"), "old").unwrap();
        let error = prepare(3, false).unwrap_err().to_string();
        assert!(error.contains("000001.npy and 2 more files are there"), "{error}");
        let folder = prepare(3, true).unwrap();
        folder.write("000002.npy", |out| Ok(out.write_all(b"new")?)).unwrap();
        assert_eq!(fs::read(path.join("000002.npy")).unwrap(), b"new");
    }

    #[test]
    fn what_is_no_folder_says_so() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Folder::prepare(&file, 1, &["png"], true).unwrap_err().to_string();
        assert!(error.ends_with("file is no folder: name another with -o"), "{error}");
        let below = Folder::prepare(&file.join("x"), 1, &["png"], true).unwrap_err().to_string();
        assert!(below.contains("cannot be made: Not a directory"), "{below}");
    }
}
