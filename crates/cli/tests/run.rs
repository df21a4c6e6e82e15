//! `tenure run`: every source, what it publishes, how it ends.
#![cfg(target_os = "linux")]

mod common;
mod streams;
#[path = "run/vivid.rs"]
mod vivid;

use std::fs;

use common::on_a_terminal_in;
use serde_json::json;
use streams::{Place, number, read};

#[test]
fn the_test_camera_needs_nothing() {
    let place = Place::new();
    let report = place.json(&["run", "--frames", "12", "--fps", "60"]);
    let camera = &report["cameras"][0];
    assert_eq!((&camera["name"], &camera["frames"]), (&json!("cam0"), &json!(12)));
    assert_eq!((&camera["memory"], &camera["copies_per_frame"]), (&json!("shm"), &json!(0.0)));
    assert_eq!((&camera["dropped"], &camera["error"]), (&json!(0), &json!(null)));
    let latency = &camera["latency"];
    assert!(latency["p50"].as_f64() <= latency["p99"].as_f64(), "{latency}");
    assert!(latency["p99"].as_f64() <= latency["max"].as_f64(), "{latency}");
    let streams = camera["streams"].as_array().unwrap();
    let frames: Vec<_> = streams.iter().map(|one| (&one["name"], &one["frame"]["shape"])).collect();
    assert_eq!(
        frames,
        [
            (&json!("cam0/frame"), &json!([1080, 1280])),
            (&json!("cam0/input"), &json!([3, 640, 640])),
        ]
    );
    assert!(streams.iter().all(|one| one["published"] == 12));
    // Nothing is left behind but the locks.
    let left: Vec<_> = fs::read_dir(place.path("s")).unwrap().collect();
    assert!(left.iter().all(|it| it.as_ref().unwrap().path().extension().unwrap() == "lock"));
}

#[test]
fn a_pipe_gets_lines_and_a_report() {
    let place = Place::new();
    let (out, errors, code) = place.run(&["run", "--seconds", "2.5"]);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "cam0: test camera, nv12 1280x720 at 30 fps");
    assert!(lines[1].starts_with("cam0  ") && lines[1].contains(" fps  lag "), "{out}");
    assert!(lines[1].contains("  shm  0 copies  0 consumers  0 dropped"), "{out}");
    for words in ["shm, 0 copies per frame", "nv12 1280x720 u8", "planar-rgb 640x640 f32"] {
        assert!(out.contains(words), "{words}: {out}");
    }
    assert!(!out.contains(['\r', '\x1b']), "{out}");
}

#[test]
fn a_terminal_gets_one_line_and_ctrl_c_ends_it() {
    let place = Place::new();
    let (seen, code) =
        on_a_terminal_in(&place.word("s"), "run --size 64x64 --to 32x32", "0 consumers");
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.starts_with("cam0: test camera, nv12 64x64 at 30 fps"), "{seen}");
    let (_, after) = seen.rsplit_once("\r\x1b[2K").unwrap();
    assert!(!after.contains(" fps  lag ") && after.contains("copies per frame"), "{seen}");
}

