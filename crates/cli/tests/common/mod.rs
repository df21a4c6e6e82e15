//! Runs the command that was built, with an environment that tests control.
#![allow(dead_code, reason = "each file of tests uses a part of it")]

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

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

/// Runs it on a terminal, which the command `script` makes, and presses Ctrl-C when a word is there; what was seen, and the exit code.
pub(crate) fn on_a_terminal(arguments: &str, press_at: &str) -> (String, Option<i32>) {
    on_a_terminal_in("", arguments, press_at)
}

/// The same, with its streams in a directory.
pub(crate) fn on_a_terminal_in(
    streams: &str,
    arguments: &str,
    press_at: &str,
) -> (String, Option<i32>) {
    // Without `exec` a plain shell would stay in between, and answer Ctrl-C with its own death.
    let command = format!("exec {} {arguments}", env!("CARGO_BIN_EXE_tenure"));
    let mut child = Command::new("script")
        .args(["--quiet", "--return", "--flush", "--command", &command, "/dev/null"])
        .env("TERM", "xterm")
        .env("SHELL", "/bin/sh")
        .env("TENURE_STREAM_DIR", streams)
        .env_remove("TENURE_PLANNER")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command script makes a terminal; Debian has it in bsdutils");
    let (mut keys, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (mut seen, mut part, mut pressed) = (vec![], [0; 4096], false);
    loop {
        let bytes = screen.read(&mut part).unwrap();
        if bytes == 0 {
            break;
        }
        seen.extend_from_slice(&part[..bytes]);
        if !pressed && String::from_utf8_lossy(&seen).contains(press_at) {
            keys.write_all(b"\x03").unwrap();
            pressed = true;
        }
    }
    let code = child.wait().unwrap().code();
    (String::from_utf8_lossy(&seen).into_owned(), code)
}
