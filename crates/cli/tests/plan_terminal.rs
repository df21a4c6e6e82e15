//! `tenure plan` on a terminal: a line while it searches, and Ctrl-C. The command `script` makes
//! the terminal.
#![cfg(target_os = "linux")]

mod common;

use std::fmt::Write as _;
use std::process::{Command, Stdio};

use common::{answer, on_a_terminal, tenure, with_file};

/// So much that is in use at once, with sizes so odd, that no search ends by itself.
fn endless() -> (tempfile::TempDir, String) {
    let mut text = "id,lower,upper,size\n".to_owned();
    let mut state = 1u64;
    let mut next = |most: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % most
    };
    for index in 0..3000 {
        let (lower, life, size) = (next(100), 1 + next(50), 100_001 + next(99_999));
        writeln!(text, "b{index},{lower},{},{size}", lower + life).unwrap();
    }
    with_file("endless.csv", &text)
}

#[test]
fn ctrl_c_takes_the_best_so_far_and_says_so() {
    let (_folder, file) = endless();
    let best = format!("plan {file} --mode arena --packer best --time 900");
    let (seen, code) = on_a_terminal(&best, "Ctrl-C takes it");
    assert!(seen.contains("searching: ") && seen.contains("% above the bound, "), "{seen}");
    let (_, after) = seen.rsplit_once("\r\x1b[K").unwrap();
    assert!(after.contains("★") && after.contains("stopped"), "the line is gone: {seen}");
    assert!(after.contains("stopped by Ctrl-C: these are the best plans so far"), "{seen}");
    assert_eq!(code, Some(130));
    let (seen, code) = on_a_terminal(&format!("{best} --capacity 1M"), "Ctrl-C takes it");
    // That is known without the search that was stopped: less than is in use at once.
    assert!(seen.contains("does not fit into 1048576 bytes"), "{seen}");
    assert_eq!(code, Some(1));
}

#[test]
fn without_a_terminal_there_is_no_line() {
    let (_folder, file) = endless();
    let limits = ["plan", &file, "--mode", "arena", "--packer", "best", "--time", "1"];
    let (out, errors, code) = answer(tenure(&limits).output().unwrap());
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    assert!(!out.contains('\r') && !out.contains("proven"), "{out}");
}

/// Whether a process has a handler for SIGINT, which is the second bit.
fn listens(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim();
    u64::from_str_radix(caught, 16).unwrap() & 2 != 0
}

#[test]
fn an_interrupt_without_a_terminal_is_the_same() {
    let (_folder, file) = endless();
    let limits = ["plan", &file, "--mode", "arena", "--packer", "best", "--time", "900", "--json"];
    let child = tenure(&limits).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Before it listens, the signal would end it at once.
    while !listens(child.id()) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let (out, errors, code) = answer(child.wait_with_output().unwrap());
    let rows: Vec<serde_json::Value> = serde_json::from_str(&out).unwrap();
    assert_eq!((rows.len(), &rows[0]["optimal"]), (1, &false.into()));
    assert!(errors.contains("stopped by Ctrl-C"), "{errors}");
    assert_eq!(code, Some(130));
}
