//! Rivals that are programs of their own: they are told how many messages to send, and answer with
//! the median of the time that one took.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use tenure_benches::{Bench, Error, Unit};

use crate::latency::Streaming;
use crate::part::tell_processors;

const FRAME: usize = 8 << 20;
const MESSAGES: usize = 40;
/// Names the program made of `benches/vs_streams/iceoryx2`, which is no part of the workspace: it
/// brings eighty crates, some of them in two versions.
const ICEORYX2: &str = "TENURE_ICEORYX2";
const PYTHON: &str = include_str!("shared_memory.py");

struct Other {
    child: Child,
    told: ChildStdin,
    says: BufReader<ChildStdout>,
}

impl Other {
    fn start(command: &mut Command) -> Result<Other, Error> {
        let command = tell_processors(command);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let told = child.stdin.take().ok_or("no standard input")?;
        let says = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        Ok(Other { child, told, says })
    }

    fn measure(&mut self) -> f64 {
        let mut line = String::new();
        let asked = writeln!(self.told, "{MESSAGES}").and_then(|()| self.told.flush());
        match asked.and_then(|()| self.says.read_line(&mut line)) {
            Ok(_) => line.trim().parse().unwrap_or(f64::NAN),
            Err(_) => f64::NAN,
        }
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = writeln!(self.told, "0");
        let _ = self.child.wait();
    }
}

pub(crate) fn rows(bench: &mut Bench) -> Result<(), Error> {
    let name = "one way of 8 MiB beside Python's shared_memory and a pipe";
    if let Some(row) = bench.row(name, Unit::Nanoseconds) {
        let mut ours = Streaming::new(FRAME, 1)?;
        let mut python = Other::start(Command::new("python3").args(["-c", PYTHON]))?;
        // A pipe does nothing but wake.
        row.target(1.3).ours(|| ours.measure()).rival("python", || python.measure()).measure();
    }
    let Some(program) = std::env::var_os(ICEORYX2) else { return Ok(()) };
    if let Some(row) = bench.row("one way of 8 MiB beside iceoryx2", Unit::Nanoseconds) {
        let mut ours = Streaming::new(FRAME, 1)?;
        let mut ice = Other::start(&mut Command::new(program))?;
        row.ours(|| ours.measure()).rival("iceoryx2", || ice.measure()).measure();
    }
    Ok(())
}
