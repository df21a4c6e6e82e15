//! `tenure stream` and `tenure top`: what there is, frames as files, recordings.
#![cfg(target_os = "linux")]

mod common;
mod streams;

use std::fs;

use serde_json::{Value, json};
use streams::{Place, number, read};

#[test]
fn streams_are_listed_with_their_consumers() {
    let place = Place::new();
    assert!(place.run(&["stream", "ls"]).0.contains("none; `tenure run` makes some"));
    let camera = place.start(&["run", "--size", "64x64", "--json"]);
    let raw = place.word("frame.raw");
    let tap = place.start(&["stream", "tap", "cam0/frame", "-o", &raw, "-n", "100000"]);
    // A consumer that has got something.
    let stat = loop {
        let (out, _, code) = place.run(&["stream", "stat", "cam0/frame", "--json"]);
        if code == Some(0) {
            let stat: Value = serde_json::from_str(&out).unwrap();
            if stat["consumers"][0]["sent"].as_u64() > Some(0) {
                break stat;
            }
        }
    };
    assert_eq!(stat["consumers"][0]["pid"], tap.id());
    assert_eq!((&stat["pid"], &stat["memory"]), (&json!(camera.id()), &json!("shm")));
    let list = place.json(&["stream", "ls"]);
    let names: Vec<_> = list["streams"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["cam0/frame", "cam0/input"]);
    let (out, ..) = place.run(&["stream", "ls"]);
    assert!(out.contains("✓ cam0/frame  nv12 64x64 u8, ") && out.contains("1 consumer\n"), "{out}");
    let (out, ..) = place.run(&["stream", "stat", "cam0/frame"]);
    for words in ["frame     nv12 64x64 u8", "memory    shm, ", "slots     ", "credits   3 of 192"]
    {
        assert!(out.contains(words), "{words}: {out}");
    }
    assert!(out.contains(&format!("of process {}: ", tap.id())), "{out}");
    let top = place.json(&["top"]);
    assert_eq!(top["streams"].as_array().unwrap().len(), 2);
    assert!(top["memory"]["shm"].as_u64() > Some(64 * 64), "{top}");
    let (out, ..) = place.run(&["top", "-n", "2", "--every", "0.1"]);
    assert_eq!(out.matches("cam0/input").count(), 2, "{out}");
    assert_eq!(tap.stop().2, Some(0));
    // One that was killed leaves its name, and the next takes it.
    camera.signal("-KILL");
    camera.end();
    let (out, ..) = place.run(&["stream", "ls"]);
    assert!(out.contains("✗ cam0/frame  nobody publishes it any more"), "{out}");
    place.json(&["run", "-n", "1"]);
}