#[test]
fn others_get_its_frames_whole_and_in_order() {
    let place = Place::new();
    let camera = place.start(&["run", "--size", "640x480", "--fps", "50"]);
    let raw = place.word("frame.raw");
    let report = place.json(&[
        "stream",
        "tap",
        "cam0/frame",
        "-o",
        &raw,
        "--frames",
        "5",
        "--timeout",
        "30",
    ]);
    let mut before = None;
    for (index, frame) in report["frames"].as_array().unwrap().iter().enumerate() {
        let bytes = read(place.path(&format!("frame-{index:06}.raw")));
        assert_eq!(bytes.len(), 640 * 480 * 3 / 2);
        let (number, sequence) = (number(&bytes, 640), frame["sequence"].as_u64().unwrap());
        assert!(number >= sequence, "the camera counts frames that nobody took too");
        assert!(before.is_none_or(|before| number > before), "{before:?} {number}");
        before = Some(number);
    }
    let npy = place.word("input.npy");
    let report = place.json(&["stream", "tap", "cam0/input", "-o", &npy]);
    // The way back to the pixels of the frame: 640x480 has bars of 80 rows above and below.
    let blob: serde_json::Value =
        serde_json::from_str(report["frames"][0]["blob"].as_str().unwrap()).unwrap();
    assert_eq!(blob["to_source"], json!([1.0, 0.0, 0.0, 0.0, 1.0, -80.0]));
    let file = read(&npy);
    let head = String::from_utf8_lossy(&file[..128]).into_owned();
    assert!(head.contains("'<f4'") && head.contains("(3, 640, 640)"), "{head}");
    let floats: Vec<f32> =
        file[128..].chunks(4).map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap())).collect();
    assert_eq!(floats.len(), 3 * 640 * 640);
    assert!(floats.iter().all(|value| (0.0..=1.0).contains(value)));
    assert!((floats[0] - 114.0 / 255.0).abs() < 1e-6, "the letterbox: {}", floats[0]);
    let (out, errors, code) = camera.stop();
    assert_eq!((errors.as_str(), code), ("", Some(0)), "SIGTERM is a good end");
    assert!(out.contains("0 copies per frame"), "{out}");
}

#[test]
fn options_of_convert_are_those_of_the_input() {
    let place = Place::new();
    let words = ["run", "-n", "2", "--to", "32x16", "--fit", "stretch", "--format", "rgb"];
    let report = place.json(&[&words[..], &["--dtype", "u8", "--name", "small"]].concat());
    let input = &report["cameras"][0]["streams"][1];
    assert_eq!(input["name"], "small/input");
    let frame = &input["frame"];
    assert_eq!(
        (&frame["dtype"], &frame["format"], &frame["shape"]),
        (&json!("u8"), &json!("rgb"), &json!([16, 32, 3]))
    );
    let report = place.json(&["run", "-n", "2", "--no-input"]);
    assert_eq!(report["cameras"][0]["streams"].as_array().unwrap().len(), 1);
}

#[test]
fn raw_video_comes_as_it_is_in_the_file() {
    let place = Place::new();
    // Three frames of 8x4 pixels, every byte another.
    let bytes: Vec<u8> = (0..144u8).collect();
    fs::write(place.path("video.raw"), &bytes).unwrap();
    let video = place.word("video.raw");
    let words = ["run", &video, "--from", "nv12:8x4", "--once", "--fps", "200"];
    let report = place.json(&words);
    assert_eq!(report["cameras"][0]["frames"], 3, "it ends with the file");
    let _camera = place.start(&words[..4]);
    let raw = place.word("frame.raw");
    place.json(&["stream", "tap", "cam0/frame", "-o", &raw, "--timeout", "30"]);
    let frame = read(&raw);
    assert!(bytes.chunks(48).any(|one| one == frame), "{frame:?}");
}

