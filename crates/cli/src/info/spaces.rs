//! The logical memory spaces: what DLPack calls them, and which memories live in them.

use serde::Serialize;
use tenure::{DeviceVendor, LogicalMemorySpace, TensorMemory};

use super::memories::Memory;

/// One logical memory space.
#[derive(Debug, Serialize)]
pub(super) struct Space {
    /// Its word: `main`, `pinned`, `gpu` or `managed`.
    pub(super) name: &'static str,
    /// What it is.
    pub(super) title: &'static str,
    /// Its device types in DLPack.
    pub(super) dlpack: Vec<DlPack>,
    /// Whether memory in it can be had here.
    pub(super) works: bool,
    /// The memories that live in it and work here.
    pub(super) memories: Vec<&'static str>,
    /// Why it does not work.
    pub(super) reason: Option<String>,
}

/// A device type of DLPack.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct DlPack {
    /// `DLDeviceType`.
    pub(super) code: i32,
    /// Its name in DLPack, without `kDL`.
    pub(super) name: &'static str,
}

/// Each space, with its words and the memory that is made for it.
const ALL: [(LogicalMemorySpace, &str, &str, TensorMemory); 4] = [
    (LogicalMemorySpace::MainMemory, "main", "memory of the CPU", TensorMemory::Mem),
    (LogicalMemorySpace::PinnedMemory, "pinned", "locked, for a GPU", TensorMemory::Pinned),
    (
        LogicalMemorySpace::GpuMemory { device_id: 0 },
        "gpu",
        "memory of a GPU",
        TensorMemory::Device,
    ),
    (LogicalMemorySpace::ManagedMemory, "managed", "moves by itself", TensorMemory::Managed),
];

pub(super) fn spaces(memories: &[Memory]) -> Vec<Space> {
    let space = |(space, name, title, made_for_it)| {
        let lives_here = |memory: &&Memory| memory.space.is_some_and(|own| same(own, space));
        let working: Vec<_> =
            memories.iter().filter(lives_here).map(|memory| memory.name).collect();
        let reason = || {
            let memory = memories.iter().find(|memory| memory.memory == made_for_it)?;
            memory.reason.clone()
        };
        Space {
            name,
            title,
            dlpack: dlpack(space),
            works: !working.is_empty(),
            reason: if working.is_empty() { reason() } else { None },
            memories: working,
        }
    };
    ALL.into_iter().map(space).collect()
}

/// Whether two spaces are the same, whichever GPU it is.
fn same(one: LogicalMemorySpace, other: LogicalMemorySpace) -> bool {
    std::mem::discriminant(&one) == std::mem::discriminant(&other)
}

/// The codes of a space: one for each vendor that has a code of its own.
fn dlpack(space: LogicalMemorySpace) -> Vec<DlPack> {
    let mut codes: Vec<DlPack> = vec![];
    for vendor in [DeviceVendor::Cuda, DeviceVendor::Rocm] {
        let code = space.dlpack(vendor).device_type;
        if !codes.iter().any(|known| known.code == code) {
            codes.push(DlPack { code, name: dlpack_name(code) });
        }
    }
    codes
}

/// The name of a device type in DLPack's header.
fn dlpack_name(code: i32) -> &'static str {
    match code {
        1 => "CPU",
        2 => "CUDA",
        3 => "CUDAHost",
        10 => "ROCM",
        11 => "ROCMHost",
        13 => "CUDAManaged",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::memories::memories;

    #[test]
    fn every_space_has_its_codes() {
        let codes = |space| dlpack(space).iter().map(|known| known.code).collect::<Vec<_>>();
        assert_eq!(codes(LogicalMemorySpace::MainMemory), [1]);
        assert_eq!(codes(LogicalMemorySpace::PinnedMemory), [3, 11]);
        assert_eq!(codes(LogicalMemorySpace::GpuMemory { device_id: 0 }), [2, 10]);
        assert_eq!(codes(LogicalMemorySpace::ManagedMemory), [13]);
        for (space, ..) in ALL {
            assert!(dlpack(space).iter().all(|known| known.name != "unknown"));
        }
    }

    #[test]
    fn every_space_works_or_has_a_reason() {
        for space in spaces(&memories(&[])) {
            assert_ne!(space.works, space.reason.is_some(), "{space:?}");
        }
    }
}
