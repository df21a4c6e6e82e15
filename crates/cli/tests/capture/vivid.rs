//! The command with the kernel's test cameras. They show eight bars: white, yellow, cyan, green,
//! magenta, red, blue, black, at 75 % of the full signal, with text over the upper part.
//!
//! Ignored by default because most machines have none; `tests/vm/test` runs them in a virtual
//! machine. They share the cameras, so one runs after the other.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{answer, run, tenure};

const WIDTH: usize = 320;
const HEIGHT: usize = 180;

/// The bars, in 75 % of 255.
const BARS: [[u8; 3]; 8] = [
    [191, 191, 191],
    [191, 191, 0],
    [0, 191, 191],
    [0, 191, 0],
    [191, 0, 191],
    [191, 0, 0],
    [0, 0, 191],
    [0, 0, 0],
];

/// Keeps other tests from the cameras.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The test cameras, as `tenure info` lists them.
fn cameras() -> Vec<Value> {
    let (out, errors, code) = run(&["info", "--json"]);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    let report: Value = serde_json::from_str(&out).unwrap();
    let all = report["devices"]["cameras"]["nodes"].as_array().unwrap().clone();
    let ours = |camera: &Value| camera["driver"] == "vivid" && camera["captures"] == true;
    all.into_iter().filter(ours).collect()
}

fn path(camera: &Value) -> &str {
    camera["path"].as_str().unwrap()
}

/// Captures small frames into a folder.
fn capture(device: &str, folder: &Path, more: &[&str]) -> (String, String, Option<i32>) {
    let folder = folder.to_str().unwrap();
    run(&[&["capture", device, "-o", folder, "--size", "320x180"], more].concat())
}

/// A picture's channels and bytes.
fn png(path: &Path) -> (usize, Vec<u8>) {
    let mut reader =
        png::Decoder::new(BufReader::new(File::open(path).unwrap())).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    assert_eq!((info.width as usize, info.height as usize), (WIDTH, HEIGHT));
    let channels = info.color_type.samples();
    assert_eq!(bytes.len(), WIDTH * HEIGHT * channels);
    (channels, bytes)
}

/// Checks the middles of all bars, below the text.
fn check_bars(path: &Path, wanted: impl Fn([u8; 3]) -> Vec<u8>) {
    let (channels, bytes) = png(path);
    for (bar, colour) in BARS.into_iter().enumerate() {
        let (x, wanted) = (WIDTH * (2 * bar + 1) / 16, wanted(colour));
        for y in [HEIGHT - 1, HEIGHT - 10, HEIGHT - 17] {
            let found = &bytes[(y * WIDTH + x) * channels..][..channels];
            assert_eq!(found.len(), wanted.len());
            let near = found.iter().zip(&wanted).all(|(a, b)| a.abs_diff(*b) <= 3);
            assert!(near, "{}: bar {bar} is {found:?}, not {wanted:?}", path.display());
        }
    }
}

