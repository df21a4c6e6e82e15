//! The memories: each is tried, or says why it cannot be.

use serde::Serialize;
use tenure::Buffer;
use tenure::memory::kind::{self, Kind};
use tenure::memory::{Allocator, Error, Request};
use tenure::{LogicalMemorySpace, TensorMemory};

use super::gpus;
use crate::failure;

/// One memory.
#[derive(Debug, Serialize)]
pub(super) struct Memory {
    /// Its word: `mem`, `dma` …
    pub(super) name: &'static str,
    /// Its fixed number in C and in messages.
    pub(super) code: u8,
    /// What it is.
    pub(super) title: &'static str,
    /// Whether it works here: a page was really used.
    pub(super) works: bool,
    /// What was tried, if it works.
    pub(super) tried: Option<String>,
    /// Why it does not work.
    pub(super) reason: Option<String>,
    #[serde(skip)]
    pub(super) memory: TensorMemory,
    /// Where its bytes were, if it works.
    #[serde(skip)]
    pub(super) space: Option<LogicalMemorySpace>,
}

/// Bytes that are tried: one small page.
const TRIAL: usize = 4096;

/// Every memory; those of devices on the first of these that has them.
pub(super) fn memories(gpus: &[gpus::Kind]) -> Vec<Memory> {
    let mut devices = gpus::Opened::new(gpus);
    kind::ALL.iter().map(|kind| look(kind, &mut devices)).collect()
}

fn look(kind: &Kind, devices: &mut gpus::Opened) -> Memory {
    let outcome = match kind.memory {
        TensorMemory::File => mapped_file::attempt(),
        TensorMemory::Device | TensorMemory::Pinned | TensorMemory::Managed => {
            on_a_device(kind.memory, devices)
        }
        _ => kind.allocator().map_err(|error| reason(&error)).and_then(attempt),
    };
    let (tried, space, reason) = match outcome {
        Ok((tried, space)) => (Some(tried), Some(space), None),
        Err(reason) => (None, None, Some(reason)),
    };
    Memory {
        name: kind.memory.name(),
        code: kind.memory.code(),
        title: kind.title,
        works: reason.is_none(),
        tried,
        reason,
        memory: kind.memory,
        space,
    }
}

type Outcome = Result<(String, LogicalMemorySpace), String>;

/// Tries memory of a device, on those that there are.
fn on_a_device(memory: TensorMemory, devices: &mut gpus::Opened) -> Outcome {
    let (device, allocator) = devices.allocator(memory)?;
    let (tried, space) =
        attempt(allocator.as_ref()).map_err(|reason| format!("{device}: {reason}"))?;
    Ok((format!("{device}: {tried}"), space))
}

/// Allocates a page, writes it and reads it back.
fn attempt(allocator: &dyn Allocator) -> Outcome {
    let space = allocator.space();
    match write_and_read(allocator) {
        Ok(true) => Ok(("allocated, written and read back".to_owned(), space)),
        Ok(false) => Err("what was read back is not what was written".to_owned()),
        // Memory that the CPU cannot reach works as far as can be seen from here.
        Err(Error::NotMappable { .. }) => {
            Ok(("allocated; the CPU cannot reach it".to_owned(), space))
        }
        Err(error) => Err(reason(&error)),
    }
}

fn write_and_read(allocator: &dyn Allocator) -> Result<bool, Error> {
    let request = Request::new(TRIAL)?.with_name(Some("tenure-info"));
    let buffer = Buffer::from_raw(allocator.allocate(&request)?);
    let pattern = |index: usize| (index % 251) as u8;
    let mut guard = buffer.write()?;
    for (index, byte) in guard.as_bytes_mut().iter_mut().enumerate() {
        *byte = pattern(index);
    }
    drop(guard);
    let same = |(index, byte): (usize, &u8)| *byte == pattern(index);
    Ok(buffer.read()?.as_bytes().iter().enumerate().all(same))
}

/// Why memory was refused, without repeating which memory it was, and with the causes.
pub(crate) fn reason(error: &Error) -> String {
    match error {
        Error::Unavailable(unavailable) => unavailable.why.to_string(),
        other => failure::chain(other).join(": "),
    }
}

/// Files are not allocated: this program's own is mapped, and compared with what reading gives.
#[cfg(linux_like)]
mod mapped_file {
    use std::fs::File;
    use std::io::{self, Read};

    use tenure::LogicalMemorySpace;
    use tenure::memory::open_file;

    use super::{Outcome, TRIAL, reason};

    pub(super) fn attempt() -> Outcome {
        let program = std::env::current_exe().map_err(|error| no_program(&error))?;
        let mut page = vec![0; TRIAL];
        File::open(&program)
            .and_then(|mut file| file.read_exact(&mut page))
            .map_err(|error| no_program(&error))?;
        let mapped = open_file(&program).map_err(|error| reason(&error))?;
        let guard = mapped.read().map_err(|error| reason(&error))?;
        if guard.as_bytes().starts_with(&page) {
            Ok(("mapped and read".to_owned(), LogicalMemorySpace::MainMemory))
        } else {
            Err("what was mapped is not what was read".to_owned())
        }
    }

    fn no_program(error: &io::Error) -> String {
        format!("no file to try: this program's own cannot be read: {error}")
    }
}

#[cfg(not(linux_like))]
mod mapped_file {
    use tenure::TensorMemory;
    use tenure::memory::kind;

    use super::{Outcome, attempt as attempt_allocator, reason};

    pub(super) fn attempt() -> Outcome {
        let allocator = kind::allocator(TensorMemory::File).map_err(|error| reason(&error))?;
        attempt_allocator(allocator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_memory_works_or_has_a_reason() {
        let all = memories(&gpus::gpus());
        assert_eq!(all.len(), kind::ALL.len());
        for memory in &all {
            assert_ne!(memory.works, memory.reason.is_some(), "{memory:?}");
            assert_eq!(memory.works, memory.tried.is_some(), "{memory:?}");
            assert_ne!(memory.reason.as_deref(), Some(""), "{memory:?}");
        }
        assert!(all.iter().any(|memory| memory.name == "mem" && memory.works));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_has_shared_memory_and_files() {
        for memory in memories(&[]) {
            assert!(memory.works || !["shm", "file"].contains(&memory.name), "{memory:?}");
        }
    }

    /// What is said of memories of devices agrees with what is said of devices.
    #[test]
    fn memories_of_devices_work_where_a_device_does() {
        let gpus = gpus::gpus();
        let works = |name| memories(&gpus).iter().any(|memory| memory.name == name && memory.works);
        let there = gpus.iter().any(|kind| kind.works);
        assert_eq!((works("device"), works("pinned")), (there, there));
        let none = memories(&[]).into_iter().find(|memory| memory.name == "pinned").unwrap();
        let reason = none.reason.unwrap();
        assert!(reason.contains("no device works here"), "{reason}");
    }

    #[test]
    fn reasons_do_not_repeat_the_memory() {
        let error = kind::allocator(TensorMemory::Managed).err().unwrap();
        let rust = "managed memory belongs to a device: open one with tenure::gpu::open()";
        assert_eq!(reason(&error), rust);
        // The command opens devices itself.
        let told = tenure::Language::Command.during(|| reason(&error));
        assert_eq!(told, "managed memory belongs to a device");
        let source = Some(std::io::Error::other("no pages"));
        let (memory, available) = (TensorMemory::Shm, None);
        let error = Error::from(tenure::memory::detail::OutOfMemory {
            memory,
            bytes: 5,
            available,
            source,
        });
        assert_eq!(reason(&error), "shm: no room for 5 bytes: no pages");
    }
}
