//! `tenure info`: text and JSON say the same, and the environment is obeyed.

mod common;

use common::{answer, run, tenure};
use serde_json::Value;

fn json(variables: &[(&str, &str)]) -> Value {
    let output = tenure(&["info", "--json"]).envs(variables.iter().copied()).output().unwrap();
    let (out, errors, code) = answer(output);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    serde_json::from_str(&out).unwrap()
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect()
}

#[test]
fn json_has_its_fields() {
    let report = json(&[]);
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    let memories = ["mem", "dma", "shm", "pbo", "file", "pinned", "device", "managed"];
    assert_eq!(names(&report["memories"]), memories);
    assert_eq!(names(&report["spaces"]), ["main", "pinned", "gpu", "managed"]);
    for list in ["memories", "spaces"] {
        for entry in report[list].as_array().unwrap() {
            let works = entry["works"].as_bool().unwrap();
            assert_eq!(works, entry["reason"].is_null(), "{entry}");
        }
    }
    assert_eq!(report["spaces"][0]["dlpack"][0]["code"], 1);
    assert!(report["memories"][0]["works"].as_bool().unwrap());
    let parts = ["system", "processor", "automatic", "environment", "pages", "limits", "devices"];
    for part in parts {
        assert!(!report[part].is_null(), "{part}");
    }
    for kind in report["gpus"].as_array().unwrap() {
        let empty = kind["devices"].as_array().unwrap().is_empty();
        assert_eq!(empty, kind["reason"].is_string(), "{kind}");
        for device in kind["devices"].as_array().unwrap() {
            let word = format!("{}:", kind["name"].as_str().unwrap());
            assert!(device["word"].as_str().unwrap().starts_with(&word), "{device}");
            assert!(device["heaps"][0]["bytes"].as_u64().unwrap() > 0, "{device}");
        }
    }
    // What is said of memories and spaces agrees with what is said of devices.
    let there = report["gpus"].as_array().unwrap().iter().any(|kind| kind["works"] == true);
    let works = |list: &str, name: &str| {
        let all = report[list].as_array().unwrap();
        all.iter().any(|entry| entry["name"] == name && entry["works"] == true)
    };
    for (list, name) in [("memories", "device"), ("memories", "pinned"), ("spaces", "gpu")] {
        assert_eq!(works(list, name), there, "{list} {name}");
    }
    for group in ["dma_heaps", "udmabuf", "graphics", "cameras"] {
        let group = &report["devices"][group];
        let empty = group["nodes"].as_array().unwrap().is_empty();
        assert_eq!(empty, group["reason"].is_string(), "{group}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn linux_tells_its_limits() {
    let report = json(&[]);
    assert!(report["limits"]["memory"]["total"].as_u64().unwrap() > 0);
    assert!(report["limits"]["open_files"].is_object());
    assert!(report["pages"]["size"].as_u64().unwrap() >= 4096);
    assert!(report["system"]["kernel"].is_string());
}

#[test]
fn text_names_everything() {
    let (out, _, _) = run(&["info"]);
    let report = json(&[]);
    for memory in report["memories"].as_array().unwrap() {
        let mark = if memory["works"].as_bool().unwrap() { '✓' } else { '✗' };
        let row = format!("  {mark} {}", memory["name"].as_str().unwrap());
        assert!(out.lines().any(|line| line.starts_with(&row)), "{row}:\n{out}");
    }
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
}

#[test]
fn mapped_files_are_the_disk_device() {
    let (out, _, _) = run(&["info"]);
    let row =
        out.lines().find(|line| line.trim_start_matches([' ', '✓', '✗']).starts_with("file "));
    assert!(row.is_some_and(|row| row.contains("DISK")), "{out}");
    let report = json(&[]);
    let disk =
        |memory: &serde_json::Value| memory["title"].as_str().is_some_and(|it| it.contains("DISK"));
    let named: Vec<_> =
        report["memories"].as_array().unwrap().iter().filter(|it| disk(it)).collect();
    assert_eq!(named.len(), 1, "{report}");
    assert_eq!(named[0]["name"], "file");
}

#[test]
fn forcing_the_heap_is_seen() {
    let report = json(&[("TENURE_FORCE_MEM", "1")]);
    assert_eq!(report["automatic"]["order"], serde_json::json!(["mem"]));
    assert_eq!(report["automatic"]["takes"], "mem");
    assert_eq!(report["environment"][0]["name"], "TENURE_FORCE_MEM");
    assert_eq!(report["environment"][0]["value"], "1");
    assert_eq!(report["environment"][0]["on"], true);

    let report = json(&[("TENURE_FORCE_MEM", "yes")]);
    assert_eq!(report["environment"][0]["on"], false);
    assert_ne!(report["automatic"]["order"], serde_json::json!(["mem"]));

    let output = tenure(&["info"]).env("TENURE_FORCE_MEM", "yes").output().unwrap();
    assert!(answer(output).0.contains("\"yes\" counts as off"));
}

#[test]
fn wide_terminals_are_used() {
    let wide = |columns| {
        let output = tenure(&["info"]).env("COLUMNS", columns).output().unwrap();
        answer(output).0.lines().map(|line| line.chars().count()).max().unwrap()
    };
    assert!(wide("120") > 80);
    assert!(wide("60") <= 60);
    assert_eq!(wide("nonsense"), 80);
}

/// `tests/gpu/test` has the libraries, and puts them where the system finds them.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "needs the runtimes of NVIDIA and AMD, and a machine without their devices"]
fn runtimes_without_their_devices_say_why() {
    let report = json(&[]);
    let reason = |name: &str| {
        let kinds = report["gpus"].as_array().unwrap();
        let kind = kinds.iter().find(|kind| kind["name"] == name).unwrap();
        assert_eq!(kind["works"], false, "{kind}");
        kind["reason"].as_str().unwrap().to_owned()
    };
    let (cuda, hip) = (reason("cuda"), reason("hip"));
    assert!(cuda.starts_with("driver too old: libcudart.so.1"), "{cuda}");
    assert!(cuda.contains("answers 35"), "{cuda}");
    assert!(hip.starts_with("no device: libamdhip64.so"), "{hip}");
    let (out, _, code) = run(&["info"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("CUDA") && out.contains("driver too old"), "{out}");
}
