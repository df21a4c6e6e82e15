//! `tenure inspect` and `tenure load`: text and JSON say what is in a file, and refusals name it.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::path::Path;

use common::run;
use serde_json::Value;
use tenure::files::{npy, safetensors};
use tenure::{Tensor, TensorMemory};

fn json(arguments: &[&str]) -> Value {
    let (out, errors, code) = run(arguments);
    assert_eq!((errors.as_str(), code), ("", Some(0)), "{arguments:?}");
    serde_json::from_str(&out).unwrap()
}

/// A folder with a file of two tensors, and its path.
fn model() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("model.safetensors");
    let weight = Tensor::<f32>::from_slice(&[1.0, -2.0, f32::NAN, 4.0], &[2, 2]).unwrap();
    let bias = Tensor::<u8>::from_slice(&[7], &[1]).unwrap();
    let mut how = safetensors::Save::default();
    how.metadata.push(("format".to_owned(), "\u{1b}[31mpt".to_owned()));
    let all = [("layer.weight", weight.to_dyn()), ("layer.bias", bias.to_dyn())];
    safetensors::save(&path, &all, &how).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

#[test]
fn inspect_lists_tensors() {
    let (_folder, path) = model();
    let report = json(&["inspect", &path, "--json"]);
    assert_eq!((&report["format"], &report["bytes"]), (&"safetensors".into(), &4113.into()));
    let weight = &report["tensors"][0];
    assert_eq!((&weight["name"], &weight["dtype"]), (&"layer.weight".into(), &"f32".into()));
    assert_eq!((&weight["shape"], &weight["offset"]), (&vec![2, 2].into(), &4096.into()));
    assert!(weight["copied"].is_null() && weight["stats"].is_null());
    let report = json(&["inspect", &path, "weight", "--stats", "--json"]);
    assert_eq!(report["tensors"].as_array().unwrap().len(), 1);
    let stats = &report["tensors"][0]["stats"];
    assert_eq!((&stats["min"], &stats["max"]), (&(-2.0).into(), &4.0.into()));
    assert_eq!((&stats["mean"], &stats["nan"]), (&1.0.into(), &1.into()));
    let (out, _, code) = run(&["inspect", &path, "--stats", "--metadata"]);
    assert_eq!(code, Some(0));
    for words in [
        "layer.weight  f32   [2, 2]   16 B    4096",
        "min -2, max 4, mean 1, 1 NaN",
        "2 tensors, 17 B",
    ] {
        assert!(out.contains(words), "{out}");
    }
    assert!(out.contains("pt") && !out.contains('\u{1b}'), "files do not steer the terminal");
}

#[test]
fn inspect_reads_bare_elements() {
    let (_folder, path) = common::with_file("frame.yuv", "12345678");
    let all = ["inspect", &path, "--dtype", "u16", "--shape", "3", "--offset", "2", "--json"];
    let report = json(&all);
    assert_eq!((&report["format"], &report["tensors"][0]["bytes"]), (&"raw".into(), &6.into()));
    let (_, errors, code) = run(&["inspect", &path, "--dtype", "u16", "--shape", "4x2"]);
    assert_eq!(code, Some(1));
    assert!(errors.contains("frame.yuv: the raw file has 8 bytes: 16 bytes"), "{errors}");
    let (_, errors, code) = run(&["inspect", &path, "--dtype", "u16"]);
    assert!(code == Some(2) && errors.contains("--shape"), "{errors}");
    let (_, errors, code) = run(&["inspect", &path, "--as", "tar"]);
    assert!(code == Some(2) && errors.contains("safetensors, gguf"), "{errors}");
}

#[test]
fn refusals_name_the_file() {
    let (_folder, path) = common::with_file("model.safetensors", "{\"a\":1}");
    for (file, said) in [
        (path.as_str(), "model.safetensors: it begins with"),
        ("/dev/zero", "/dev/zero: it is a device"),
        ("/nowhere", "/nowhere: it cannot be opened: No such file or directory\n"),
    ] {
        for command in ["inspect", "load"] {
            let (out, errors, code) = run(&[command, file]);
            assert_eq!((out.as_str(), code), ("", Some(1)));
            assert!(errors.contains(said), "{errors}");
        }
    }
}

#[test]
fn load_says_how_fast_it_was() {
    let (_folder, path) = model();
    let report = json(&["load", &path, "bias", "--memory", "shm", "--json"]);
    assert_eq!((&report["tensors"], &report["bytes"]), (&1.into(), &1.into()));
    assert_eq!(report["memory"], "shm");
    let (out, errors, code) = run(&["load", &path]);
    assert_eq!((errors.as_str(), code), ("", Some(0)), "no bar where no terminal is");
    assert!(out.contains("2 tensors, 17 B") && out.contains("GB/s"), "{out}");
    let (_, errors, code) = run(&["load", &path, "--memory", "device"]);
    assert_eq!(code, Some(1));
    assert!(errors.contains("memory device is not available"), "{errors}");
}

#[test]
fn load_compares_ways() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("array.npy");
    let large = Tensor::<u8>::new(&[9 << 20], Some(TensorMemory::Mem), None).unwrap();
    npy::save(&path, &large).unwrap();
    let path = path.to_str().unwrap();
    let report = json(&["load", path, "--bench", "--rounds", "1", "--json"]);
    let ways = report["ways"].as_array().unwrap();
    assert_eq!(ways.len(), 10);
    for way in ways {
        let measured = way["gb_per_s"].as_f64().is_some_and(|rate| rate > 0.0);
        assert_eq!(measured, way["left_out"].is_null(), "{way}");
        let cached = way["cold"] == false;
        assert!(measured || !cached, "{way}");
    }
    assert!(Path::new(path).exists() && fs::metadata(path).unwrap().len() > 9 << 20);
    let (out, _, _) = run(&["load", path, "--bench", "--rounds", "1"]);
    for words in ["In the system's cache", "memcpy", "load() into pooled memory"] {
        assert!(out.contains(words), "{out}");
    }
}
