//! Device nodes on systems that have none of those that memory can come from.

use super::{Devices, Group};
use crate::machine::Tree;

pub(in crate::info) fn devices(_: &Tree) -> Devices {
    let reason = |what: &str| format!("this operating system has no {what}");
    let none = |what: &str| Group::empty(reason(what));
    Devices {
        dma_heaps: none("DMA heaps"),
        udmabuf: none("udmabuf"),
        graphics: none("nodes for graphics cards"),
        cameras: Group::empty(reason("nodes for cameras")),
    }
}
