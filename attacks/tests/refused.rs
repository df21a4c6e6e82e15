//! Runs every attack: each must end by itself, in time, and say that it was refused.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long one attack may take.
const LIMIT: Duration = Duration::from_secs(60);
/// How many there are at least: a list that shrinks is noticed.
const AT_LEAST: usize = 20;

/// The names of the files with this extension in a folder of this package.
fn names(folder: &str, extension: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut names: Vec<String> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("a folder that can be read").path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    names
}

/// Cargo puts the programs of a package one folder above its tests.
fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let folder = test.parent().and_then(Path::parent).expect("a folder above");
    folder.join(name)
}

/// How an attack ended; `None` if it was still running after [`LIMIT`].
fn run(name: &str, complaints: &File) -> Option<ExitStatus> {
    let mut child = Command::new(program(name))
        .env_remove("TENURE_FORCE_MEM")
        .env_remove("EDGEFIRST_TENSOR_FORCE_MEM")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(complaints.try_clone().expect("a second descriptor"))
        .spawn()
        .unwrap_or_else(|error| panic!("{name}: cannot be started: {error}"));
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child to wait for") {
            return Some(status);
        }
        if start.elapsed() > LIMIT {
            child.kill().and_then(|()| child.wait()).expect("a child that can be ended");
            return None;
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// What is wrong with the way an attack ended, if anything is.
fn verdict(name: &str) -> Option<String> {
    let complaints = tempfile::NamedTempFile::new().expect("a file for what it says");
    let wrong = match run(name, complaints.as_file()) {
        None => format!("was still running after {LIMIT:?}"),
        Some(status) => match (status.code(), status.signal()) {
            (Some(0), _) => return None,
            (_, Some(signal)) => format!("was killed by signal {signal}"),
            (code, None) => format!("ended with {code:?}"),
        },
    };
    let mut said = String::new();
    complaints.reopen().and_then(|mut file| file.read_to_string(&mut said)).expect("its words");
    Some(format!("{name} {wrong}\n{said}"))
}

/// Whether an attack is built without the feature `bridge`.
fn is_here(name: &str) -> bool {
    cfg!(feature = "bridge") || !name.starts_with("bridge_")
}

#[test]
fn every_attack_is_refused() {
    let attacks: Vec<String> =
        names("src/bin", "rs").into_iter().filter(|name| is_here(name)).collect();
    assert!(attacks.len() >= AT_LEAST, "only {} attacks are left", attacks.len());
    let broken: Vec<String> = attacks.iter().filter_map(|name| verdict(name)).collect();
    assert!(broken.is_empty(), "{} attacks were not refused:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn what_must_not_compile_does_not() {
    trybuild::TestCases::new().compile_fail("does_not_compile/*.rs");
}

#[test]
fn every_attack_is_described() {
    let page = include_str!("../README.md");
    let all = names("src/bin", "rs").into_iter().chain(names("does_not_compile", "rs"));
    let missing: Vec<String> = all.filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "README.md does not mention {missing:?}");
}
