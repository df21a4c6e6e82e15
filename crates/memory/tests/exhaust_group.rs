//! Small shared memory in a control group that is full: an error, and not the kernel's killer.
//!
//! Needs a user that may make control groups; nothing is tested where that is not so.
#![cfg(all(target_os = "linux", not(miri)))]

use std::fs;
use std::path::{Path, PathBuf};

use tenure_memory::{Buffer, Error, Request, SlotMemory, TensorMemory, allocate};

#[path = "common/child.rs"]
mod child;

const LIMIT: usize = 64 << 20;

/// A control group of this process and of no other.
struct Group(PathBuf);

impl Group {
    /// Enters a new group with a limit.
    fn enter() -> Option<Group> {
        let versions =
            [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        versions.into_iter().find_map(|(root, limit)| {
            let folder = Path::new(root).join(format!("tenure-test-{}", std::process::id()));
            fs::create_dir(&folder).ok()?;
            let group = Group(folder);
            // Not opened for writing by making it: that would make a file in an ordinary folder.
            let set = |file: &str, text: String| {
                let path = group.0.join(file);
                path.exists().then(|| fs::write(path, text).ok()).flatten()
            };
            set(limit, LIMIT.to_string())?;
            // Swap would hide that it is full, where there is any.
            set("memory.memsw.limit_in_bytes", LIMIT.to_string());
            set("memory.swap.max", "0".to_owned());
            set("cgroup.procs", std::process::id().to_string())?;
            Some(group)
        })
    }

    /// Leaves it again, and removes it.
    fn leave(self) {
        let parent = self.0.parent().unwrap().join("cgroup.procs");
        let _ = fs::write(parent, std::process::id().to_string());
        let _ = fs::remove_dir(&self.0);
    }
}

fn in_a_group(name: &str, body: impl FnOnce()) {
    child::alone(name, || match Group::enter() {
        Some(group) => {
            body();
            group.leave();
        }
        None => println!("not tested: no control group can be made here"),
    });
}

#[test]
fn small_shared_memory_ends_with_an_error() {
    in_a_group("small_shared_memory_ends_with_an_error", || {
        for bytes in [5000, 300_000, 1 << 20, 3 << 20] {
            let mut all = vec![];
            let error = loop {
                match allocate(Some(TensorMemory::Shm), &Request::new(bytes).unwrap()) {
                    Ok(raw) => all.push(raw),
                    Err(error) => break error,
                }
                assert!(all.len() * bytes <= LIMIT, "more than there is");
            };
            // Descriptors may be scarcer than memory.
            if matches!(error, Error::OutOfMemory { .. }) {
                assert!(all.len() * bytes > LIMIT / 8, "{} of {bytes}: {error}", all.len());
                assert!(error.to_string().contains("are available"), "{error}");
            } else {
                assert!(bytes < 10_000, "{error}");
            }
        }
    });
}

#[test]
fn a_view_kept_past_publishing_is_refused_its_copy() {
    in_a_group("a_view_kept_past_publishing_is_refused_its_copy", || {
        let request = Request::new(1 << 20).unwrap();
        let mut slot = SlotMemory::new(allocate(Some(TensorMemory::Shm), &request).unwrap());
        let mut kept = vec![];
        let error = loop {
            let window = Buffer::from_raw(slot.window(()));
            if let Err(error) = slot.open(window.raw().unwrap()) {
                break error;
            }
            let mut guard = window.write().unwrap();
            guard.as_bytes_mut().fill(kept.len() as u8);
            match slot.part(window.raw().unwrap()) {
                Ok(parted) => slot = parted,
                Err(error) => {
                    kept.push((window, guard));
                    break error;
                }
            }
            kept.push((window, guard));
            assert!(kept.len() << 20 <= LIMIT, "more than there is");
        };
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
        assert!(kept.len() << 20 > LIMIT / 4, "{}", kept.len());
        // Nothing is lost.
        for (round, (_, guard)) in kept.iter().enumerate() {
            assert!(guard.as_bytes().iter().all(|byte| *byte == round as u8), "{round}");
        }
    });
}

#[test]
fn small_heap_blocks_count_too() {
    in_a_group("small_heap_blocks_count_too", || {
        let request = Request::new(100_000).unwrap();
        let mut all = vec![];
        let error = loop {
            match allocate(Some(TensorMemory::Mem), &request) {
                Ok(raw) => all.push(raw),
                Err(error) => break error,
            }
            assert!(all.len() < 1 << 20, "there is no end");
        };
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    });
}
