//! The devices of this machine, looked for now.

use std::sync::Arc;

use tenure::TensorMemory;
use tenure::gpu::{self, Backend, Class, Listed, backends};
use tenure::memory::Allocator;

use super::super::memories::reason;
use super::{Gpu, Heap, Kind};

pub(in crate::info) fn gpus() -> Vec<Kind> {
    backends().iter().map(kind).collect()
}

/// Devices that work, opened when the first memory of one is asked for.
pub(in crate::info) struct Opened {
    words: Vec<String>,
    open: Option<Vec<(String, Result<gpu::Gpu, String>)>>,
}

impl Opened {
    pub(in crate::info) fn new(kinds: &[Kind]) -> Opened {
        let devices = kinds.iter().flat_map(|kind| &kind.devices).filter(|device| device.works);
        Opened { words: devices.map(|device| device.word.clone()).collect(), open: None }
    }

    /// The first device that has a memory, and its allocator; or why there is none.
    pub(in crate::info) fn allocator(
        &mut self,
        memory: TensorMemory,
    ) -> Result<(String, Arc<dyn Allocator>), String> {
        let words = &self.words;
        let open = self.open.get_or_insert_with(|| {
            let open =
                |word: &String| (word.clone(), gpu::open(word).map_err(|error| error.to_string()));
            words.iter().map(open).collect()
        });
        let mut reasons = vec![];
        for (word, device) in open {
            let found = device.as_ref().map_err(Clone::clone);
            match found.and_then(|gpu| gpu.allocator(memory).map_err(|error| reason(&error))) {
                Ok(allocator) => return Ok((word.clone(), allocator)),
                Err(reason) => reasons.push(format!("{word}: {reason}")),
            }
        }
        match reasons.is_empty() {
            true => Err("it belongs to a device, and no device works here: see GPUs".to_owned()),
            false => Err(reasons.join("; ")),
        }
    }
}

fn kind(backend: &Backend) -> Kind {
    let (name, title) = (backend.name, backend.title);
    let (devices, reason) = match backend.devices() {
        Ok(devices) => (devices, None),
        Err(missing) => (vec![], Some(missing.to_string())),
    };
    let devices: Vec<Gpu> = devices.into_iter().map(|device| gpu(name, device)).collect();
    Kind { name, title, works: devices.iter().any(|device| device.works), reason, devices }
}

fn gpu(backend: &str, device: Listed) -> Gpu {
    let heap = |region: &tenure::gpu::Region| Heap {
        bytes: region.bytes,
        local: region.local,
        mappable: region.mappable,
    };
    Gpu {
        word: format!("{backend}:{}", device.number),
        name: device.name,
        driver: device.driver,
        class: match device.class {
            Class::Discrete => "discrete",
            Class::Integrated => "integrated",
            Class::Virtual => "virtual",
            Class::Software => "software",
            _ => "other",
        },
        heaps: device.heaps.iter().map(heap).collect(),
        abilities: device.abilities,
        works: device.unusable.is_none(),
        reason: device.unusable,
    }
}
