//! Where memory and descriptors end: limits of the process, of its group, and of the machine.

use serde::Serialize;

use crate::machine::Tree;
use crate::machine::room::{Room, room};

/// The limits.
#[derive(Debug, Serialize)]
pub(super) struct Limits {
    /// Main memory.
    pub(super) memory: Option<Room>,
    /// Bytes that the control group of this process may use; `null` if it is not limited.
    pub(super) control_group: Option<u64>,
    /// Where named shared memory lives.
    pub(super) shared_memory: Option<SharedMemory>,
    /// What the kernel does when more is asked for than there is.
    pub(super) overcommit: Option<Overcommit>,
    /// Open descriptors of this process (`RLIMIT_NOFILE`): one for each shared allocation.
    pub(super) open_files: Option<Limit>,
    /// Bytes that this process may lock (`RLIMIT_MEMLOCK`).
    pub(super) locked_memory: Option<Limit>,
    /// Bytes of addresses of this process (`RLIMIT_AS`).
    pub(super) address_space: Option<Limit>,
    /// Mappings of this process: one or more for each large allocation.
    pub(super) mappings: Option<u64>,
}

/// The file system of named shared memory.
#[derive(Debug, Serialize)]
pub(super) struct SharedMemory {
    /// Where it is.
    pub(super) path: &'static str,
    /// Its bytes.
    pub(super) size: u64,
    /// Bytes that nobody uses.
    pub(super) free: u64,
}

/// How the kernel promises memory.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Overcommit {
    /// `vm.overcommit_memory`.
    pub(super) mode: u64,
    /// What that means.
    pub(super) meaning: &'static str,
}

/// A limit of this process. `null` is: no limit.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Limit {
    /// What holds now.
    pub(super) soft: Option<u64>,
    /// How far the process may raise it.
    pub(super) hard: Option<u64>,
}

pub(super) fn limits(tree: &Tree) -> Limits {
    let [open_files, locked_memory, address_space] = process_limits();
    Limits {
        memory: room(tree),
        control_group: control_group(tree),
        shared_memory: shared_memory(tree),
        overcommit: tree.number("/proc/sys/vm/overcommit_memory").map(overcommit),
        open_files,
        locked_memory,
        address_space,
        mappings: tree.number("/proc/sys/vm/max_map_count"),
    }
}

fn overcommit(mode: u64) -> Overcommit {
    let meaning = match mode {
        0 => "refuses only what is obviously too much",
        1 => "never refuses",
        2 => "refuses what is not backed by memory or swap",
        _ => "unknown",
    };
    Overcommit { mode, meaning }
}

/// The smallest limit on the way from this process's control group to the root, in either
/// version of control groups.
fn control_group(tree: &Tree) -> Option<u64> {
    let text = tree.text("/proc/self/cgroup")?;
    let limits = text.lines().filter_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        if controllers.is_empty() {
            lowest(tree, "/sys/fs/cgroup", path, "memory.max")
        } else if controllers.split(',').any(|name| name == "memory") {
            lowest(tree, "/sys/fs/cgroup/memory", path, "memory.limit_in_bytes")
        } else {
            None
        }
    });
    limits.min()
}

fn lowest(tree: &Tree, mount: &str, path: &str, file: &str) -> Option<u64> {
    /// The first version says "no limit" with the largest number of whole pages.
    const NO_LIMIT: u64 = 1 << 62;
    let mut folders = vec![];
    let mut folder = path.trim_end_matches('/');
    loop {
        folders.push(folder);
        match folder.rsplit_once('/') {
            Some((parent, _)) => folder = parent,
            None => break,
        }
    }
    let limit = |folder: &&str| tree.number(&format!("{mount}{folder}/{file}"));
    folders.iter().filter_map(limit).filter(|&limit| limit < NO_LIMIT).min()
}

#[cfg(linux_like)]
fn shared_memory(tree: &Tree) -> Option<SharedMemory> {
    const PATH: &str = "/dev/shm";
    let answer = rustix::fs::statvfs(tree.at(PATH)).ok()?;
    Some(SharedMemory {
        path: PATH,
        size: answer.f_blocks.saturating_mul(answer.f_frsize),
        free: answer.f_bavail.saturating_mul(answer.f_frsize),
    })
}

#[cfg(not(linux_like))]
fn shared_memory(_: &Tree) -> Option<SharedMemory> {
    None
}

/// Open files, locked memory, address space.
#[cfg(unix)]
fn process_limits() -> [Option<Limit>; 3] {
    use rustix::process::{Resource, getrlimit};
    [Resource::Nofile, Resource::Memlock, Resource::As].map(|resource| {
        let limit = getrlimit(resource);
        Some(Limit { soft: limit.current, hard: limit.maximum })
    })
}

#[cfg(not(unix))]
fn process_limits() -> [Option<Limit>; 3] {
    [None; 3]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn the_tightest_control_group_counts() {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree::below(folder.path());
        assert_eq!(control_group(&tree), None);
        put(folder.path(), "proc/self/cgroup", "0::/user.slice/session\n");
        put(folder.path(), "sys/fs/cgroup/user.slice/session/memory.max", "max\n");
        assert_eq!(control_group(&tree), None);
        put(folder.path(), "sys/fs/cgroup/user.slice/memory.max", "1000000\n");
        assert_eq!(control_group(&tree), Some(1_000_000));
    }

    #[test]
    fn the_first_version_of_control_groups_is_read_too() {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree::below(folder.path());
        put(folder.path(), "proc/self/cgroup", "4:memory:/a\n1:cpu:/\n0::/\n");
        let file = "sys/fs/cgroup/memory/a/memory.limit_in_bytes";
        put(folder.path(), file, "9223372036854771712\n");
        assert_eq!(control_group(&tree), None);
        put(folder.path(), file, "4096\n");
        assert_eq!(control_group(&tree), Some(4096));
    }
}
