//! `tenure plan` as users run it: tables, files, limits and mistakes.

mod common;

use std::fs;

use common::{answer, model, plan_rows as rows, run, tenure, with_file};

const LIFETIMES: &str = "id,lower,upper,size\na,0,2,64\nb,1,3,32\nc,2,4,64\nd,3,5,32\n";

#[test]
fn every_mode_and_packer_is_a_row() {
    let (_folder, file) = with_file("x.csv", LIFETIMES);
    let (out, errors, code) = run(&["plan", &file]);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    assert!(out.starts_with("x.csv") && out.contains("4 of 4 buffers planned"), "{out}");
    for word in ["disabled", "remap", "tlsf", "best-fit", "greedy-size", "best"] {
        assert!(out.contains(word), "{out}");
    }
    let winner = out.lines().find(|line| line.contains('★')).unwrap();
    assert!(winner.contains("96") && winner.ends_with("proven"), "{winner}");
}

#[test]
fn json_has_stable_names() {
    let (_folder, file) = with_file("x.csv", LIFETIMES);
    let rows = rows(&["plan", &file, "--json"]);
    assert_eq!(rows.len(), 6);
    for row in &rows {
        for name in ["mode", "packer", "bytes", "lower_bound", "optimal", "seconds", "buffers"] {
            assert!(row.get(name).is_some(), "{name} in {row}");
        }
        // Disabled places nothing.
        let placed = if row["mode"] == "disabled" { 0 } else { 4 };
        assert_eq!((&row["lower_bound"], &row["buffers"]), (&96.into(), &placed.into()));
        assert_eq!(row["allocations"] == 0, placed == 0, "{row}");
    }
    let bytes: Vec<_> = rows.iter().map(|row| row["bytes"].as_u64().unwrap()).collect();
    assert_eq!(bytes, [192, 96, 96, 96, 96, 96]);
    assert_eq!(rows.iter().filter(|row| row["winner"] == true).count(), 1);
}

#[test]
fn modes_and_packers_are_chosen() {
    let (_folder, file) = with_file("x.csv", LIFETIMES);
    let some = rows(&["plan", &file, "--json", "--mode", "remap,arena", "--packer", "best"]);
    let names: Vec<_> = some.iter().map(|row| (&row["mode"], &row["packer"])).collect();
    assert_eq!(names, [(&"remap".into(), &().into()), (&"arena".into(), &"best".into())]);
    let words = rows(&["plan", &file, "--json", "--mode", "off,pool,tlsf", "--packer", "best"]);
    let names: Vec<_> = words.iter().map(|row| row["mode"].as_str().unwrap()).collect();
    assert_eq!(names, ["disabled", "remap", "arena"]);
    let by_variable = tenure(&["plan", &file, "--json"]).env("TENURE_PLANNER", "remap").output();
    let (out, ..) = answer(by_variable.unwrap());
    let rows: Vec<serde_json::Value> = serde_json::from_str(&out).unwrap();
    assert_eq!(rows.len(), 1);
    let wrong = tenure(&["plan", &file]).env("TENURE_PLANNER", "on").output();
    let (_, errors, code) = answer(wrong.unwrap());
    assert!(errors.contains("\"on\"; there are disabled, remap and arena"), "{errors}");
    assert_eq!(code, Some(1));
}

#[test]
fn files_are_written_whole() {
    let (folder, file) = with_file("x.csv", LIFETIMES);
    let out = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let files = [out("p.json"), out("p.csv"), out("p.html"), out("p.svg")];
    let [json, csv, html, svg] = &files;
    let arguments = ["plan", &file, "--save", json, "--csv", csv, "--html", html, "--svg", svg];
    assert_eq!(run(&arguments).2, Some(0));
    let [json, csv, html, svg] = files.each_ref().map(|path| fs::read_to_string(path).unwrap());
    assert!(json.contains("\"arena\""), "{json}");
    assert!(csv.starts_with("id,lower,upper,size,offset\na,0,2,64,"), "{csv}");
    assert!(html.starts_with("<!doctype html>") && html.contains("\"arena best\""));
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5, "nothing else is left");
    let (_, errors, code) = run(&["plan", &file, "--svg", "/no/such/folder/x.svg"]);
    assert!(errors.contains("cannot write /no/such/folder/x.svg: No such file"), "{errors}");
    assert_eq!(code, Some(1));
}

#[test]
fn what_does_not_fit_names_who_is_in_the_way() {
    let (_folder, file) = with_file("x.csv", LIFETIMES);
    let (out, _, code) = run(&["plan", &file, "--capacity", "96"]);
    assert!(out.contains("fits into 96 bytes"), "{out}");
    assert_eq!(code, Some(0));
    let (_, errors, code) = run(&["plan", &file, "--capacity", "95"]);
    assert!(errors.contains("does not fit into 95 bytes") && errors.contains("\"a\""), "{errors}");
    assert_eq!(code, Some(1));
    assert!(!errors.contains("too much already"), "all of them were named: {errors}");
    let (_, errors, _) = run(&["plan", &file, "--capacity", "60"]);
    let named = errors.contains("by \"a\" (64 B), \"b\" (32 B)");
    assert!(named && errors.contains("; \"a\" (64 B) is too much already"), "{errors}");
    let (_folder, three) = with_file("y.csv", "id,lower,upper,size\na,0,2,9\nb,0,2,8\nc,0,2,7\n");
    let (_, errors, _) = run(&["plan", &three, "--capacity", "16"]);
    assert!(errors.contains("; \"a\" (9 B), \"b\" (8 B) are too much already"), "{errors}");
    let (_, errors, code) = run(&["plan", &file, "--capacity", "1.5M"]);
    assert!(errors.contains("512K"), "{errors}");
    assert_eq!(code, Some(2));
}

