//! Device nodes that memory can come from: DMA heaps, udmabuf, graphics cards, cameras.
//!
//! Heaps are opened, which has no effect. Cards and cameras are only asked whether they could be:
//! opening them may wake hardware up.

mod access;

use serde::Serialize;

use crate::machine::Tree;
use access::Question;

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
    pub(super) cameras: Group,
}

/// Nodes of one sort.
#[derive(Debug, Serialize)]
pub(super) struct Group {
    /// The nodes.
    pub(super) nodes: Vec<Node>,
    /// Why there are none.
    pub(super) reason: Option<String>,
}

/// One device node.
#[derive(Debug, Serialize)]
pub(super) struct Node {
    /// Its path.
    pub(super) path: String,
    /// What is behind it: the driver of a card, the name of a camera.
    pub(super) name: Option<String>,
    /// Whether this process may use it.
    pub(super) accessible: bool,
    /// Why it may not, and what would help.
    pub(super) reason: Option<String>,
}

#[cfg(linux_like)]
pub(super) fn devices(tree: &Tree) -> Devices {
    Devices {
        dma_heaps: dma_heaps(tree),
        udmabuf: udmabuf(tree),
        graphics: graphics(tree),
        cameras: cameras(tree),
    }
}

#[cfg(not(linux_like))]
pub(super) fn devices(_: &Tree) -> Devices {
    let none = |what: &str| Group::empty(format!("this operating system has no {what}"));
    Devices {
        dma_heaps: none("DMA heaps"),
        udmabuf: none("udmabuf"),
        graphics: none("nodes for graphics cards"),
        cameras: none("nodes for cameras"),
    }
}

impl Group {
    fn empty(reason: String) -> Group {
        Group { nodes: vec![], reason: Some(reason) }
    }
}

#[cfg(linux_like)]
impl Group {
    /// The nodes found, or why there are none.
    fn of(nodes: Vec<Node>, otherwise: &str) -> Group {
        let reason = nodes.is_empty().then(|| otherwise.to_owned());
        Group { nodes, reason }
    }
}

#[cfg(linux_like)]
impl Node {
    fn look(tree: &Tree, path: String, name: Option<String>, question: Question) -> Node {
        let reason = access::ask(tree, &path, question).err();
        Node { path, name, accessible: reason.is_none(), reason }
    }
}

#[cfg(linux_like)]
fn dma_heaps(tree: &Tree) -> Group {
    const FOLDER: &str = "/dev/dma_heap";
    match tree.names(FOLDER) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Group::empty(format!("no {FOLDER}: this kernel has no DMA heaps"))
        }
        Err(error) => Group::empty(format!("{FOLDER}: {error}")),
        Ok(names) => {
            let node = |name: &String| {
                Node::look(tree, format!("{FOLDER}/{name}"), None, Question::OpenToRead)
            };
            Group::of(names.iter().map(node).collect(), "/dev/dma_heap is empty")
        }
    }
}

#[cfg(linux_like)]
fn udmabuf(tree: &Tree) -> Group {
    const PATH: &str = "/dev/udmabuf";
    match tree.at(PATH).try_exists() {
        Ok(true) => {
            let node = Node::look(tree, PATH.to_owned(), None, Question::OpenToWrite);
            Group { nodes: vec![node], reason: None }
        }
        Ok(false) => Group::empty(format!("no {PATH} (try: modprobe udmabuf)")),
        Err(error) => Group::empty(format!("{PATH}: {error}")),
    }
}

#[cfg(linux_like)]
fn graphics(tree: &Tree) -> Group {
    let names = tree.names("/dev/dri").unwrap_or_default();
    let node = |name: &String| {
        if !name.starts_with("card") && !name.starts_with("renderD") {
            return None;
        }
        let driver = tree.link_name(&format!("/sys/class/drm/{name}/device/driver"));
        Some(Node::look(tree, format!("/dev/dri/{name}"), driver, Question::MayUse))
    };
    Group::of(names.iter().filter_map(node).collect(), "no card in /dev/dri")
}

#[cfg(linux_like)]
fn cameras(tree: &Tree) -> Group {
    let names = tree.names("/dev").unwrap_or_default();
    let node = |name: &String| {
        name.strip_prefix("video")?.parse::<u32>().ok()?;
        let title = tree.text(&format!("/sys/class/video4linux/{name}/name"));
        Some(Node::look(tree, format!("/dev/{name}"), title, Question::MayUse))
    };
    Group::of(names.iter().filter_map(node).collect(), "no /dev/video*")
}

#[cfg(all(test, linux_like))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn paths(group: &Group) -> Vec<&str> {
        group.nodes.iter().map(|node| node.path.as_str()).collect()
    }

    #[test]
    fn a_machine_without_devices_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let none = devices(&Tree::below(folder.path()));
        for group in [none.dma_heaps, none.udmabuf, none.graphics, none.cameras] {
            assert!(group.nodes.is_empty() && group.reason.is_some(), "{group:?}");
        }
    }

    #[test]
    fn devices_are_found_with_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for dir in ["dev/dma_heap", "dev/dri", "sys/class/drm/card0/device", "drivers/etnaviv"] {
            fs::create_dir_all(root.join(dir)).unwrap();
        }
        fs::create_dir_all(root.join("sys/class/video4linux/video2")).unwrap();
        for file in ["dma_heap/system", "dma_heap/cma", "udmabuf", "dri/card0", "dri/by-path"] {
            fs::write(root.join("dev").join(file), "").unwrap();
        }
        for file in ["video10", "video2", "videotest"] {
            fs::write(root.join("dev").join(file), "").unwrap();
        }
        symlink(root.join("drivers/etnaviv"), root.join("sys/class/drm/card0/device/driver"))
            .unwrap();
        fs::write(root.join("sys/class/video4linux/video2/name"), "ov5640\n").unwrap();

        let found = devices(&Tree::below(root));
        assert_eq!(paths(&found.dma_heaps), ["/dev/dma_heap/cma", "/dev/dma_heap/system"]);
        assert_eq!(paths(&found.udmabuf), ["/dev/udmabuf"]);
        assert_eq!(paths(&found.graphics), ["/dev/dri/card0"]);
        assert_eq!(found.graphics.nodes[0].name.as_deref(), Some("etnaviv"));
        assert_eq!(paths(&found.cameras), ["/dev/video2", "/dev/video10"]);
        assert_eq!(found.cameras.nodes[0].name.as_deref(), Some("ov5640"));
        assert!(found.dma_heaps.nodes.iter().all(|node| node.accessible));
        assert!(found.cameras.reason.is_none());
    }
}
