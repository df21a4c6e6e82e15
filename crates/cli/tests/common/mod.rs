//! Runs the command that was built, with an environment that tests control.
#![allow(dead_code, reason = "each file of tests uses a part of it")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// The command, without the variables that would change what it prints.
pub(crate) fn tenure(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.args(arguments);
    let variables = [
        "NO_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "COLUMNS",
        "TENURE_FORCE_MEM",
        "TENURE_PLANNER",
        "EDGEFIRST_TENSOR_FORCE_MEM",
    ];
    for name in variables {
        command.env_remove(name);
    }
    command
}

/// What it printed to its output and to its errors, and its exit code.
pub(crate) fn answer(output: Output) -> (String, String, Option<i32>) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code())
}

/// Runs it.
pub(crate) fn run(arguments: &[&str]) -> (String, String, Option<i32>) {
    answer(tenure(arguments).output().unwrap())
}

/// A folder with a file in it, and the path of the file.
pub(crate) fn with_file(name: &str, text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

/// The path of a model that the tests have.
pub(crate) fn model(name: &str) -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/tests/data");
    data.join(name).to_str().unwrap().to_owned()
}

/// The rows that `tenure plan --json` prints.
pub(crate) fn plan_rows(arguments: &[&str]) -> Vec<serde_json::Value> {
    let (out, errors, code) = run(arguments);
    assert_eq!(code, Some(0), "{errors}");
    serde_json::from_str(&out).unwrap()
}
