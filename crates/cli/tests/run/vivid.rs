//! The command with the kernel's test camera, ignored by default because most machines have none;
//! `tests/vm/test` runs it in a virtual machine.

use serde_json::{Value, json};

use crate::streams::{Place, number, read};

#[test]
#[ignore = "needs the kernel's test camera vivid: tests/vm/test"]
fn a_camera_is_published_in_its_own_buffers() {
    let place = Place::new();
    let info = place.json(&["info"]);
    let nodes = info["devices"]["cameras"]["nodes"].as_array().unwrap().clone();
    let ours = |node: &&Value| node["driver"] == "vivid" && node["captures"] == true;
    let camera = nodes.iter().find(ours).expect("there is no vivid")["path"].as_str().unwrap();
    let mode =
        ["--capture", "nv12", "--size", "320x180", "--to", "64x64", "--memory", "dma", "--json"];
    let running = place.start(&[&["run", camera], &mode[..]].concat());
    let raw = place.word("frame.raw");
    let taken =
        place.json(&["stream", "tap", "cam0/frame", "-o", &raw, "-n", "4", "--timeout", "60"]);
    let frames = taken["frames"].as_array().unwrap();
    assert_eq!(frames.len(), 4);
    assert!(frames.iter().all(|frame| frame["memory"] == "dma"), "{taken}");
    // Exported for reading only: the kernel keeps whoever gets it from writing.
    assert!(frames.iter().all(|frame| frame["guarded"] == "readonly"), "{taken}");
    let stat = place.json(&["stream", "stat", "cam0/frame"]);
    assert_eq!(stat["memory"], "dma");
    assert_eq!(read(place.path("frame-000003.raw")).len(), 320 * 180 * 3 / 2);
    // The camera's own clock, and frames in its order.
    let times: Vec<_> = frames.iter().map(|frame| frame["timestamp"].as_f64().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
    let npy = place.word("input.npy");
    let taken = place.json(&["stream", "tap", "cam0/input", "-o", &npy, "--timeout", "60"]);
    let input = &taken["frames"][0];
    assert_eq!((&input["shape"], &input["memory"]), (&json!([3, 64, 64]), &json!("dma")));
    let (out, errors, code) = running.stop();
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    let report: Value = serde_json::from_str(&out).unwrap();
    let camera = &report["cameras"][0];
    assert_eq!((&camera["memory"], &camera["copies_per_frame"]), (&json!("dma"), &json!(0.0)));
    let slots = camera["streams"][0]["slots"].as_array().unwrap();
    assert!(!slots.is_empty() && slots.iter().any(|slot| slot["borrowed"] == true), "{slots:?}");
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn streams_are_dma_bufs_if_told_so() {
    let place = Place::new();
    let words = ["--memory", "dma", "--size", "320x180", "--to", "64x64", "--fps", "10", "--json"];
    let running = place.start(&[&["run"], &words[..]].concat());
    let raw = place.word("frame.raw");
    let taken =
        place.json(&["stream", "tap", "cam0/frame", "-o", &raw, "-n", "3", "--timeout", "60"]);
    let mut before = None;
    for (index, frame) in taken["frames"].as_array().unwrap().iter().enumerate() {
        // A heap gives out descriptors that everybody may write with, and it is said.
        assert_eq!((&frame["memory"], &frame["guarded"]), (&json!("dma"), &json!("open")));
        let number = number(&read(place.path(&format!("frame-{index:06}.raw"))), 320);
        assert!(before.is_none_or(|before| number > before), "{before:?} {number}");
        before = Some(number);
    }
    let stat = place.json(&["stream", "stat", "cam0/input"]);
    assert_eq!((&stat["memory"], &stat["frame"]["shape"]), (&json!("dma"), &json!([3, 64, 64])));
    let (out, errors, code) = running.stop();
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    let report: Value = serde_json::from_str(&out).unwrap();
    let camera = &report["cameras"][0];
    assert_eq!((&camera["memory"], &camera["copies_per_frame"]), (&json!("dma"), &json!(0.0)));
}