#[test]
fn schedules_are_explained_and_reordered() {
    let text = r#"{"buffers": [
        {"name": "x", "bytes": 64, "input": true},
        {"name": "a", "bytes": 4096}, {"name": "b", "bytes": 4096},
        {"name": "p", "bytes": 256}, {"name": "q", "bytes": 256},
        {"name": "y", "bytes": 64, "output": true}],
      "steps": [
        {"name": "make a", "reads": [0], "writes": [1]},
        {"name": "make b", "reads": [0], "writes": [2]},
        {"name": "reduce a", "reads": [1], "writes": [3]},
        {"name": "reduce b", "reads": [2], "writes": [4]},
        {"name": "add", "reads": [3, 4], "writes": [5]}]}"#;
    let (_folder, file) = with_file("s.json", text);
    let (out, errors, code) = run(&["plan", &file, "--explain", "--reorder"]);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    assert!(out.contains("reordered: the peak is") && out.contains("the lowest of all"), "{out}");
    assert!(out.contains("is an input"), "{out}");
}

#[test]
fn models_are_planned() {
    let onnx = rows(&["plan", &model("small_cnn.onnx"), "--dim", "batch=1", "--json"]);
    assert!(onnx.iter().any(|row| row["optimal"] == true && row["bytes"].as_u64() > Some(0)));
    let twice = rows(&["plan", &model("small_cnn.onnx"), "--dim", "batch=2", "--json"]);
    assert!(twice[0]["bytes"].as_u64() > onnx[0]["bytes"].as_u64());
    let folder = tempfile::tempdir().unwrap();
    let planned = folder.path().join("planned.tflite");
    let to = planned.to_str().unwrap();
    let (_, errors, code) = run(&["plan", &model("chain.tflite"), "--write-offline-plan", to]);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    let bytes = fs::read(&planned).unwrap();
    let name = b"OfflineMemoryAllocation";
    assert!(bytes.windows(name.len()).any(|window| window == name));
    assert_eq!(run(&["plan", to]).2, Some(0), "it is a model still");
}

#[test]
fn mistakes_name_the_place() {
    let cases = [
        ("x.csv", "id,lower,upper,size\na,3,2,64\n", "line 2"),
        ("x.csv", "id,lower,upper,size\na,0,NaN,64\n", "line 2"),
        ("x.csv", "", "x.csv"),
        ("x.json", "{\"buffers\": [", "line 1"),
        ("x.onnx", "\u{1}not a model", "x.onnx"),
        ("x.tflite", "", "x.tflite"),
        ("x.txt", "", "name it .onnx, .tflite, .csv"),
    ];
    for (name, text, place) in cases {
        let (_folder, file) = with_file(name, text);
        let (out, errors, code) = run(&["plan", &file]);
        assert!(errors.contains(place), "{name}: {errors}");
        assert_eq!((out.as_str(), code), ("", Some(1)), "{name}");
    }
    let (_, errors, code) = run(&["plan", "/no/such/model.onnx"]);
    assert!(errors.contains("/no/such/model.onnx") && errors.contains("No such file"), "{errors}");
    assert_eq!(code, Some(1));
    let (_, errors, _) = run(&["plan", &model("small_cnn.onnx")]);
    assert!(errors.contains("batch") && errors.contains("--dim"), "{errors}");
}

/// Of many buffers there is one schedule at a time: the planner's memory comes on top of that alone.
#[test]
#[cfg(target_os = "linux")]
fn many_buffers_take_little_memory() {
    const BUFFERS: u64 = 200_000;
    let rows = (0..BUFFERS).map(|n| format!("{n},{n},{},{}\n", n + 1 + n % 50, 64 * (1 + n % 97)));
    let text = "id,lower,upper,size\n".to_owned() + &rows.collect::<String>();
    let (_folder, file) = with_file("many.csv", &text);
    let arguments = ["plan", &file, "--mode", "arena", "--packer", "tlsf", "--json"];
    let mut child = tenure(&arguments).stdout(std::process::Stdio::null()).spawn().unwrap();
    // The system forgets it with the process: the last that is seen is close to it.
    let (path, mut peak) = (format!("/proc/{}/status", child.id()), 0);
    while child.try_wait().unwrap().is_none() {
        let status = fs::read_to_string(&path).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let number = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak = peak.max(number.unwrap_or(0) << 10);
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert!(child.wait().unwrap().success());
    let each = (peak - (32 << 20)) / BUFFERS;
    assert!((100..550).contains(&each), "{each} bytes a buffer");
}
