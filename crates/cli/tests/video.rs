//! `tenure run` with videos: motion JPEG in files, and pipes of it and of raw frames.
#![cfg(target_os = "linux")]

mod common;
mod streams;

use std::fs;
use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};
use streams::Place;
use tenure::image::codec;
use tenure::{PixelFormat, Tensor};

use common::answer;

/// A grey JPEG picture of this level.
fn jpeg(level: u8) -> Vec<u8> {
    let picture = Tensor::<u8>::image(32, 16, PixelFormat::Grey, None, None).unwrap();
    picture.fill(level).unwrap();
    let mut file = vec![];
    codec::encode_jpeg(&picture, 95, &mut file).unwrap();
    file
}

fn video(levels: &[u8]) -> Vec<u8> {
    levels.iter().flat_map(|level| jpeg(*level)).collect()
}

/// Gives bytes to a command by its standard input; what it printed.
fn piped(place: &Place, arguments: &[&str], bytes: &[u8]) -> (String, String, Option<i32>) {
    let mut command = place.tenure(arguments);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    // It may have seen enough before the end.
    let _ = child.stdin.take().unwrap().write_all(bytes);
    answer(child.wait_with_output().unwrap())
}

fn frames(out: &str) -> Value {
    serde_json::from_str::<Value>(out).unwrap()["cameras"][0]["frames"].clone()
}

const QUICK: [&str; 4] = ["--no-input", "--fps", "200", "--json"];

#[test]
fn every_picture_of_a_motion_jpeg_file_is_a_frame() {
    let place = Place::new();
    let levels: Vec<u8> = (0..90).map(|level| level * 2).collect();
    fs::write(place.path("clip.mjpeg"), video(&levels)).unwrap();
    let clip = place.word("clip.mjpeg");
    let (out, errors, code) = place.run(&[&["run", &clip, "--once"], &QUICK[..]].concat());
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    assert_eq!(frames(&out), 90);
    let report: Value = serde_json::from_str(&out).unwrap();
    let source = report["cameras"][0]["source"].as_str().unwrap();
    assert!(source.ends_with("clip.mjpeg, motion JPEG"), "{source}");
    // Without --once it begins anew.
    let (out, _, code) = place.run(&[&["run", &clip, "-n", "100"], &QUICK[..]].concat());
    assert_eq!((frames(&out), code), (json!(100), Some(0)));
    // The frames are the pictures, in their order.
    let folder = place.word("kept");
    fs::write(place.path("short.jpg"), video(&[10, 100, 200])).unwrap();
    let short = place.word("short.jpg");
    let camera = place.start(&["run", &short, "--no-input", "--fps", "20", "--json"]);
    while !place.path("s/cam0+frame.sock").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    place.json(&["stream", "record", "cam0/frame", "-o", &folder, "-n", "6"]);
    assert_eq!(camera.stop().2, Some(0));
    let bytes = fs::read(place.path("kept/frames.bin")).unwrap();
    let index = fs::read_to_string(place.path("kept/index.jsonl")).unwrap();
    for (line, pixels) in index.lines().zip(bytes.chunks(32 * 16)) {
        let line: Value = serde_json::from_str(line).unwrap();
        let number = line["sequence"].as_u64().unwrap() as usize;
        let level = [10, 100, 200u8][number % 3];
        assert!(pixels.iter().all(|pixel| pixel.abs_diff(level) <= 1), "{number}: {pixels:?}");
    }
}

#[test]
fn videos_in_a_folder_are_shown_picture_by_picture() {
    let place = Place::new();
    let folder = place.path("folder");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("a.jpg"), video(&[1, 2, 3, 4])).unwrap();
    fs::write(folder.join("b.jpg"), jpeg(5)).unwrap();
    fs::write(folder.join("c.mjpeg"), video(&[6, 7])).unwrap();
    fs::write(folder.join("d.MJPG"), jpeg(8)).unwrap();
    let word = place.word("folder");
    let (out, errors, code) = place.run(&[&["run", &word, "--once"], &QUICK[..]].concat());
    assert_eq!((frames(&out), errors.as_str(), code), (json!(8), "", Some(0)));
    let (out, _, code) = place.run(&[&["run", &word, "-n", "20"], &QUICK[..]].concat());
    assert_eq!((frames(&out), code), (json!(20), Some(0)));
    // Where one picture is taken, that there are more is told.
    let (from, to) = (place.word("folder/a.jpg"), place.word("one.png"));
    let (_, errors, code) = place.run(&["convert", &from, &to]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(errors.contains("more pictures after the first"), "{errors}");
}

