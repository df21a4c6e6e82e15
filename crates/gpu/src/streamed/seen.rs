//! What is known of a device before it is opened.

use tenure_memory::{DeviceVendor, TensorMemory};

use super::{BLOCK, STREAMS};
use crate::Listed;
use crate::device::{Class, Properties, Region};

/// What a survey knows of a device.
pub(crate) struct Seen {
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) integrated: bool,
    pub(crate) managed: bool,
    pub(crate) uuid: [u8; 16],
    /// Whether main memory can be registered.
    pub(crate) host: bool,
    /// Whether the driver imports DMA-BUFs.
    pub(crate) dma: bool,
}

impl Seen {
    fn class(&self) -> Class {
        if self.integrated { Class::Integrated } else { Class::Discrete }
    }

    fn heaps(&self) -> Vec<Region> {
        vec![Region { bytes: self.bytes, local: true, mappable: self.integrated }]
    }

    pub(crate) fn listed(self, driver: &str) -> Listed {
        let abilities = [
            (self.managed, "has managed memory"),
            (self.host, "reaches main memory"),
            (self.dma, "reaches DMA-BUF"),
            (true, "shares with other processes"),
        ];
        let abilities =
            abilities.into_iter().filter_map(|(has, what)| has.then_some(what)).collect();
        let (class, heaps, driver) = (self.class(), self.heaps(), driver.to_owned());
        let Seen { number, name, .. } = self;
        Listed { number, name, driver, class, heaps, abilities, unusable: None }
    }

    pub(crate) fn properties(&self, driver: &str, vendor: DeviceVendor) -> Properties {
        let mut memories = vec![TensorMemory::Device, TensorMemory::Pinned];
        memories.extend(self.managed.then_some(TensorMemory::Managed));
        Properties {
            name: self.name.as_str().into(),
            driver: driver.to_owned(),
            vendor,
            id: self.number,
            class: self.class(),
            heaps: self.heaps(),
            memories,
            imports_host: self.host.then(rustix::param::page_size),
            imports_dma: self.dma,
            shares: false,
            uuid: self.uuid,
            block_bytes: BLOCK,
            queues: STREAMS,
        }
    }
}
