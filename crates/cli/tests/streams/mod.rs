//! Commands that go on while others look at what they publish, each test in a directory of its own.
#![allow(dead_code, reason = "each file of tests uses a part of it")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{answer, tenure};

/// A place for streams and files.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    /// The path of a file here.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The same as a word.
    pub(crate) fn word(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// The command, with its streams here.
    pub(crate) fn tenure(&self, arguments: &[&str]) -> Command {
        let mut command = tenure(arguments);
        command.env("TENURE_STREAM_DIR", self.folder.path().join("s"));
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> (String, String, Option<i32>) {
        answer(self.tenure(arguments).output().unwrap())
    }

    /// What a command prints with `--json`.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let (out, errors, code) = self.run(&[arguments, &["--json"]].concat());
        assert_eq!((errors.as_str(), code), ("", Some(0)), "{arguments:?}");
        serde_json::from_str(&out).unwrap()
    }

    /// Starts a command that goes on.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.tenure(arguments);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Running { child: Some(child) }
    }
}

/// A command that goes on; killed if the test fails.
pub(crate) struct Running {
    child: Option<Child>,
}

impl Running {
    /// The next line of its output.
    pub(crate) fn line(&mut self) -> String {
        let output = self.child.as_mut().unwrap().stdout.as_mut().unwrap();
        let mut line = String::new();
        // One byte at a time: what follows is for whoever asks next.
        BufReader::with_capacity(1, output).read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    pub(crate) fn signal(&self, name: &str) {
        Command::new("kill").args([name, &self.id().to_string()]).status().unwrap();
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> (String, String, Option<i32>) {
        answer(self.child.take().unwrap().wait_with_output().unwrap())
    }

    /// Tells it to end, and waits.
    pub(crate) fn stop(self) -> (String, String, Option<i32>) {
        self.signal("-TERM");
        self.end()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            // It may be what the test failed for.
            if let Ok(output) = child.wait_with_output() {
                eprintln!("the command that was going on: {:?}", answer(output));
            }
        }
    }
}

/// The number in the stripes of a frame of the test camera, NV12 of this width; every row of them
/// has to say the same, and the digits' rows have to be there.
pub(crate) fn number(frame: &[u8], width: usize) -> u64 {
    let read = |row: &[u8]| {
        (0..32).fold(0u64, |number, bit| {
            let sample = row[(2 * bit + 1) * width / 64];
            assert!(sample == 16 || sample == 235, "{sample}");
            number | u64::from(sample == 235) << bit
        })
    };
    let numbers: Vec<u64> = frame.chunks(width).take(16).map(read).collect();
    assert!(numbers.iter().all(|number| *number == numbers[0]), "torn: {numbers:?}");
    numbers[0]
}

pub(crate) fn read(path: impl AsRef<Path>) -> Vec<u8> {
    std::fs::read(path).unwrap()
}
