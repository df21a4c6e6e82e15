//! Runs the command that was built, with an environment that tests control.
#![allow(dead_code, reason = "each file of tests uses a part of it")]

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