#[test]
fn a_video_that_was_cut_is_published_up_to_there_and_told() {
    let place = Place::new();
    let whole = video(&[1, 2, 3]);
    fs::write(place.path("cut.mjpeg"), &whole[..whole.len() - 20]).unwrap();
    let cut = place.word("cut.mjpeg");
    let (out, errors, code) = place.run(&[&["run", &cut], &QUICK[..]].concat());
    assert_eq!((frames(&out), code), (json!(2), Some(1)));
    assert!(errors.contains("it ends in the middle of a picture"), "{errors}");
    // One picture, and what some phones append to it, is one picture.
    let (first, second) = (jpeg(9), jpeg(8));
    let mut phone = first[..2].to_vec();
    phone.extend(b"\xff\xe2\x00\x06MPF\0");
    phone.extend(&first[2..]);
    phone.extend(&second);
    fs::write(place.path("phone.jpg"), phone).unwrap();
    let phone = place.word("phone.jpg");
    let (out, _, code) = place.run(&[&["run", &phone, "--once"], &QUICK[..]].concat());
    assert_eq!((frames(&out), code), (json!(1), Some(0)));
}

#[test]
fn the_standard_input_carries_videos() {
    let place = Place::new();
    let run = |extra: &[&str], bytes: &[u8]| {
        piped(&place, &[&["run", "-", "--no-input", "--json"], extra].concat(), bytes)
    };
    let (out, errors, code) = run(&[], &video(&[1, 2, 3, 4, 5]));
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    assert_eq!(frames(&out), 5);
    // As a camera sends them over HTTP.
    let part = b"\r\n--next\r\nContent-Type: image/jpeg\r\nContent-Length: 1\r\n\r\n";
    let parts: Vec<u8> = [1, 2, 3].iter().flat_map(|it| [&part[..], &jpeg(*it)].concat()).collect();
    let (out, _, code) = run(&[], &parts);
    assert_eq!((frames(&out), code), (json!(3), Some(0)));
    let raw = ["--from", "grey:32x16"];
    let (out, errors, code) = run(&raw, &[7; 4 * 32 * 16]);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    assert_eq!(frames(&out), 4);
    let wrong: [(&[&str], &[u8], &str); 5] = [
        (&[], &[9; 100_000], "must carry motion JPEG"),
        (&[], b"\x89PNG\r\n\x1a\n", "must carry motion JPEG"),
        (&[], b"", "- ended without a picture"),
        (&raw, &[7; 32 * 16 + 3], "it ends in the middle of a frame"),
        (&["--size", "32x16"], b"", "--size is for cameras"),
    ];
    for (extra, bytes, words) in wrong {
        let (_, errors, code) = run(extra, bytes);
        assert!(code == Some(1) && errors.contains(words), "{words}: {errors}");
    }
}

#[test]
fn a_named_pipe_carries_a_video() {
    let place = Place::new();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, place.path("pipe"), mode).unwrap();
    let (pipe, path) = (place.word("pipe"), place.path("pipe"));
    let writer = std::thread::spawn(move || {
        let mut pipe = fs::OpenOptions::new().write(true).open(path).unwrap();
        for level in 0..20 {
            pipe.write_all(&jpeg(level)).unwrap();
        }
    });
    let (out, errors, code) = place.run(&["run", &pipe, "--no-input", "--json"]);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    assert_eq!(frames(&out), 20);
    writer.join().unwrap();
    // A picture for `convert` may come that way too.
    let png = place.word("out.png");
    let (_, errors, code) = piped(&place, &["convert", "-", &png], &jpeg(50));
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    assert!(fs::read(&png).unwrap().starts_with(b"\x89PNG"));
}
