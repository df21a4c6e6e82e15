//! The files of a machine: those below `/`, or below a folder that stands in for it in tests.

use std::fs;
use std::io;
use std::path::PathBuf;

/// A machine's files, by their usual absolute paths; none where the system is not Linux. Others have
/// files of these names that mean something else: Wine shows Windows programs the Linux below it.
#[derive(Debug, Clone)]
pub(crate) struct Tree(Option<PathBuf>);

impl Tree {
    /// The machine that this runs on.
    pub(crate) fn here() -> Tree {
        Tree(cfg!(linux_like).then(|| "/".into()))
    }

    /// A folder that looks like a machine.
    #[cfg(test)]
    pub(crate) fn below(folder: &std::path::Path) -> Tree {
        Tree(Some(folder.into()))
    }

    /// Where the file really is.
    #[cfg(linux_like)]
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        // Nothing is at an empty path.
        self.find(path).unwrap_or_default()
    }

    fn find(&self, path: &str) -> Option<PathBuf> {
        Some(self.0.as_ref()?.join(path.trim_start_matches('/')))
    }

    /// The text of a file without the white space around it; `None` if it cannot be read.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.find(path)?).ok()?;
        Some(text.trim().to_owned())
    }

    /// The number that a file contains.
    pub(crate) fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    /// The names in a folder, in order; numbers inside names count as numbers.
    pub(crate) fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        let mut names = vec![];
        let folder = self.find(folder).ok_or(io::ErrorKind::Unsupported)?;
        for entry in fs::read_dir(folder)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort_by_key(|name| {
            let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
            let (word, number) = name.split_at(name.len() - digits);
            (word.to_owned(), number.parse::<u64>().unwrap_or(0))
        });
        Ok(names)
    }

    /// The last part of what a symbolic link points to.
    #[cfg(linux_like)]
    pub(crate) fn link_name(&self, path: &str) -> Option<String> {
        let target = fs::read_link(self.find(path)?).ok()?;
        Some(target.file_name()?.to_string_lossy().into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_linux_has_these_files() {
        let tree = Tree::here();
        assert_eq!(tree.text("/proc/meminfo").is_some(), cfg!(linux_like));
        assert_eq!(tree.names("/proc").is_ok(), cfg!(linux_like));
        let elsewhere = Tree(None);
        assert_eq!(elsewhere.text("/proc/meminfo"), None);
        assert_eq!(elsewhere.names("/proc").unwrap_err().kind(), io::ErrorKind::Unsupported);
    }

    #[test]
    fn names_are_in_natural_order() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["video10", "video2", "audio", "video0"] {
            fs::write(folder.path().join(name), " 42\n").unwrap();
        }
        let tree = Tree::below(folder.path());
        assert_eq!(tree.names("/").unwrap(), ["audio", "video0", "video2", "video10"]);
        assert_eq!(tree.number("/video2"), Some(42));
        assert_eq!(tree.text("/video3"), None);
    }
}