#[test]
fn what_is_recorded_is_replayed() {
    let place = Place::new();
    let camera =
        place.start(&["run", "--size", "64x64", "--fps", "100", "--to", "32x32", "--json"]);
    let folder = place.word("kept");
    while !place.path("s/cam0+input.sock").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let words = ["stream", "record", "cam0/frame", "-o", &folder, "--frames", "6"];
    let report = place.json(&words);
    assert_eq!((&report["frames"], &report["bytes"]), (&json!(6), &json!(6 * 64 * 96)));
    let (_, errors, code) = place.run(&words);
    assert_eq!(code, Some(1));
    assert!(errors.contains("kept is there already: name another folder with -o"), "{errors}");
    let inputs = place.word("inputs");
    place.json(&["stream", "record", "cam0/input", "-o", &inputs, "-n", "2"]);
    assert_eq!(camera.stop().2, Some(0));

    let frames = read(place.path("kept/frames.bin"));
    assert_eq!(frames.len(), 6 * 64 * 96);
    let index = fs::read_to_string(place.path("kept/index.jsonl")).unwrap();
    let first: Value = serde_json::from_str(index.lines().next().unwrap()).unwrap();
    assert_eq!(
        first["image"],
        json!({"format": "nv12", "width": 64, "height": 64, "matrix": "bt709", "range": "limited"})
    );
    let replay =
        place.start(&["stream", "replay", &folder, "--wait-for", "1", "--fps", "5", "--json"]);
    let raw = place.word("again.raw");
    let taken = place.json(&["stream", "tap", "replay", "-o", &raw, "-n", "6", "--timeout", "30"]);
    assert_eq!(taken["dropped"], 0);
    for (index, one) in frames.chunks(64 * 96).enumerate() {
        let again = read(place.path(&format!("again-{index:06}.raw")));
        assert!(again == one, "frame {index} is another");
        number(&again, 64);
    }
    let (out, errors, code) = replay.end();
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&report["frames"], &report["dropped"]), (&json!(6), &json!(0)));
    // Floats, and what travelled with them.
    let replay =
        place.start(&["stream", "replay", &inputs, "--name", "in", "--loop", "--wait-for", "1"]);
    let npy = place.word("in.npy");
    let taken = place.json(&["stream", "tap", "in", "-o", &npy, "--timeout", "30"]);
    let frame = &taken["frames"][0];
    assert_eq!((&frame["dtype"], &frame["shape"]), (&json!("f32"), &json!([3, 32, 32])));
    assert!(frame["blob"].as_str().unwrap().contains("to_source"), "{frame}");
    assert_eq!(replay.stop().2, Some(0));
}

#[test]
fn damaged_recordings_are_refused() {
    let place = Place::new();
    fs::create_dir(place.path("bad")).unwrap();
    let folder = place.word("bad");
    let line = json!({
        "sequence": 0, "taken": null, "published": 0, "offset": 0, "bytes": 4, "dtype": "u8",
        "shape": [4], "image": null, "quantization": null, "blob": []
    });
    let with = |name: &str, value: Value| {
        let mut line = line.clone();
        line[name] = value;
        line.to_string()
    };
    let cases = [
        (String::new(), "there is no frame in it"),
        ("{".to_owned(), "line 1: it is no line of a recording"),
        (with("offset", json!(1)), "line 1: 4 bytes from 1 on are beyond the 4 of frames.bin"),
        (with("offset", json!(u64::MAX)), "are beyond the 4"),
        (with("bytes", json!(3)), "line 1: 3 bytes do not make u8 [4]"),
        (with("dtype", json!("u9")), "u9"),
        (with("shape", json!([usize::MAX, 9])), "line 1: "),
    ];
    fs::write(place.path("bad/frames.bin"), [0; 4]).unwrap();
    for (index, words) in cases {
        fs::write(place.path("bad/index.jsonl"), &index).unwrap();
        let (out, errors, code) = place.run(&["stream", "replay", &folder]);
        assert_eq!((out.as_str(), code), ("", Some(1)), "{index}");
        assert!(errors.starts_with("error: ") && errors.contains(words), "{errors}");
    }
    let (_, errors, code) = place.run(&["stream", "replay", "/nowhere"]);
    assert_eq!(code, Some(1));
    assert!(errors.contains("/nowhere/frames.bin cannot be read: No such file"), "{errors}");
}

#[test]
fn frames_are_written_as_pictures_where_they_are_some() {
    let place = Place::new();
    let _camera = place.start(&["run", "--size", "64x64", "--to", "8x8", "--json"]);
    let png = place.word("frame.png");
    let report = place.json(&["stream", "tap", "cam0/frame", "-o", &png, "--timeout", "30"]);
    assert_eq!(report["frames"][0]["format"], "nv12");
    assert!(read(&png).starts_with(b"\x89PNG"));
    let cases: [(&[&str], &str); 4] = [
        (&["cam0/input", "-o", &png], "png files hold u8, not f32"),
        (&["cam0/frame", "-o", "x.txt"], "name it .png, .jpg, .npy or .raw"),
        (&["cam1", "-o", "x.npy", "--timeout", "0.1"], "there are cam0/frame, cam0/input"),
        (&["cam 1", "-o", "x.npy"], "`cam 1` is no name for a stream"),
    ];
    for (arguments, words) in cases {
        let (out, errors, code) = place.run(&[&["stream", "tap"], arguments].concat());
        assert_eq!((out.as_str(), code), ("", Some(1)), "{errors}");
        assert!(errors.starts_with("error: ") && errors.contains(words), "{errors}");
    }
}