#[test]
fn pictures_are_published_one_or_many() {
    let place = Place::new();
    let folder = place.path("pictures");
    fs::create_dir(&folder).unwrap();
    fs::write(place.path("grey.raw"), [7; 16 * 8]).unwrap();
    fs::write(place.path("light.raw"), [200; 16 * 8]).unwrap();
    for name in ["grey", "light"] {
        let (raw, png) =
            (place.word(&format!("{name}.raw")), place.word(&format!("pictures/{name}.png")));
        let (_, errors, code) =
            place.run(&["convert", &raw, &png, "--from", "grey:16x8", "--format", "grey"]);
        assert_eq!((errors.as_str(), code), ("", Some(0)));
    }
    // A file of another kind among them is a picture too.
    let jpg = place.word("pictures/middle.jpg");
    let raw = place.word("light.raw");
    let words = ["convert", &raw, &jpg, "--from", "grey:16x8", "--format", "grey"];
    assert_eq!(place.run(&words).2, Some(0));
    let report = place.json(&["run", folder.to_str().unwrap(), "--once", "--fps", "100"]);
    let camera = &report["cameras"][0];
    assert_eq!((&camera["frames"], &camera["copies_per_frame"]), (&json!(3), &json!(0.0)));
    assert_eq!(camera["streams"][0]["frame"]["shape"], json!([8, 16, 1]));
    // One picture stays, and is published again and again without a copy.
    let grey = place.word("pictures/grey.png");
    let camera = place.start(&["run", &grey, "--fps", "100", "--json"]);
    let raw = place.word("frame.raw");
    let taken =
        place.json(&["stream", "tap", "cam0/frame", "-o", &raw, "-n", "8", "--timeout", "30"]);
    assert_eq!(taken["frames"].as_array().unwrap().len(), 8);
    assert_eq!(read(place.path("frame-000007.raw")), [7; 16 * 8]);
    let (out, _, code) = camera.stop();
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &report["cameras"][0]["copies_per_frame"]), (Some(0), &json!(0.0)));
}

#[test]
fn a_stream_is_a_source_too() {
    let place = Place::new();
    let camera = place.start(&["run", "--size", "64x64", "--fps", "50", "--no-input"]);
    while !place.path("s/cam0+frame.sock").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let words = ["run", "stream:cam0/frame", "--name", "again", "--to", "64x64", "-n", "10"];
    let report = place.json(&words);
    let again = &report["cameras"][0];
    assert_eq!((&again["frames"], &again["copies_per_frame"]), (&json!(10), &json!(0.0)));
    assert_eq!(again["memory"], "shm");
    // Its end is the end of what is made of it.
    let follower = place.start(&words[..6]);
    let raw = place.word("frame.raw");
    place.json(&["stream", "tap", "again/frame", "-o", &raw, "--timeout", "30"]);
    number(&read(&raw), 64);
    assert_eq!(camera.stop().2, Some(0));
    let (_, errors, code) = follower.end();
    assert_eq!((errors.as_str(), code), ("", Some(0)));
}

#[test]
fn several_cameras_come_from_a_file() {
    let place = Place::new();
    fs::write(
        place.path("cameras.toml"),
        "[left]\nsize = \"64x64\"\nto = \"32x32\"\n[right]\nsize = \"128x64\"\nno-input = true\nfps = 60\n",
    )
    .unwrap();
    let config = place.word("cameras.toml");
    let report = place.json(&["run", "--config", &config, "-n", "5"]);
    let cameras = report["cameras"].as_array().unwrap();
    let seen: Vec<_> = cameras
        .iter()
        .map(|one| (one["name"].as_str().unwrap(), one["frames"].as_u64().unwrap()))
        .collect();
    assert_eq!(seen, [("left", 5), ("right", 5)]);
    assert_eq!(cameras[0]["streams"][1]["frame"]["shape"], json!([3, 32, 32]));
    // One that fails is named, and keeps nobody else from running.
    fs::write(place.path("cameras.toml"), "[a]\n[b]\nsource = \"/nowhere\"\n").unwrap();
    let (out, errors, code) = place.run(&["run", "--config", &config, "-n", "3", "--json"]);
    assert_eq!(code, Some(1));
    assert!(errors.starts_with("error: camera `b`: there is no `/nowhere` to publish"), "{errors}");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&report["cameras"][0]["frames"], &report["cameras"][1]["frames"]),
        (&json!(3), &json!(0))
    );
}

