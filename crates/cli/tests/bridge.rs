//! `tenure bridge`: how to get it, and streams from one machine to another with it.
#![cfg(target_os = "linux")]

mod common;
mod streams;

use streams::Place;

#[cfg(not(feature = "bridge"))]
#[test]
fn a_build_without_it_says_how_to_have_it() {
    let (out, errors, code) = Place::new().run(&["bridge", "--import", "cam0/**"]);
    assert_eq!((out.as_str(), code), ("", Some(1)));
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(errors.contains("cargo run --release --features bridge -- bridge"), "{errors}");
}

#[cfg(feature = "bridge")]
mod built {
    use std::net::TcpListener;
    use std::time::{Duration, Instant};

    use serde_json::Value;

    use super::Place;
    use super::streams::{number, read};

    /// Asks again and again until the answer is as it should be.
    fn until(what: &str, mut ask: impl FnMut() -> Option<String>) -> String {
        let began = Instant::now();
        let mut last = None;
        while began.elapsed() < Duration::from_secs(60) {
            last = ask();
            if let Some(answer) = &last
                && answer.contains(what)
            {
                return last.unwrap();
            }
        }
        panic!("no `{what}`, but {last:?}");
    }

    #[test]
    fn a_camera_of_another_machine_is_a_camera_here() {
        let (camera, here) = (Place::new(), Place::new());
        // Outside of those that connections get by themselves.
        let mut ports = (0..).map(|at| 20_000 + (std::process::id() * 31 + at) as u16 % 10_000);
        let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
        let port = ports.find(free).unwrap();
        let address = format!("tcp/127.0.0.1:{port}");
        let _run = camera.start(&["run", "--size", "64x64", "--fps", "100", "--json"]);
        let mut export = camera.start(&[
            "bridge",
            "--listen",
            &address,
            "--export",
            "cam0/*",
            "--compress",
            "lossless",
        ]);
        let mut lines = [export.line(), export.line()];
        lines.sort();
        assert!(lines[0].contains("export cam0/frame: "), "{lines:?}");
        let mut import = here.start(&["bridge", "--connect", &address, "--import", "cam0/frame"]);
        assert!(import.line().contains("import cam0/frame from "));

        let list = until("cam0/input", || {
            Some(here.run(&["bridge", "--connect", &address, "--list", "--seconds", "1"]).0)
        });
        assert!(list.contains("✓ cam0/frame"), "{list}");
        until("from", || Some(here.run(&["stream", "stat", "cam0/frame"]).0));
        let listed = here.run(&["stream", "ls"]).0;
        assert!(listed.contains(":cam0/frame") && !listed.contains("cam0/input"), "{listed}");
        let raw = here.word("frame.raw");
        let (_, errors, code) = here.run(&["stream", "tap", "cam0/frame", "-o", &raw, "-n", "1"]);
        assert_eq!((errors.as_str(), code), ("", Some(0)));
        number(&read(&raw), 64);

        // Whoever sends ends: the stream pauses, and the list is empty.
        let (words, errors, code) = export.stop();
        assert_eq!((errors.as_str(), code), ("", Some(0)));
        assert!(words.contains("frames sent"), "{words}");
        until("paused", || Some(here.run(&["stream", "ls"]).0));
        let (words, _, code) = import.stop();
        assert_eq!(code, Some(0));
        assert!(words.contains("paused: the other side cannot be reached"), "{words}");
    }

    #[test]
    fn what_happened_is_told_as_json() {
        let place = Place::new();
        let report = place.json(&["bridge", "--listen", "tcp/127.0.0.1:0", "--seconds", "0.5"]);
        for part in ["exports", "imports", "remote"] {
            assert_eq!(report[part], Value::Array(vec![]), "{report}");
        }
        assert!(report["memory"] == 0 && report["memory_limit"].as_u64() > Some(0), "{report}");
        let words =
            ["bridge", "--listen", "tcp/127.0.0.1:0", "--seconds", "0.5", "--memory", "64M"];
        assert_eq!(place.json(&words)["memory_limit"], 64 << 20);
        let (_, errors, code) = place.run(&["bridge", "--memory", "1K"]);
        assert_eq!(code, Some(1));
        assert!(errors.contains("must be at least 1048576 bytes, got 1024"), "{errors}");
        let (_, errors, code) = place.run(&["bridge", "--compress", "zip"]);
        assert_eq!(code, Some(2));
        assert!(errors.contains("`zip` is no compression"), "{errors}");
        let (_, errors, code) = place.run(&["bridge", "--listen", "tcp/256.0.0.1:1"]);
        assert_eq!(code, Some(1));
        assert!(errors.starts_with("error: opening the network failed"), "{errors}");
    }
}
