//! The devices of this machine, looked for now.

use tenure::gpu::{Backend, Class, Listed, backends};

use super::{Gpu, Heap, Kind};

pub(in crate::info) fn gpus() -> Vec<Kind> {
    backends().iter().map(kind).collect()
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
