//! Finding the cameras of Linux: every `/dev/video*` is opened and asked who it is and what it
//! offers. It is not set to anything, and one that others use can be asked too.

use tenure::camera::{Camera as Opened, FrameSizes};

use super::Group;
use super::access::{self, Question};
use super::camera::{Camera, Format, Sizes, Span};
use super::nodes::group;
use crate::machine::Tree;

pub(super) fn cameras(tree: &Tree) -> Group<Camera> {
    group(tree, "/dev", "no /dev/video*", |name| {
        name.strip_prefix("video")?.parse::<u32>().ok()?;
        Some(look(tree, name))
    })
}

fn look(tree: &Tree, node: &str) -> Camera {
    let path = format!("/dev/{node}");
    let name = tree.text(&format!("/sys/class/video4linux/{node}/name"));
    let camera = Camera { path, name, ..Camera::default() };
    // Asked first, because it knows who may use a node and what would help.
    if let Err(reason) = access::ask(tree, &camera.path, Question::MayUse) {
        return Camera { reason: Some(reason), ..camera };
    }
    let found = Opened::open(tree.at(&camera.path)).and_then(|opened| {
        let formats = formats(&opened)?;
        Ok((opened.identity().clone(), formats))
    });
    match found {
        Ok((who, formats)) => Camera {
            name: Some(who.name),
            driver: Some(who.driver),
            bus: Some(who.bus),
            accessible: true,
            captures: true,
            formats,
            ..camera
        },
        Err(error) => Camera { accessible: true, reason: Some(error.to_string()), ..camera },
    }
}

fn formats(camera: &Opened) -> tenure::camera::Result<Vec<Format>> {
    let mut all = vec![];
    for info in camera.formats()? {
        all.push(Format {
            // Short codes are filled up with spaces.
            code: info.fourcc.to_string().replace(' ', ""),
            format: info.fourcc.pixels().map(tenure::PixelFormat::name),
            description: info.description,
            compressed: info.compressed,
            sizes: camera.sizes(info.fourcc)?.into_iter().map(sizes).collect(),
        });
    }
    Ok(all)
}

fn sizes(sizes: FrameSizes) -> Sizes {
    let span = |(smallest, largest, step)| Span { smallest, largest, step };
    match sizes {
        FrameSizes::One { width, height } => {
            Sizes { width: span((width, width, 0)), height: span((height, height, 0)) }
        }
        FrameSizes::Range { width, height } => Sizes { width: span(width), height: span(height) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn nodes_are_found_by_number_and_what_is_no_camera_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("dev")).unwrap();
        fs::create_dir_all(root.join("sys/class/video4linux/video2")).unwrap();
        for file in ["video10", "video2", "videotest"] {
            fs::write(root.join("dev").join(file), "").unwrap();
        }
        fs::write(root.join("sys/class/video4linux/video2/name"), "ov5640\n").unwrap();
        let found = cameras(&Tree::below(root));
        let paths: Vec<_> = found.nodes.iter().map(|camera| camera.path.as_str()).collect();
        assert_eq!(paths, ["/dev/video2", "/dev/video10"]);
        assert_eq!((found.nodes[0].name.as_deref(), found.reason), (Some("ov5640"), None));
        for camera in found.nodes {
            assert!(camera.accessible && !camera.captures, "{camera:?}");
            assert!(camera.reason.unwrap().ends_with("is no camera: it is a file"));
        }
    }
}
