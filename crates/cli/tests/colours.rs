//! Colours: only where the output can show them, or where the user says so.

mod common;

use common::{answer, tenure};

/// How many escape codes there are in what `tenure info` prints.
fn escapes(variables: &[(&str, &str)]) -> usize {
    let output = tenure(&["info"]).envs(variables.iter().copied()).output().unwrap();
    let (out, _, code) = answer(output);
    assert_eq!(code, Some(0));
    out.matches('\x1b').count()
}

#[test]
fn a_pipe_gets_none() {
    assert_eq!(escapes(&[]), 0);
    assert_eq!(escapes(&[("NO_COLOR", "1")]), 0);
}

#[test]
fn they_can_be_forced() {
    assert!(escapes(&[("CLICOLOR_FORCE", "1")]) > 10);
    assert_eq!(escapes(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]), 0);
}

#[test]
fn json_never_has_any() {
    let output = tenure(&["info", "--json"]).env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(!answer(output).0.contains('\x1b'));
}

#[test]
fn errors_obey_too() {
    let errors = |variables: &[(&str, &str)]| {
        let mut command = tenure(&["bench", "file"]);
        answer(command.envs(variables.iter().copied()).output().unwrap()).1
    };
    assert!(errors(&[]).starts_with("error: "));
    assert!(errors(&[("CLICOLOR_FORCE", "1")]).starts_with("\x1b["));
}