/// The head of an array, and how many bytes follow.
fn npy(path: &Path) -> (String, usize) {
    let bytes = fs::read(path).unwrap();
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let elements = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let head = String::from_utf8(bytes[10..elements].to_vec()).unwrap();
    (head.trim_end().to_owned(), bytes.len() - elements)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn ten_frames_are_pictures_and_arrays() {
    let _alone = alone();
    let cameras = cameras();
    assert!(cameras.len() >= 2, "{cameras:?}");
    let formats = [("nv12", "(270, 320)", 270 * 320), ("yuyv", "(180, 320, 2)", 180 * 320 * 2)];
    for (camera, (format, shape, size)) in
        cameras.iter().flat_map(|camera| formats.map(|format| (camera, format)))
    {
        let folder = tempfile::tempdir().unwrap();
        let more = ["--frames", "10", "--format", format];
        let (out, errors, code) = capture(path(camera), folder.path(), &more);
        assert_eq!((errors.as_str(), code), ("", Some(0)), "{out}");
        for words in
            ["vivid", &format.to_uppercase(), "320x180", "DMA-BUF", "10 written", "10 png, 10 npy"]
        {
            assert!(out.contains(words), "{words}: {out}");
        }
        let all = names(folder.path());
        assert_eq!(
            (all.len(), all[0].as_str(), all[19].as_str()),
            (20, "000000.npy", "000009.png")
        );
        for index in 0..10 {
            let file = |ending| folder.path().join(format!("{index:06}.{ending}"));
            check_bars(&file("png"), |colour| colour.to_vec());
            let (head, bytes) = npy(&file("npy"));
            assert!(
                head.contains(&format!("'descr': '|u1', 'fortran_order': False, 'shape': {shape}")),
                "{head}"
            );
            assert_eq!(bytes, size);
        }
    }
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn every_sort_of_format_shows_the_bars() {
    let _alone = alone();
    let cameras = cameras();
    for format in ["rgb", "bgra", "uyvy", "i420", "nv16", "nv24", "nv21"] {
        let folder = tempfile::tempdir().unwrap();
        let more = ["--format", format, "--only", "png"];
        let (out, errors, code) = capture(path(&cameras[0]), folder.path(), &more);
        assert_eq!((errors.as_str(), code), ("", Some(0)), "{out}");
        assert_eq!(names(folder.path()), ["000000.png"]);
        check_bars(&folder.path().join("000000.png"), |colour| colour.to_vec());
    }
    // With planes in buffers of their own.
    for (code, shape) in [("NM12", "(270, 320)"), ("YM12", "(270, 320)"), ("NM16", "(360, 320)")] {
        let has = |camera: &&Value| camera["formats"].to_string().contains(code);
        let camera = cameras.iter().find(has).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (_, errors, code) = capture(path(camera), folder.path(), &["--format", code]);
        assert_eq!((errors.as_str(), code), ("", Some(0)));
        check_bars(&folder.path().join("000000.png"), |colour| colour.to_vec());
        let (head, _) = npy(&folder.path().join("000000.npy"));
        assert!(head.contains(shape), "{head}");
    }
    // This driver weighs colours by BT.709, and uses the full range.
    let folder = tempfile::tempdir().unwrap();
    capture(path(&cameras[0]), folder.path(), &["--format", "grey"]);
    check_bars(&folder.path().join("000000.png"), |colour| {
        let [r, g, b] = colour.map(f64::from);
        vec![(0.2126 * r + 0.7152 * g + 0.0722 * b).round() as u8]
    });
    assert!(npy(&folder.path().join("000000.npy")).0.contains("(180, 320, 1)"));
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn what_cannot_be_shown_is_an_array_of_bytes() {
    let _alone = alone();
    let device = &cameras()[0];
    let folder = tempfile::tempdir().unwrap();
    let (_, errors, code) = capture(path(device), folder.path(), &["--format", "RGBP"]);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    assert_eq!(names(folder.path()), ["000000.npy"]);
    let (head, bytes) = npy(&folder.path().join("000000.npy"));
    assert!(head.contains("(115200,)") && bytes == 115_200, "{head}");
    // In the order of bytes that this machine does not have.
    let (out, _, code) = capture(path(device), folder.path(), &["--format", "Y16-BE", "--force"]);
    assert!(out.contains("Y16 -BE 320x180") && code == Some(0), "{out}");
    let more = ["--format", "RGBP", "--only", "png"];
    let (_, errors, code) = capture(path(device), folder.path(), &more);
    assert!(errors.contains("RGBP cannot be shown") && code == Some(1), "{errors}");
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn files_that_are_there_are_kept() {
    let _alone = alone();
    let device = &cameras()[0];
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("000001.npy"), "precious").unwrap();
    let more = ["--frames", "2", "--only", "npy", "--format", "grey"];
    let (out, errors, code) = capture(path(device), folder.path(), &more);
    assert_eq!((out.as_str(), code), ("", Some(1)));
    assert!(errors.contains("000001.npy is there already") && errors.contains("--force"));
    assert_eq!(names(folder.path()), ["000001.npy"]);
    assert_eq!(fs::read(folder.path().join("000001.npy")).unwrap(), b"precious");
    let (_, errors, code) =
        capture(path(device), folder.path(), &[&more[..], &["--force"]].concat());
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    assert_eq!(npy(&folder.path().join("000001.npy")).1, WIDTH * HEIGHT);
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn a_file_that_does_not_fit_leaves_nothing() {
    let _alone = alone();
    let device = &cameras()[0];
    let folder = tempfile::tempdir().unwrap();
    // As on a full disk, writing fails in the middle of a file.
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 60; exec \"$@\"", "sh"])
        .args([env!("CARGO_BIN_EXE_tenure"), "capture", path(device), "--format", "nv12"])
        .args(["--size", "320x180", "--frames", "3", "--only", "npy", "-o"])
        .arg(folder.path())
        .output()
        .unwrap();
    let (_, errors, code) = answer(output);
    assert_eq!((errors.lines().count(), code), (1, Some(1)), "{errors}");
    assert!(errors.contains(".npy cannot be written: File too large"), "{errors}");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn a_reader_that_went_away_does_not_keep_frames_from_their_files() {
    let _alone = alone();
    let device = &cameras()[0];
    let folder = tempfile::tempdir().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = tenure(&["capture", path(device), "--format", "grey", "--only", "npy", "-o"])
        .arg(folder.path())
        .stdout(writer)
        .output()
        .unwrap();
    let (_, errors, code) = answer(output);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    assert_eq!(names(folder.path()), ["000000.npy"]);
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn a_camera_in_use_says_so_and_what_was_written_is_whole() {
    let _alone = alone();
    let device = &cameras()[0];
    let folder = tempfile::tempdir().unwrap();
    let size = ["--format", "grey", "--size", "320x180"];
    let mut first = tenure(&["capture", path(device), "-n", "1000", "--only", "npy", "-o"])
        .arg(folder.path())
        .args(size)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while !folder.path().join("000001.npy").exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "no frame came");
        std::thread::sleep(Duration::from_millis(20));
    }
    let other = folder.path().join("other");
    let (_, errors, code) = capture(path(device), &other, &["--format", "grey"]);
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!((errors.lines().count(), code), (1, Some(1)), "{errors}");
    assert!(errors.contains("is busy") && errors.contains("tenure"), "{errors}");
    // Killed in the middle: what has a name is complete all the same.
    let arrays = names(folder.path()).into_iter().filter(|name| !name.starts_with('.'));
    for name in arrays.filter(|name| name.ends_with(".npy")) {
        assert_eq!(npy(&folder.path().join(name)).1, WIDTH * HEIGHT);
    }
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn a_frame_that_does_not_come_in_time_is_told() {
    let _alone = alone();
    let device = &cameras()[0];
    let folder = tempfile::tempdir().unwrap();
    // The first frame comes at once, the second much later than that.
    let more =
        ["-n", "50", "--fps", "5", "--timeout", "0.001", "--format", "grey", "--only", "npy"];
    let (_, errors, code) = capture(path(device), folder.path(), &more);
    let words = "error: no frame came within 1ms (after 1 of 50 frames)\n";
    assert_eq!((errors.as_str(), code), (words, Some(1)));
    assert_eq!(names(folder.path()), ["000000.npy"]);
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn the_report_tells_every_frame() {
    let _alone = alone();
    let cameras = cameras();
    let folder = tempfile::tempdir().unwrap();
    let more = ["--frames", "3", "--skip", "2", "--format", "grey", "--json", "--only", "npy"];
    let (out, errors, code) = capture(path(&cameras[1]), folder.path(), &more);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["device"], cameras[1]["path"]);
    assert_eq!((&report["driver"], &report["memory"]), (&"vivid".into(), &"dma".into()));
    assert_eq!(
        (&report["mode"]["code"], &report["mode"]["format"]),
        (&"GREY".into(), &"grey".into())
    );
    assert_eq!((&report["mode"]["width"], &report["mode"]["height"]), (&320.into(), &180.into()));
    let frames = report["frames"].as_array().unwrap();
    assert_eq!(frames.len(), 3);
    for (index, frame) in frames.iter().enumerate() {
        assert_eq!(frame["index"], index);
        assert_eq!(frame["files"], serde_json::json!([format!("{index:06}.npy")]));
        assert!(frame["sequence"].as_u64().unwrap() >= 2 + index as u64, "{frame}");
    }
    assert!(report["fps"].as_f64().unwrap() > 0.0);
    assert_eq!(report["bytes"], 3 * (128 + WIDTH * HEIGHT));
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn what_a_camera_does_not_have_is_refused_with_what_it_has() {
    let _alone = alone();
    let device = &cameras()[0];
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("none");
    let (_, errors, code) = capture(path(device), &below, &["--format", "mjpg"]);
    assert!(errors.contains("has no format MJPG; it has") && errors.contains("NV12"), "{errors}");
    assert_eq!((errors.lines().count(), code), (1, Some(1)));
    let (_, errors, _) = capture(path(device), &below, &["--format", "nv12", "--size", "641x359"]);
    assert!(errors.contains("cannot be used multiple times"), "{errors}");
    let folder = below.to_str().unwrap();
    let odd = ["capture", path(device), "--format", "nv12", "--size", "641x359", "-o", folder];
    let (_, errors, code) = run(&odd);
    assert!(errors.contains("641x359; the nearest are 640x360 (it lists 320x180"), "{errors}");
    assert_eq!((errors.lines().count(), code), (1, Some(1)));
    assert!(!below.exists());
    let (_, errors, _) = run(&["capture", "/dev/video99"]);
    assert!(errors.contains("the cameras here are /dev/video"), "{errors}");
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn info_lists_cameras_with_what_they_offer() {
    let _alone = alone();
    let cameras = cameras();
    for camera in &cameras {
        assert!(camera["bus"].as_str().unwrap().starts_with("platform:vivid"), "{camera}");
        assert_eq!((&camera["accessible"], &camera["reason"]), (&true.into(), &Value::Null));
        let formats = camera["formats"].as_array().unwrap();
        let nv12 = formats.iter().find(|format| format["code"] == "NV12").unwrap();
        assert_eq!((&nv12["format"], &nv12["compressed"]), (&"nv12".into(), &false.into()));
        let smallest = &nv12["sizes"][0];
        assert_eq!(smallest["width"]["smallest"], 320, "{smallest}");
        assert_eq!(smallest["height"]["largest"], 180, "{smallest}");
    }
    let (out, _, _) = run(&["info"]);
    for words in
        ["✓ cameras", "/dev/video", "vivid (vivid, platform:vivid-000)", " NV12 ", "640x360"]
    {
        assert!(out.contains(words), "{words}: {out}");
    }
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn a_frame_is_converted_as_a_model_wants_it() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    for camera in cameras() {
        let out = folder.path().join("frame.png");
        let size = format!("{WIDTH}x{HEIGHT}");
        let arguments = ["convert", path(&camera), out.to_str().unwrap(), "--to", &size];
        let (_, errors, code) = run(&arguments);
        assert_eq!((errors.as_str(), code), ("", Some(0)), "{camera}");
        check_bars(&out, |colour| colour.to_vec());
    }
}
