//! `tenure stream gst` with pipelines of a real GStreamer: `tests/gstreamer/test` runs it.
#![cfg(target_os = "linux")]

mod common;
mod streams;

use std::env;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use streams::{Place, Running, number, read};

/// `gst-launch-1.0`, as the environment says it.
fn launch(pipeline: &str) -> Command {
    let words = env::var("TENURE_TEST_GST_LAUNCH").expect("run it with tests/gstreamer/test");
    let mut words = words.split_whitespace();
    let mut command = Command::new(words.next().unwrap());
    command.args(words).arg("--quiet").args(pipeline.split_whitespace());
    command
}

/// Runs a pipeline to its end.
fn play(pipeline: &str) -> Output {
    let output = launch(pipeline).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{pipeline}: {said}");
    output
}

/// A stream of recorded frames without an end, and a listener for it.
fn listener(place: &Place, arguments: &[&str]) -> Running {
    let socket = place.word("gst");
    let command = ["stream", "gst", "cam0/frame", "--socket", &socket, "--json"];
    let deadline = Instant::now() + Duration::from_secs(60);
    while !place.path("s/cam0+frame.sock").exists() {
        assert!(Instant::now() < deadline, "nobody publishes");
        std::thread::sleep(Duration::from_millis(10));
    }
    let running = place.start(&[&command, arguments].concat());
    while !place.path("gst").exists() {
        assert!(Instant::now() < deadline, "nobody listens: {:?}", running.end());
        std::thread::sleep(Duration::from_millis(10));
    }
    running
}

fn report(running: Running) -> Value {
    let (out, errors, code) = running.stop();
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    serde_json::from_str(&out).unwrap()
}

#[test]
#[ignore = "needs GStreamer 1.24 or later; tests/gstreamer/test runs it"]
fn pipelines_read_the_frames_as_they_are() {
    let place = Place::new();
    let _camera = place.start(&["run", "--size", "320x240", "--fps", "100", "--json"]);
    let listener = listener(&place, &["--fps", "100"]);
    let (socket, raw) = (place.word("gst"), place.word("frames.raw"));
    play(&format!("unixfdsrc socket-path={socket} num-buffers=50 ! filesink location={raw}"));
    let frames = read(&raw);
    assert_eq!(frames.len(), 50 * 320 * 360);
    let numbers: Vec<u64> = frames.chunks(320 * 360).map(|frame| number(frame, 320)).collect();
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");

    // Through elements that look at caps, with a queue that holds what it can.
    let rgb = place.word("frames.rgb");
    play(&format!(
        "unixfdsrc socket-path={socket} num-buffers=20 ! queue ! \
         video/x-raw,format=NV12,width=320,height=240,framerate=100/1 ! videoconvert ! \
         video/x-raw,format=RGB ! filesink location={rgb}"
    ));
    let frames = read(&rgb);
    assert_eq!(frames.len(), 20 * 320 * 240 * 3);
    // The stripes are black and white, and the samples of a pixel the same.
    let stripes = &frames[..320 * 3];
    assert!(stripes.chunks(3).all(|it| it[0] == it[1] && it[1] == it[2]), "{stripes:?}");
    assert!(stripes.iter().all(|sample| *sample == 0 || *sample >= 250), "{stripes:?}");
    assert!(stripes.iter().any(|sample| *sample != 0), "{stripes:?}");

    // A pipeline that is stopped and one that is killed hold up nobody.
    let stuck = launch(&format!("unixfdsrc socket-path={socket} ! fakesink")).spawn().unwrap();
    let signal = |name: &str| {
        Command::new("kill").args([name, &stuck.id().to_string()]).status().unwrap();
    };
    std::thread::sleep(Duration::from_millis(300));
    signal("-STOP");
    let again = place.word("again.raw");
    play(&format!("unixfdsrc socket-path={socket} num-buffers=50 ! filesink location={again}"));
    assert_eq!(read(&again).len(), 50 * 320 * 360);
    signal("-KILL");
    let mut stuck = stuck;
    stuck.wait().unwrap();

    let report = report(listener);
    assert_eq!((&report["put_out"], &report["refused"]), (&json!(0), &json!(0)), "{report}");
    assert_eq!(report["clients"], 4);
    assert!(report["given"].as_u64() >= Some(120), "{report}");
}

#[test]
#[ignore = "needs GStreamer 1.24 or later; tests/gstreamer/test runs it"]
fn the_end_of_the_stream_ends_pipelines() {
    let place = Place::new();
    let camera = place.start(&["run", "--size", "64x64", "--json"]);
    let listener = listener(&place, &[]);
    let pipeline = format!("unixfdsrc socket-path={} ! fakesink", place.word("gst"));
    let mut pipeline = launch(&pipeline).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(camera.stop().2, Some(0));
    assert!(pipeline.wait().unwrap().success());
    let (out, errors, code) = listener.end();
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    assert!(serde_json::from_str::<Value>(&out).unwrap()["given"].as_u64() > Some(0), "{out}");
}

/// Every format, against GStreamer's own: its test picture as raw frames through a stream of ours
/// is the picture that it makes without us.
#[test]
#[ignore = "needs GStreamer 1.24 or later; tests/gstreamer/test runs it"]
fn formats_mean_what_gstreamer_says() {
    let formats = [
        ("rgb", "RGB"),
        ("bgr", "BGR"),
        ("rgba", "RGBA"),
        ("bgra", "BGRA"),
        ("grey", "GRAY8"),
        ("yuyv", "YUY2"),
        ("uyvy", "UYVY"),
        ("nv12", "NV12"),
        ("nv21", "NV21"),
        ("nv16", "NV16"),
        ("nv24", "NV24"),
        ("i420", "I420"),
        ("p010", "P010_10LE"),
        ("planar-rgb", "RGBP"),
    ];
    for (ours, theirs) in formats {
        let place = Place::new();
        let (raw, direct, through) =
            (place.word("raw"), place.word("direct"), place.word("through"));
        let source = format!(
            "videotestsrc num-buffers=1 ! \
             video/x-raw,format={theirs},width=64,height=48,framerate=20/1 !"
        );
        let sink = "videoconvert dither=none ! video/x-raw,format=RGB ! filesink location=";
        play(&format!("{source} filesink location={raw}"));
        play(&format!("{source} {sink}{direct}"));
        let from = format!("{ours}:64x48");
        let _camera = place.start(&["run", &raw, "--from", &from, "--fps", "50", "--json"]);
        let listener = listener(&place, &[]);
        let socket = place.word("gst");
        play(&format!("unixfdsrc socket-path={socket} num-buffers=1 ! {sink}{through}"));
        assert_eq!(read(&through).len(), 64 * 48 * 3, "{ours}");
        assert!(read(&through) == read(&direct), "{ours} is another picture");
        report(listener);
    }
}