/// Chroma of pictures whose width is odd is wider than their luma: gaps in memory, and none in files.
#[test]
fn pictures_of_odd_sizes_are_replayed() {
    let place = Place::new();
    fs::create_dir(place.path("odd")).unwrap();
    let folder = place.word("odd");
    // Luma 5x3, chroma 3x2: of two samples each in one plane, or of one in two.
    for (format, shape) in [("nv12", [5, 6]), ("nv21", [5, 6]), ("i420", [5, 6])] {
        let bytes: Vec<u8> = (0..27).map(|byte| byte * 9).collect();
        fs::write(place.path("odd/frames.bin"), &bytes).unwrap();
        let image =
            json!({"format": format, "width": 5, "height": 3, "matrix": null, "range": null});
        let line = json!({
            "sequence": 0, "taken": null, "published": 0, "offset": 0, "bytes": 27, "dtype": "u8",
            "shape": shape, "image": image, "quantization": null, "blob": []
        });
        // The end of the line that was written when the machine went out.
        fs::write(place.path("odd/index.jsonl"), format!("{line}\n{{\"sequence\": 1, \"ta"))
            .unwrap();
        let replay = place.start(&[
            "stream",
            "replay",
            &folder,
            "--name",
            format,
            "--loop",
            "--wait-for",
            "1",
        ]);
        let again = place.word(&format!("again-{format}"));
        while !place.path(&format!("s/{format}.sock")).exists() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        place.json(&["stream", "record", format, "-o", &again, "-n", "1"]);
        assert_eq!(read(place.path(&format!("again-{format}/frames.bin"))), bytes, "{format}");
        assert_eq!(replay.stop().2, Some(0));
    }
}

#[test]
fn whoever_waits_for_a_producer_can_be_told_to_end() {
    let place = Place::new();
    let file = place.word("x.npy");
    let tap = place.start(&["stream", "tap", "nobody", "-o", &file, "--timeout", "3600"]);
    // Until it listens for signals; before that it ends anyway.
    std::thread::sleep(std::time::Duration::from_millis(300));
    tap.signal("-INT");
    let (_, errors, code) = tap.end();
    let told = ["nobody publishes stream", "told to end before a producer answered"];
    let told = code == Some(1) && told.iter().any(|words| errors.contains(words));
    assert!(code.is_none() || told, "{code:?}: {errors}");
}

#[test]
fn a_stopped_producer_hides_nobody_else() {
    let place = Place::new();
    let stopped = place.start(&["run", "--size", "64x64", "--name", "a", "--no-input", "--json"]);
    let other = place.start(&["run", "--size", "64x64", "--name", "b", "--no-input", "--json"]);
    for name in ["s/a+frame.sock", "s/b+frame.sock"] {
        while !place.path(name).exists() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
    stopped.signal("-STOP");
    let list = place.json(&["stream", "ls"]);
    assert!(list["streams"][0]["error"].as_str().unwrap().contains("did not answer"), "{list}");
    assert_eq!(list["streams"][1]["report"]["name"], "b/frame");
    let top = place.json(&["top"]);
    assert_eq!(top["streams"][0]["name"], "b/frame");
    assert!(top["silent"]["a/frame"].as_str().unwrap().contains("did not answer"), "{top}");
    stopped.signal("-CONT");
    assert_eq!((stopped.stop().2, other.stop().2), (Some(0), Some(0)));
}
