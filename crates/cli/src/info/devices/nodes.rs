//! Finding the device nodes of Linux.
//!
//! Heaps are opened, which has no effect. Cards are only asked whether they could be: opening them
//! may wake hardware up. Cameras are [`cameras`].

use std::io::ErrorKind;

use super::access::{self, Question};
use super::cameras::cameras;
use super::{Devices, Group, Node};
use crate::machine::Tree;

pub(in crate::info) fn devices(tree: &Tree) -> Devices {
    Devices {
        dma_heaps: dma_heaps(tree),
        udmabuf: udmabuf(tree),
        graphics: graphics(tree),
        cameras: cameras(tree),
    }
}

impl Node {
    fn look(tree: &Tree, path: String, name: Option<String>, question: Question) -> Node {
        let reason = access::ask(tree, &path, question).err();
        Node { path, name, accessible: reason.is_none(), reason }
    }
}

/// The nodes that `node` makes of the names in a folder, or why there are none.
pub(super) fn group<N>(
    tree: &Tree,
    folder: &str,
    none: &str,
    node: impl Fn(&str) -> Option<N>,
) -> Group<N> {
    match tree.names(folder) {
        Ok(names) => {
            let nodes: Vec<_> = names.iter().filter_map(|name| node(name)).collect();
            let reason = nodes.is_empty().then(|| none.to_owned());
            Group { nodes, reason }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Group::empty(none.to_owned()),
        Err(error) => Group::empty(format!("{folder}: {error}")),
    }
}

fn dma_heaps(tree: &Tree) -> Group {
    group(tree, "/dev/dma_heap", "this kernel has none in /dev/dma_heap", |name| {
        Some(Node::look(tree, format!("/dev/dma_heap/{name}"), None, Question::OpenToRead))
    })
}

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

fn graphics(tree: &Tree) -> Group {
    group(tree, "/dev/dri", "no card in /dev/dri", |name| {
        if !name.starts_with("card") && !name.starts_with("renderD") {
            return None;
        }
        let driver = tree.link_name(&format!("/sys/class/drm/{name}/device/driver"));
        Some(Node::look(tree, format!("/dev/dri/{name}"), driver, Question::MayUse))
    })
}

#[cfg(test)]
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
        for group in [none.dma_heaps, none.udmabuf, none.graphics] {
            assert!(group.nodes.is_empty() && group.reason.is_some(), "{group:?}");
        }
        assert!(none.cameras.nodes.is_empty() && none.cameras.reason.is_some());
    }

    #[test]
    fn devices_are_found_with_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for dir in ["dev/dma_heap", "dev/dri", "sys/class/drm/card0/device", "drivers/etnaviv"] {
            fs::create_dir_all(root.join(dir)).unwrap();
        }
        for file in ["dma_heap/system", "dma_heap/cma", "udmabuf", "dri/card0", "dri/by-path"] {
            fs::write(root.join("dev").join(file), "").unwrap();
        }
        symlink(root.join("drivers/etnaviv"), root.join("sys/class/drm/card0/device/driver"))
            .unwrap();

        let found = devices(&Tree::below(root));
        assert_eq!(paths(&found.dma_heaps), ["/dev/dma_heap/cma", "/dev/dma_heap/system"]);
        assert_eq!(paths(&found.udmabuf), ["/dev/udmabuf"]);
        assert_eq!(paths(&found.graphics), ["/dev/dri/card0"]);
        assert_eq!(found.graphics.nodes[0].name.as_deref(), Some("etnaviv"));
        assert!(found.dma_heaps.nodes.iter().all(|node| node.accessible));
    }
}
