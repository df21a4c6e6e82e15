//! `tenure plan` beyond one model and one arena: pools, ranges, changes, limits of a search.

mod common;

use std::fs;

use common::{model, plan_rows as rows, run, with_file};

const LIFETIMES: &str = "id,lower,upper,size\na,0,2,64\nb,1,3,32\nc,2,4,64\nd,3,5,32\n";

/// Two buffers of a kibibyte, of which one is touched more often.
const BUSY: &str = r#"{"buffers": [{"name": "busy", "bytes": 1024}, {"name": "idle", "bytes": 1024}],
    "steps": [{"name": "make", "writes": [0, 1]},
              {"name": "work", "reads": [0], "writes": [0]},
              {"name": "end", "reads": [0, 1]}]}"#;

#[test]
fn pools_say_who_goes_where() {
    let (folder, file) = with_file("s.json", BUSY);
    let (out, errors, code) = run(&["plan", &file, "--pool", "SRAM=1500", "--pool", "DRAM"]);
    assert_eq!((errors.as_str(), code), ("", Some(0)), "{out}");
    let line = |word: &str| out.lines().find(|line| line.contains(word)).unwrap_or_default();
    assert!(line("SRAM").contains("1 buffers, 66.7 %") && line("SRAM").contains(" of "), "{out}");
    assert!(line("DRAM").contains("1 buffers, 33.3 %"), "{out}");
    assert!(line("★").contains("pools"), "{out}");

    let saved = folder.path().join("p.json");
    let save = saved.to_str().unwrap();
    let all = ["plan", &file, "--json", "--pool", "SRAM=1500", "--pool", "DRAM", "--save", save];
    let rows = rows(&all);
    let pools = rows.last().unwrap();
    assert_eq!((&pools["mode"], &pools["winner"]), (&"pools".into(), &true.into()));
    assert_eq!(
        (&pools["pools"][0]["name"], &pools["pools"][0]["bytes"]),
        (&"SRAM".into(), &1024.into())
    );
    assert_eq!(pools["pools"][1]["size"], serde_json::Value::Null);
    let plan: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&saved).unwrap()).unwrap();
    assert_eq!(plan["arenas"].as_array().unwrap().len(), 2);

    let html = folder.path().join("p.html");
    run(&[
        "plan",
        &file,
        "--pool",
        "SRAM=1500",
        "--pool",
        "DRAM",
        "--html",
        html.to_str().unwrap(),
    ]);
    assert!(fs::read_to_string(&html).unwrap().contains("\"SRAM\""));
}

#[test]
fn pools_that_are_too_small_are_named() {
    let (_folder, file) = with_file("s.json", BUSY);
    let (out, errors, code) = run(&["plan", &file, "--pool", "SRAM=1500"]);
    assert!(out.contains("arena"), "the table is there all the same: {out}");
    assert!(errors.contains("1024 bytes finds no room") && errors.contains("SRAM"), "{errors}");
    assert_eq!(code, Some(1));
    let (_, errors, code) = run(&["plan", &file, "--pool", "SRAM@1"]);
    assert!(errors.contains("is on device 0, which has no pool"), "{errors}");
    assert_eq!(code, Some(1));
    let (_, errors, code) = run(&["plan", &file, "--pool", "SRAM=1K", "--pool", "SRAM=2K"]);
    assert!(errors.contains("--pool SRAM: there are two of this name"), "{errors}");
    assert_eq!(code, Some(1));
    let (_, errors, code) = run(&["plan", &file, "--pool", "SRAM=big"]);
    assert!(errors.contains("\"big\" is no number of bytes"), "{errors}");
    assert_eq!(code, Some(2));
}

#[test]
fn work_and_seed_make_results_that_repeat() {
    let (_folder, file) = with_file("x.csv", LIFETIMES);
    let once = |threads| {
        let limits = ["--work", "1000", "--seed", "7", "--threads", threads, "--time", "60"];
        let mut rows = rows(&[&["plan", &file, "--json"], &limits[..]].concat());
        rows.iter_mut().for_each(|row| row["seconds"] = 0.into());
        rows
    };
    assert_eq!(once("1"), once("2"));
    for (option, value) in
        [("--threads", "0"), ("--work", "1.5"), ("--seed", "x"), ("--time", "0"), ("--time", "nan")]
    {
        let (_, errors, code) = run(&["plan", &file, option, value]);
        assert!(errors.contains(option) && errors.contains(value), "{option} {value}: {errors}");
        assert_eq!(code, Some(2), "{option} {value}");
    }
}

#[test]
fn a_range_of_a_dimension_is_planned_for_its_end() {
    let onnx = model("small_cnn.onnx");
    let (out, errors, code) = run(&["plan", &onnx, "--dim", "batch=1..8"]);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    assert!(out.contains("batch 1 to 8: one plan for all") && out.contains("sizes grow"), "{out}");
    let ranged = rows(&["plan", &onnx, "--dim", "batch=1..8", "--json"]);
    let largest = rows(&["plan", &onnx, "--dim", "batch=8", "--json"]);
    let bytes = |rows: &[serde_json::Value]| -> Vec<u64> {
        rows.iter().map(|row| row["bytes"].as_u64().unwrap()).collect()
    };
    assert_eq!(bytes(&ranged), bytes(&largest));
    let (_, errors, code) = run(&["plan", &onnx, "--dim", "batch=8..1"]);
    assert!(errors.contains("8 is more than 1"), "{errors}");
    assert_eq!(code, Some(2));
    let (_, errors, _) = run(&["plan", &onnx, "--dim", "batch=1..2", "--dim", "height=3"]);
    assert!(errors.contains("no dimension height; the model has batch"), "{errors}");
}

