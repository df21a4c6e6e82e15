//! Device nodes that memory can come from: DMA heaps, udmabuf, graphics cards, cameras.

#[cfg(linux_like)]
mod access;
mod camera;
#[cfg(linux_like)]
mod cameras;
#[cfg(linux_like)]
mod nodes;
#[cfg(not(linux_like))]
#[path = "devices/nodes_elsewhere.rs"]
mod nodes;

use serde::Serialize;

pub(super) use camera::{Camera, words as camera_words};
pub(super) use nodes::devices;

/// The device nodes, by what they are for.
#[derive(Debug, Serialize)]
pub(super) struct Devices {
    /// `/dev/dma_heap/*`: memory that cameras, GPUs and NPUs share.
    pub(super) dma_heaps: Group,
    /// `/dev/udmabuf`: memory files as DMA-BUF.
    pub(super) udmabuf: Group,
    /// `/dev/dri/*`: graphics cards and render nodes.
    pub(super) graphics: Group,
    /// `/dev/video*`: cameras, and video codecs.
    pub(super) cameras: Group<Camera>,
}

/// Nodes of one sort.
#[derive(Debug, Serialize)]
pub(super) struct Group<N = Node> {
    /// The nodes.
    pub(super) nodes: Vec<N>,
    /// Why there are none.
    pub(super) reason: Option<String>,
}

/// One device node.
#[derive(Debug, Serialize)]
pub(super) struct Node {
    /// Its path.
    pub(super) path: String,
    /// What is behind it: the driver of a card.
    pub(super) name: Option<String>,
    /// Whether this process may use it.
    pub(super) accessible: bool,
    /// Why it may not, and what would help.
    pub(super) reason: Option<String>,
}

impl<N> Group<N> {
    /// None, and why.
    fn empty(reason: String) -> Group<N> {
        Group { nodes: vec![], reason: Some(reason) }
    }
}
