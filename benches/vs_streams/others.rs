//! Rivals that are programs of their own: they are told how many messages to send, and answer with
//! the median of the time that one took.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use tenure_benches::{Bench, Error, Unit, note};

use crate::latency::Streaming;
use crate::part::tell_processors;

const FRAME: usize = 8 << 20;
const MESSAGES: usize = 40;
/// Names the program made of `benches/vs_streams/iceoryx2`, which is no part of the workspace: it
/// brings eighty crates, some of them in two versions.
const ICEORYX2: &str = "TENURE_ICEORYX2";
/// Names a Python that has torch; `python3` if it is not set.
const TORCH: &str = "TENURE_TORCH";
const SHARED_MEMORY: &str = include_str!("shared_memory.py");
const MULTIPROCESSING: &str = include_str!("torch_multiprocessing.py");

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
        let mut python = Other::start(Command::new("python3").args(["-c", SHARED_MEMORY]))?;
        // A pipe does nothing but wake.
        row.target(1.3).ours(|| ours.measure()).rival("python", || python.measure()).measure();
    }
    let name = "one way of 8 MiB beside iceoryx2";
    if let Some(row) = bench.row(name, Unit::Nanoseconds) {
        if let Some(program) = std::env::var_os(ICEORYX2) {
            let mut ours = Streaming::new(FRAME, 1)?;
            let mut ice = Other::start(&mut Command::new(program))?;
            row.ours(|| ours.measure()).rival("iceoryx2", || ice.measure()).measure();
        } else {
            note(&format!("{name}: {ICEORYX2} names no program"));
        }
    }
    let name = "one way of 8 MiB beside torch.multiprocessing";
    let Some(row) = bench.row(name, Unit::Nanoseconds) else { return Ok(()) };
    let python = std::env::var_os(TORCH).unwrap_or_else(|| "python3".into());
    let has_torch = Command::new(&python).args(["-c", "import torch"]).output();
    if !has_torch.is_ok_and(|output| output.status.success()) {
        note(&format!("{name}: {} has no torch; {TORCH} may name one", python.display()));
        return Ok(());
    }
    let mut ours = Streaming::new(FRAME, 1)?;
    let mut torch = Other::start(Command::new(python).args(["-c", MULTIPROCESSING]))?;
    row.ours(|| ours.measure()).rival("torch", || torch.measure()).measure();
    Ok(())
}
