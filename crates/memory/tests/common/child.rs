//! Tests in a process of their own: the test starts its own program again, for itself alone.
//!
//! For what a whole process has (limits, signal handlers, the environment, statistics, a table of
//! descriptors) and for what kills it.
#![allow(dead_code, reason = "every test program uses what it needs")]

use std::env;
use std::process::{Command, Output};

/// Set in the child, to the part it plays.
const PART: &str = "TENURE_TEST_PART";

/// The part this process plays, if it is such a child.
pub(crate) fn part() -> Option<String> {
    env::var(PART).ok()
}

/// Runs the test `name` (with its modules) of this program in a child that plays `part`.
pub(crate) fn command(name: &str, part: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", name, "--nocapture", "--test-threads=1", "--include-ignored"])
        .env(PART, part);
    // What the user has set must not decide what is tested.
    command.env_remove("TENURE_FORCE_MEM").env_remove("EDGEFIRST_TENSOR_FORCE_MEM");
    command
}

/// Runs `body` in a child that runs the test `name` and nothing else; fails if it fails there.
pub(crate) fn alone(name: &str, body: impl FnOnce()) {
    if part().is_some() {
        return body();
    }
    succeeded(&command(name, "alone").output().unwrap());
}

/// Checks that a child ran its test and passed it.
pub(crate) fn succeeded(output: &Output) {
    let (out, err) = words(output);
    assert!(output.status.success(), "the child ended with {}\n{out}\n{err}", output.status);
    // A wrong name runs no test at all, which is a success to the test runner.
    assert!(out.contains("1 passed"), "the child ran no test\n{out}\n{err}");
}

/// What a child wrote.
pub(crate) fn words(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}
