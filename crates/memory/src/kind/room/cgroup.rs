//! Limits of the control groups that this process is in, of both versions.
//!
//! A container often sees the groups of its host in `/proc/self/cgroup` and its own as the root of
//! what is mounted. So every folder from the process's own up to the root is asked, where there is
//! one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Above this a limit is none: version 1 writes a number where version 2 writes a word.
const NONE: u64 = 1 << 60;

/// A group with a limit.
#[derive(Debug, PartialEq, Eq)]
struct Group {
    folder: PathBuf,
    names: &'static Names,
    limit: u64,
}

/// What the files of one version are called.
#[derive(Debug, PartialEq, Eq)]
struct Names {
    limit: &'static str,
    used: &'static str,
    /// In `memory.stat`: pages that are given up before anybody is killed.
    cached: [&'static str; 2],
}

static FIRST: Names = Names {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cached: ["total_inactive_file", "total_active_file"],
};

static SECOND: Names =
    Names { limit: "memory.max", used: "memory.current", cached: ["inactive_file", "active_file"] };

/// The smallest limit of all groups, as it was when first asked for.
///
/// # Errors
/// If nobody can be asked now, because there are no descriptors left.
pub(super) fn limit() -> io::Result<Option<u64>> {
    Ok(groups()?.iter().map(|group| group.limit).min())
}

/// How much the groups leave now, counted without files in the cache. Costs nothing where there is
/// no limit.
pub(super) fn available() -> Option<u64> {
    groups().ok()?.iter().filter_map(Group::available).min()
}

fn groups() -> io::Result<&'static [Group]> {
    static GROUPS: OnceLock<Vec<Group>> = OnceLock::new();
    if let Some(groups) = GROUPS.get() {
        return Ok(groups);
    }
    let own = text(Path::new("/proc/self/cgroup"))?.unwrap_or_default();
    let groups = groups_in(Path::new("/sys/fs/cgroup"), &own)?;
    Ok(GROUPS.get_or_init(|| groups))
}

/// The groups with limits that `own` names (the text of `/proc/self/cgroup`), mounted at `root`.
fn groups_in(root: &Path, own: &str) -> io::Result<Vec<Group>> {
    let mut all = vec![];
    for (root, inside, names) in own.lines().filter_map(|line| of_line(root, line)) {
        for folder in inside.ancestors().map(|inside| root.join(inside)) {
            if let Some(limit) = number(&folder.join(names.limit))?.filter(|limit| *limit < NONE) {
                all.push(Group { folder, names, limit });
            }
        }
    }
    Ok(all)
}

/// Where the groups of a line `number:controllers:path` are.
fn of_line<'a>(root: &Path, line: &'a str) -> Option<(PathBuf, &'a Path, &'static Names)> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?);
    let (root, names) = match controllers {
        "" => (root.to_owned(), &SECOND),
        list if list.split(',').any(|one| one == "memory") => (root.join("memory"), &FIRST),
        _ => return None,
    };
    Some((root, Path::new(path.trim_start_matches('/')), names))
}

/// What a file says; `None` if there is none that can be read.
fn text(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) => {
            Err(error)
        }
        answer => Ok(answer.ok()),
    }
}

fn number(path: &Path) -> io::Result<Option<u64>> {
    Ok(text(path)?.and_then(|text| text.trim().parse().ok()))
}

impl Group {
    fn available(&self) -> Option<u64> {
        let used = number(&self.folder.join(self.names.used)).ok()??;
        let stat = fs::read_to_string(self.folder.join("memory.stat")).unwrap_or_default();
        let value = |name: &str| -> u64 {
            let value = |line: &str| line.strip_prefix(name)?.trim().parse().ok();
            stat.lines().find_map(value).unwrap_or(0)
        };
        let cached = self.names.cached.iter().map(|name| value(name)).fold(0, u64::saturating_add);
        Some(self.limit.saturating_sub(used.saturating_sub(cached)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of control groups: folder, file, text.
    fn tree(files: &[(&str, &str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (folder, file, text) in files {
            fs::create_dir_all(root.path().join(folder)).unwrap();
            fs::write(root.path().join(folder).join(file), text).unwrap();
        }
        root
    }

    fn limits(groups: &[Group]) -> Vec<u64> {
        groups.iter().map(|group| group.limit).collect()
    }

    #[test]
    fn every_group_of_version_two_counts() {
        let root = tree(&[
            ("", "memory.stat", "anon 5\n"),
            ("system", "memory.max", "9000\n"),
            ("system", "memory.current", "8000\n"),
            ("system", "memory.stat", "anon 3000\ninactive_file 1500\nactive_file 500\n"),
            ("system/camera", "memory.max", "max\n"),
            ("system/camera/x", "memory.max", "7000\n"),
            ("system/camera/x", "memory.current", "100\n"),
        ]);
        let groups = groups_in(root.path(), "0::/system/camera/x\n").unwrap();
        assert_eq!(limits(&groups), [7000, 9000]);
        // Without the cache, and also without its list.
        assert_eq!(groups[1].available(), Some(9000 - 6000));
        assert_eq!(groups[0].available(), Some(6900));
    }

    #[test]
    fn version_one_is_read_too() {
        let root = tree(&[
            ("memory", "memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory/box", "memory.limit_in_bytes", "5000"),
            ("memory/box", "memory.usage_in_bytes", "6000"),
            ("memory/box", "memory.stat", "cache 9\ntotal_inactive_file 2000\n"),
            ("", "memory.max", "1"),
        ]);
        let own = "12:cpu,cpuacct:/box\n7:hugetlb,memory:/box\n1:name=systemd:/box\n";
        let groups = groups_in(root.path(), own).unwrap();
        assert_eq!(limits(&groups), [5000]);
        assert_eq!(groups[0].available(), Some(1000));
    }

    #[test]
    fn a_container_that_sees_its_hosts_groups() {
        let root = tree(&[("", "memory.max", "4096\n")]);
        assert_eq!(limits(&groups_in(root.path(), "0::/docker/0123abc\n").unwrap()), [4096]);
    }

    #[test]
    fn nothing_is_no_limit() {
        let root = tree(&[("", "memory.max", "not a number\n")]);
        for own in ["", "0::/\n", "nonsense", "0:memory", "0::/../..\n", ":::::"] {
            assert_eq!(groups_in(root.path(), own).unwrap(), [], "{own:?}");
        }
    }
}
