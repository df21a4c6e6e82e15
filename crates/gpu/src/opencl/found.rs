//! The devices that a loader of drivers finds, and what is known of each.

use tenure_memory::{DeviceVendor, TensorMemory};

use super::EXTENSION;
use super::api::{Api, DeviceId, Platform, Usm};
use crate::device::{Class, Properties, Region};
use crate::{Listed, Missing};

// Questions, as OpenCL's header numbers them.
const PLATFORM_NAME: u32 = 0x0902;
const TYPE: u32 = 0x1000;
const MAX_ALLOCATION: u32 = 0x1010;
const GLOBAL_BYTES: u32 = 0x101F;
const AVAILABLE: u32 = 0x1027;
const NAME: u32 = 0x102B;
const DRIVER_VERSION: u32 = 0x102D;
const VERSION: u32 = 0x102F;
const EXTENSIONS: u32 = 0x1030;
const HOST_UNIFIED: u32 = 0x1035;
const UUID: u32 = 0x106A;
// What each kind of unified shared memory can do.
const HOST_MEMORY: u32 = 0x4190;
const DEVICE_MEMORY: u32 = 0x4191;
const SHARED_MEMORY: u32 = 0x4192;
const SYSTEM_MEMORY: u32 = 0x4194;

/// The device reads and writes it.
const ACCESS: u64 = 1;
/// It does so while the CPU uses other bytes of the same allocation.
const CONCURRENT: u64 = 4;

const CPU: u64 = 2;
const GPU: u64 = 4;

/// How much is asked of a driver at a time.
const BLOCK: u64 = 64 << 20;
/// One queue, and one for copies in each direction: what hardware has engines for.
const QUEUES: usize = 3;

/// A device of some driver.
pub(super) struct Found {
    pub(super) number: u32,
    pub(super) platform: Platform,
    pub(super) id: DeviceId,
    pub(super) name: String,
    driver: String,
    class: Class,
    bytes: u64,
    /// The longest allocation.
    pub(super) most: u64,
    mappable: bool,
    memories: Vec<TensorMemory>,
    /// Whether it reaches all main memory.
    system: bool,
    uuid: [u8; 16],
    /// What makes its memory.
    pub(super) usm: Option<Usm>,
    /// Why it cannot be used.
    pub(super) unusable: Option<String>,
}

/// Every device of every driver, one of which at least can be used.
pub(super) fn all(api: &Api) -> Result<Vec<Found>, Missing> {
    let library = api.name.clone();
    let platforms = api.platforms()?;
    let mut all = vec![];
    for &platform in &platforms {
        for id in api.devices(platform)? {
            all.push(see(api, all.len() as u32, platform, id));
        }
    }
    if all.is_empty() {
        let detail = match platforms.len() {
            0 => " (no driver is installed, or none that /etc/OpenCL/vendors names)".to_owned(),
            count => format!(" (it has {count} drivers)"),
        };
        return Err(Missing::NoDevice { library, detail });
    }
    if all.iter().all(|found| found.unusable.is_some()) {
        let found = all
            .iter()
            .map(|found| {
                let why = found.unusable.as_deref().unwrap_or_default();
                format!("{} of {}, {why}", found.name, found.driver)
            })
            .collect::<Vec<_>>()
            .join("; ");
        let needed = format!("a device with {EXTENSION}");
        return Err(Missing::TooOld { library, needed, found });
    }
    Ok(all)
}

fn see(api: &Api, number: u32, platform: Platform, id: DeviceId) -> Found {
    let words = |what| api.words(id, what).unwrap_or_default();
    let amount = |what| api.number(id, what).unwrap_or(0);
    let extensions = words(EXTENSIONS);
    let has = |name: &str| extensions.split_ascii_whitespace().any(|word| word == name);
    let unified = amount(HOST_UNIFIED) != 0;
    let class = match amount(TYPE) {
        kind if kind & CPU != 0 => Class::Software,
        kind if kind & GPU != 0 && unified => Class::Integrated,
        kind if kind & GPU != 0 => Class::Discrete,
        _ => Class::Other,
    };
    let usm = api.usm(platform).filter(|_| has(EXTENSION));
    // Memory of the host stays where it is. What moves must be able to be used in part by the CPU
    // and in part by the device: allocations are divided.
    let capable = |what, need: u64| usm.is_some() && amount(what) & need == need;
    let memories = [
        (TensorMemory::Device, capable(DEVICE_MEMORY, ACCESS)),
        (TensorMemory::Pinned, capable(HOST_MEMORY, ACCESS)),
        (TensorMemory::Managed, capable(SHARED_MEMORY, ACCESS | CONCURRENT)),
    ];
    let memories: Vec<_> =
        memories.into_iter().filter_map(|(memory, has)| has.then_some(memory)).collect();
    let unusable = if usm.is_none() {
        Some(format!("without {EXTENSION}"))
    } else if ![TensorMemory::Device, TensorMemory::Pinned].iter().all(|m| memories.contains(m)) {
        Some("without unified shared memory of the device and of the host".to_owned())
    } else if amount(AVAILABLE) == 0 {
        Some("not available, as its driver says".to_owned())
    } else {
        None
    };
    let uuid = api.bytes(id, UUID).filter(|_| has("cl_khr_device_uuid"));
    let uuid = uuid.and_then(|bytes| bytes.try_into().ok()).unwrap_or_else(|| {
        // Told apart by its number.
        u128::from(number).to_ne_bytes()
    });
    let platform_name = api.platform_words(platform, PLATFORM_NAME).unwrap_or_default();
    Found {
        number,
        platform,
        id,
        name: words(NAME),
        driver: format!("{platform_name} {}, {}", words(DRIVER_VERSION), words(VERSION)),
        class,
        bytes: amount(GLOBAL_BYTES),
        most: amount(MAX_ALLOCATION),
        mappable: unified,
        memories,
        system: capable(SYSTEM_MEMORY, ACCESS | CONCURRENT),
        uuid,
        usm,
        unusable,
    }
}

impl Found {
    fn heaps(&self) -> Vec<Region> {
        let local = self.class != Class::Software;
        vec![Region { bytes: self.bytes, local, mappable: self.mappable }]
    }

    pub(super) fn listed(self) -> Listed {
        let abilities = [
            (self.memories.contains(&TensorMemory::Managed), "has managed memory"),
            (self.system, "reaches main memory"),
        ];
        let abilities = abilities.into_iter().filter_map(|(has, what)| has.then_some(what));
        Listed {
            abilities: abilities.collect(),
            heaps: self.heaps(),
            number: self.number,
            name: self.name,
            driver: self.driver,
            class: self.class,
            unusable: self.unusable,
        }
    }

    pub(super) fn properties(&self) -> Properties {
        Properties {
            name: self.name.as_str().into(),
            driver: self.driver.clone(),
            vendor: DeviceVendor::OpenCl,
            id: self.number,
            class: self.class,
            heaps: self.heaps(),
            memories: self.memories.clone(),
            // Any byte of it.
            imports_host: self.system.then_some(1),
            imports_dma: false,
            shares: false,
            uuid: self.uuid,
            block_bytes: BLOCK.min(self.most) as usize,
            queues: QUEUES,
        }
    }
}
