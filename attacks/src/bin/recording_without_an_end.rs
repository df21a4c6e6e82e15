//! A recording whose index is a terabyte without the end of a line and takes no disk, or has a line
//! for every frame without an end, or is a FIFO that nobody writes to. All are refused in little
//! memory, at once.
#![forbid(unsafe_code)]

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, mkfifoat};
use tenure_attacks::{peak_memory, refused};
use tenure_stream::recording::{Error, FRAMES, INDEX, LONGEST_LINE, Recording};

/// What reading may take, whatever is read.
const MEMORY: u64 = 16 << 20;
/// Long enough for a busy machine, and no time to read a terabyte.
const SOON: Duration = Duration::from_secs(20);

fn sparse(path: &Path) {
    let file = File::create(path).expect("a file");
    file.set_len(1 << 40).expect("a size costs nothing");
}

fn fifo(path: &Path) {
    let _ = fs::remove_file(path);
    mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR).expect("a FIFO");
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let (index, frames) = (folder.path().join(INDEX), folder.path().join(FRAMES));
    fs::write(&frames, [0; 4]).expect("written");
    let (before, began) = (peak_memory(), Instant::now());

    // Zeros, which are no line: neither to look at all of it nor to read the first frame.
    sparse(&index);
    let mut recording = Recording::open(folder.path()).expect("two regular files");
    let long = format!("it has {} bytes", LONGEST_LINE + 1);
    refused!(recording.check(|| false), Error::Line { number: 1, reason, .. } if reason.contains(&long));
    recording.rewind().expect("a file");
    refused!(recording.next(), Error::Line { number: 1, .. });

    // Something that looks like a line and goes on.
    let start = format!("{{\"sequence\": 0, \"blob\": \"{}", "x".repeat(LONGEST_LINE));
    fs::write(&index, start).expect("written");
    File::options()
        .write(true)
        .open(&index)
        .and_then(|file| file.set_len(1 << 40))
        .expect("a size");
    let mut recording = Recording::open(folder.path()).expect("two regular files");
    refused!(recording.next(), Error::Line { number: 1, .. });

    // Opening a FIFO waits for a writer, and reading from one for its bytes.
    fifo(&index);
    refused!(Recording::open(folder.path()), Error::Read { path, .. } if path == index);
    fs::remove_file(&index).expect("ours");
    fs::write(&index, "{}\n").expect("written");
    fifo(&frames);
    refused!(Recording::open(folder.path()), Error::Read { path, .. } if path == frames);
    // Nor a device that never ends.
    fs::remove_file(&index).expect("ours");
    std::os::unix::fs::symlink("/dev/zero", &index).expect("a link");
    fs::remove_file(&frames).expect("ours");
    fs::write(&frames, [0; 4]).expect("written");
    refused!(Recording::open(folder.path()), Error::Read { path, .. } if path == index);

    let grown = peak_memory() - before;
    assert!(grown < MEMORY, "{grown} bytes were taken");
    assert!(began.elapsed() < SOON, "it took {:?}", began.elapsed());
}