#[test]
fn what_is_wrong_is_told_with_what_would_be_right() {
    let place = Place::new();
    fs::write(place.path("short.raw"), [0; 100]).unwrap();
    fs::write(place.path("text.jpg"), "no picture").unwrap();
    fs::write(place.path("bad.toml"), "[a]\nto = \"big\"\n").unwrap();
    fs::create_dir(place.path("empty")).unwrap();
    let [short, text, bad, empty] =
        ["short.raw", "text.jpg", "bad.toml", "empty"].map(|name| place.word(name));
    let cases: [(&[&str], &str, i32); 16] = [
        (&["nothing"], "there is no `nothing` to publish: say test, a camera", 1),
        (&["/dev/video987654"], "there is no /dev/video987654; ", 1),
        (&[&short, "--from", "nv12:8x4"], "100 bytes, which are no whole number of frames", 1),
        (&[&text], "raw video files need --from", 1),
        (&[&empty], "there is no jpg or png file in", 1),
        (&["--size", "63x64"], "63x64 pixels cannot be had: from 64x64", 1),
        (&["--from", "nv12:8x4"], "--from is for raw video files, and `test` is none", 1),
        (&["--name", "a b"], "`a b/frame` is no name for a stream", 1),
        (&["stream:nobody"], "nobody publishes stream `nobody`", 1),
        (&["--config", &bad], "[a]: invalid value 'big' for '--to <WxH>'", 1),
        (&["--config", "/none.toml"], "/none.toml cannot be read: No such file", 1),
        (&["--config", &bad, "--fps", "5"], "cannot be used with", 2),
        (&["--config", &bad, "--to", "5x5"], "cannot be used with", 2),
        (&["--memory", "mem"], "shm (shared memory) and dma (DMA-BUF)", 2),
        (&["--seconds", "0"], "above zero", 2),
        (&["--fill", "7", "--fit", "cover"], "--fill is for --fit letterbox", 1),
    ];
    for (arguments, words, expected) in cases {
        let (out, errors, code) = place.run(&[&["run"], arguments].concat());
        assert_eq!((out.as_str(), code), ("", Some(expected)), "{arguments:?}: {errors}");
        assert!(errors.starts_with("error: ") && errors.contains(words), "{errors}");
    }
    let _camera = place.start(&["run", "--json"]);
    while !place.path("s/cam0+input.sock").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let (_, errors, code) = place.run(&["run", "-n", "1"]);
    assert_eq!(code, Some(1));
    assert!(errors.contains("`cam0/frame` has a producer already"), "{errors}");
}

/// Whoever passes on what it does not own gives nobody all of it.
#[test]
fn one_consumer_of_lent_memory_does_not_get_all() {
    let place = Place::new();
    let _camera = place.start(&["run", "--size", "64x64", "--no-input", "--json"]);
    while !place.path("s/cam0+frame.sock").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let words = ["run", "stream:cam0/frame", "--name", "again", "--no-input", "--json"];
    let _again = place.start(&words);
    while !place.path("s/again+frame.sock").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let greedy = place.start(&["stream", "record", "again/frame", "-o", &place.word("all")]);
    let stat = || place.json(&["stream", "stat", "again/frame"]);
    while stat()["consumers"].as_array().unwrap().is_empty() {}
    let granted = stat();
    let (all, one) = (granted["credits"].as_u64(), granted["consumers"][0]["credits"].as_u64());
    assert!(one < all, "{granted}");
    // A second and a third find something left.
    let raw = place.word("frame.raw");
    let tap = place.start(&["stream", "tap", "again/frame", "-o", &raw, "-n", "100000"]);
    while stat()["consumers"].as_array().unwrap().len() < 2 {}
    let npy = place.word("frame.npy");
    place.json(&["stream", "tap", "again/frame", "-o", &npy, "--timeout", "30"]);
    assert_eq!((greedy.stop().2, tap.stop().2), (Some(0), Some(0)));
}

#[test]
fn credits_can_be_said() {
    let place = Place::new();
    let words = ["run", "-n", "2", "--size", "64x64", "--to", "8x8", "--credits", "5"];
    let report = place.json(&words);
    let streams = report["cameras"][0]["streams"].as_array().unwrap();
    assert_eq!(streams.len(), 2);
    assert!(streams.iter().all(|one| one["credits"] == 5), "{report}");
    let (_, errors, code) = place.run(&["run", "--credits", "0"]);
    assert_eq!(code, Some(2), "{errors}");
}
