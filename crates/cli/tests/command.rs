//! The command as a whole: help, version, exit codes, where errors go, closed pipes.

mod common;

use common::{answer, run, tenure};

#[test]
fn version_and_help_are_answers() {
    let (out, errors, code) = run(&["--version"]);
    let expected = format!("tenure {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!((out, errors.as_str(), code), (expected, "", Some(0)));
    for arguments in [&["help"][..], &["--help"], &["help", "bench"], &["info", "--help"]] {
        let (out, errors, code) = run(arguments);
        assert!(out.contains("Usage: tenure") && out.contains("Examples:"), "{out}");
        assert_eq!((errors.as_str(), code), ("", Some(0)), "{arguments:?}");
    }
}

#[test]
fn a_wrong_command_line_is_a_usage_error() {
    for arguments in [
        &[][..],
        &["inof"],
        &["info", "--jsn"],
        &["bench", "--size", "1920"],
        &["bench", "--rounds=0"],
    ] {
        let (out, errors, code) = run(arguments);
        assert_eq!((out.as_str(), code), ("", Some(2)), "{arguments:?}");
        assert!(!errors.is_empty(), "{arguments:?}");
    }
    let (_, errors, _) = run(&["inof"]);
    assert!(errors.starts_with("error: "), "{errors}");
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    for arguments in [&["info"][..], &["info", "--json"], &["help"], &["--version"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = tenure(arguments).stdout(writer).output().unwrap();
        let (_, errors, code) = answer(output);
        assert_eq!((errors.as_str(), code), ("", Some(0)), "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_with_its_cause() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let (_, errors, code) = answer(tenure(&["info"]).stdout(full).output().unwrap());
    assert_eq!(code, Some(1));
    assert!(errors.starts_with("error: the output cannot be written\n  cause: "), "{errors}");
}
