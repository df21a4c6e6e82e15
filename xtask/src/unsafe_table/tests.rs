//! Rules and table together.

use super::*;

const GOOD: &str = "\
#![expect(unsafe_code, reason = \"maps | unmaps\")]

// SAFETY: it owns its bytes.
unsafe impl Send for A {}

fn f() {
    // SAFETY: checked above.
    let x = unsafe { g() };
}
";

#[test]
fn a_good_file_is_a_row() {
    let row = judge("a.rs", GOOD).unwrap().unwrap();
    assert_eq!((row.reason.as_str(), row.blocks, row.impls), ("maps | unmaps", 1, 1));
    assert_eq!(
        table(&[row]),
        "| file | why | blocks | impls |\n|---|---|---:|---:|\n\
         | `a.rs` | maps \\| unmaps | 1 | 1 |\n| 1 files | | 1 | 1 |\n"
    );
}

#[test]
fn a_safe_file_is_no_row() {
    assert!(judge("a.rs", "//! No unsafe here.\nfn f() {}").unwrap().is_none());
}

#[test]
fn a_file_that_gives_no_reason_is_refused() {
    let text = GOOD.lines().skip(1).collect::<Vec<_>>().join("\n");
    let problems = judge("a.rs", &text).err().unwrap();
    assert_eq!(problems.len(), 1);
    assert!(problems[0].starts_with("a.rs:3: unsafe code, but"), "{}", problems[0]);
}

#[test]
fn what_has_no_comment_is_refused() {
    let problems = judge("a.rs", &GOOD.replace("SAFETY:", "Fine:")).err().unwrap();
    assert_eq!(problems.len(), 2);
    assert!(problems[0].starts_with("a.rs:4: unsafe impl without"), "{}", problems[0]);
    assert!(problems[1].starts_with("a.rs:8: unsafe block without"), "{}", problems[1]);
}
