//! `tenure bench`: measures what works, and says why the rest is not measured.

mod common;

use common::{answer, run, tenure};
use serde_json::Value;

#[test]
#[cfg(target_os = "linux")]
fn copies_between_spaces_are_measured_or_refused() {
    let size = ["--size", "64x64x4", "--rounds", "1", "--quick", "--json"];
    let (out, errors, code) = run(&[&["bench", "copy"][..], &size].concat());
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["bytes"], 64 * 64 * 4);
    let copies = report["copies"].as_array().unwrap();
    assert_eq!((&copies[0]["from"], &copies[0]["to"]), (&"mem".into(), &"mem".into()));
    assert!(copies.iter().all(|copy| copy["median_ns"].as_f64().unwrap() > 0.0));
    let (out, _, code) = run(&["bench", "copy", "cuda:77", "--quick", "--rounds", "1"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("cuda:77"), "{out}");
}

#[test]
#[cfg(target_os = "linux")]
#[ignore = "needs a device"]
fn one_device_to_another_is_measured_and_none_spoils_the_others() {
    let device = std::env::var("TENURE_TEST_DEVICE").unwrap_or_else(|_| "vulkan:0".to_owned());
    let size = ["--size", "64x64x4", "--rounds", "1", "--quick", "--json"];
    let all = [&["bench", "copy", &device, "cuda:77", &device][..], &size].concat();
    let (out, errors, code) = run(&all);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    let report: Value = serde_json::from_str(&out).unwrap();
    let copies = report["copies"].as_array().unwrap();
    let between = format!("{device} to {device}");
    let both = copies.iter().filter(|copy| copy["device"] == between.as_str());
    assert!(both.clone().count() == 2 && both.clone().all(|copy| copy["to"] == "device"));
    assert!(copies.iter().any(|copy| copy["to"] == "pinned"));
}

#[test]
fn a_quick_run_has_all_results() {
    let arguments = ["bench", "--quick", "--json", "--size", "64x48x3", "--rounds", "2"];
    let (out, errors, code) = run(&arguments);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["frame"]["bytes"], 64 * 48 * 3);
    assert_eq!(report["rounds"], 2);
    let above_zero = |number: &Value| number.as_f64().unwrap() > 0.0;
    for limit in report["limits"].as_array().unwrap() {
        assert!(above_zero(&limit["gb_per_s"]), "{limit}");
    }
    let memories = report["memories"].as_array().unwrap();
    assert_eq!(memories.len(), 8);
    for memory in memories {
        assert_eq!(memory["measured"].as_bool().unwrap(), memory["reason"].is_null(), "{memory}");
    }

    let results = report["results"].as_array().unwrap();
    let heap: Vec<_> = results.iter().filter(|result| result["memory"] == "mem").collect();
    let measures = [
        "allocate",
        "map",
        "first_touch",
        "refill",
        "new_frame",
        "pooled_frame",
        "share",
        "copy",
        "transpose",
    ];
    assert_eq!(heap.iter().map(|result| &result["measure"]).collect::<Vec<_>>(), measures);
    for result in results {
        if result["reason"].is_null() {
            assert!(above_zero(&result["median_ns"]), "{result}");
        } else {
            assert_eq!(result["measure"], "share", "{result}");
        }
    }
    let filled = heap.iter().find(|result| result["measure"] == "refill").unwrap();
    assert!(above_zero(&filled["gb_per_s"]) && above_zero(&filled["of_limit"]), "{filled}");
    assert_eq!(report["arenas"][0]["name"], "tlsf");
}

#[test]
fn bars_fit_the_width() {
    let mut command = tenure(&["bench", "MEM", "pinned", "--quick", "--size", "8x8x1"]);
    let (out, errors, code) = answer(command.env("COLUMNS", "100").output().unwrap());
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    assert!(out.contains('█') && out.contains("memset") && out.contains("Not measured"), "{out}");
    assert!(out.contains("  ✗ pinned   pinned memory"), "{out}");
    assert!(!out.contains("shm  "), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
    assert!(out.lines().any(|line| line.chars().count() == 100), "{out}");
}

#[test]
fn an_unknown_memory_is_a_usage_error_that_lists_the_words() {
    let (out, errors, code) = run(&["bench", "mem", "dmabuf"]);
    assert_eq!((out.as_str(), code), ("", Some(2)));
    assert!(errors.starts_with("error: "), "{errors}");
    for word in ["dmabuf", "mem, dma, shm, pbo, file, pinned, device, managed"] {
        assert!(errors.contains(word), "{word}: {errors}");
    }
}

#[test]
fn nothing_to_measure_is_a_failure_with_the_reason() {
    let (out, errors, code) = run(&["bench", "file"]);
    assert_eq!((out.as_str(), code), ("", Some(1)));
    assert!(errors.starts_with("error: none of the memories asked for"), "{errors}");
    assert!(errors.contains("files are opened, not allocated"), "{errors}");
}

#[cfg(target_os = "linux")]
#[test]
fn frames_larger_than_the_machine_are_refused() {
    let (out, errors, code) = run(&["bench", "mem", "--size", "1000000x1000000x4"]);
    assert_eq!((out.as_str(), code), ("", Some(1)));
    assert!(errors.contains("use a smaller --size"), "{errors}");
}

#[test]
fn image_engines_are_measured_beside_their_limit() {
    let arguments = ["bench", "image", "cpu", "reference", "--quick", "--rounds", "1", "--json"];
    let only = ["--only", "RGBA-1080p", "--threads", "1"];
    let (out, errors, code) = run(&[&arguments[..], &only].concat());
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    let report: Value = serde_json::from_str(&out).unwrap();
    let conversion = &report["conversions"][0];
    assert_eq!(conversion["name"], "rgba-1080p-to-640-rgb");
    assert!(conversion["limit"]["median_ns"].as_f64().unwrap() > 0.0);
    let results = conversion["results"].as_array().unwrap();
    let engines: Vec<_> = results.iter().map(|result| &result["engine"]).collect();
    assert_eq!(engines, ["cpu", "reference"]);
    for result in results {
        assert!(result["of_limit"].as_f64().unwrap() > 0.0, "{result}");
    }
    let (_, errors, code) = run(&["bench", "image", "--only", "8k"]);
    assert_eq!(code, Some(1));
    assert!(errors.contains("`8k`") && errors.contains("nv12-4k-to-640-rgb"), "{errors}");
    let (_, errors, code) = run(&["bench", "image", "gpu"]);
    assert_eq!(code, Some(2));
    assert!(
        errors.contains("gpu") && errors.contains("cpu") && errors.contains("reference"),
        "{errors}"
    );
}