#[test]
fn sizes_in_a_schedule_depend_on_a_number() {
    let text = r#"{"variable": "n", "min": 1, "max": 8,
        "bytes": [[0, {"base": 64, "per": 256}], [1, 512]],
        "schedule": {"buffers": [{"name": "a", "bytes": 0}, {"name": "b", "bytes": 0}],
                     "steps": [{"name": "make", "writes": [0]},
                               {"name": "use", "reads": [0], "writes": [1]}]}}"#;
    let (_folder, file) = with_file("d.json", text);
    let (out, errors, code) = run(&["plan", &file]);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    assert!(out.contains("n 1 to 8: one plan for all, 1 sizes grow with it"), "{out}");
    let of = |dims: &[&str]| {
        let all =
            [&["plan", &file, "--json", "--mode", "arena", "--packer", "best"], dims].concat();
        rows(&all)[0]["bytes"].as_u64().unwrap()
    };
    // Rounded up to the alignment of 256 bytes.
    assert_eq!(of(&[]), 2304 + 512);
    assert_eq!(of(&["--dim", "n=2"]), 768 + 512);
    assert_eq!(of(&["--dim", "n=2..3"]), 1024 + 512);
    let (_, errors, code) = run(&["plan", &file, "--dim", "n=9"]);
    assert!(errors.contains("n is 9, but 1 to 8 were announced"), "{errors}");
    assert_eq!(code, Some(1));
    let (_, errors, _) = run(&["plan", &file, "--dim", "m=2"]);
    assert!(errors.contains("--dim m: the sizes depend on n"), "{errors}");
    let (_, errors, _) = run(&["plan", &file, "--capacity", "1M"]);
    assert_eq!(errors, "");
    let (_folder, file) = with_file("d.json", &text.replace("\"min\": 1", "\"min\": true"));
    let (_, errors, code) = run(&["plan", &file]);
    assert!(errors.contains("line 1, column") && errors.contains("`true`"), "{errors}");
    assert_eq!(code, Some(1));
}

#[test]
fn where_lanes_meet_only_a_number_will_do() {
    let text = r#"{"variable": "n", "min": 0, "max": 8, "bytes": [[0, {"base": 0, "per": 256}]],
        "schedule": {"buffers": [{"name": "a", "bytes": 0}],
                     "steps": [{"name": "make", "writes": [0], "lane": "copy"},
                               {"name": "use", "reads": [0]}]}}"#;
    let (_folder, file) = with_file("d.json", text);
    assert_eq!(run(&["plan", &file]).2, Some(0));
    let (_, errors, code) = run(&["plan", &file, "--capacity", "1M"]);
    assert!(
        errors.contains("--capacity") && errors.contains("give the number with --dim"),
        "{errors}"
    );
    assert_eq!(code, Some(1));
    assert_eq!(run(&["plan", &file, "--capacity", "1M", "--dim", "n=8"]).2, Some(0));
}

#[test]
fn a_change_moves_few() {
    let (folder, file) = with_file("x.csv", LIFETIMES);
    let saved = folder.path().join("old.json");
    let saved = saved.to_str().unwrap();
    assert_eq!(run(&["plan", &file, "--save", saved]).2, Some(0));
    let (out, errors, code) = run(&["plan", &file, "--keep", saved]);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    assert!(out.contains("kept: 0 of 4 buffers"), "{out}");
    let rows = rows(&["plan", &file, "--json", "--resize", "d=16"]);
    let kept = rows.last().unwrap();
    assert_eq!((&kept["mode"], &kept["moved"]), (&"kept".into(), &0.into()));
    let (_, errors, code) = run(&["plan", &file, "--resize", "z=16"]);
    assert!(
        errors.contains("--resize z: there is no such buffer; there are a, b, c, d"),
        "{errors}"
    );
    assert_eq!(code, Some(1));
    let (_folder, other) = with_file("y.csv", "id,lower,upper,size\na,0,2,64\n");
    let (_, errors, code) = run(&["plan", &other, "--keep", saved]);
    assert!(errors.contains("a plan of 4 buffers, and there are 1"), "{errors}");
    assert_eq!(code, Some(1));
}

#[test]
fn several_ranges_are_planned_for_all_their_ends() {
    // Two inputs of open length, added up each by itself.
    let field = |number: u8, content: &[u8]| {
        [&[number << 3 | 2, u8::try_from(content.len()).unwrap()], content].concat()
    };
    let input = |name: &[u8], dim: &[u8]| {
        let shape = field(2, &field(1, &field(2, dim)));
        [field(1, name), field(2, &field(1, &[vec![8, 1], shape].concat()))].concat()
    };
    let node = |op: &[u8], from: &[u8], to: &[u8]| {
        field(1, &[field(1, from), field(2, to), field(4, op)].concat())
    };
    let graph = [
        node(b"Neg", b"a", b"c"),
        node(b"Abs", b"c", b"e"),
        node(b"Neg", b"b", b"d"),
        node(b"Abs", b"d", b"f"),
        field(11, &input(b"a", b"n")),
        field(11, &input(b"b", b"m")),
        field(12, &field(1, b"e")),
        field(12, &field(1, b"f")),
    ];
    let bytes = [vec![8, 8], field(8, &[16, 17]), field(7, &graph.concat())].concat();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.onnx");
    fs::write(&path, bytes).unwrap();
    let path = path.to_str().unwrap();
    let (out, errors, code) = run(&["plan", path, "--dim", "n=1..8", "--dim", "m=2..512"]);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    assert!(out.contains("n 1 to 8, m 2 to 512: one plan for all"), "{out}");
    let rows = rows(&["plan", path, "--dim", "n=1..8", "--dim", "m=2..512", "--json"]);
    assert_eq!(rows.last().unwrap()["bytes"], 2048);
}
