//! A peer that declares hundreds of streams that never send and takes them back, and names that no
//! stream can have. No thread and no import stays, what cannot be a name is neither shown nor a
//! path, and a stream that makes sense still comes through.
#![forbid(unsafe_code)]

use std::fs;

use tenure::{DType, DynTensor, TensorDyn};
use tenure_attacks::peer::{Machine, declare, frames, until};
use tenure_bridge::packet::{Head, Packet};
use zenoh::Wait;

/// Streams at a time: more than are imported at once.
const MANY: usize = 300;

const NO_NAMES: [&str; 6] = [
    "..\u{7}bad name",
    "../up",
    "a/../../etc/passwd",
    ".hidden",
    "\u{1b}[2J",
    "a/b/c/d/e/f/g/h/i/..",
];

/// Threads of this process that publish what others send.
fn import_threads() -> usize {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux has them here").flatten();
    let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.trim() == "tenure-import").count()
}

fn main() {
    let machine = Machine::new();
    let bridge = machine.bridge().open().expect("a bridge");
    let peer = machine.peer();
    for round in 0..2 {
        let tokens: Vec<_> =
            (0..MANY).map(|at| declare(&peer, &format!("never/{round}/{at}"))).collect();
        until("the names", || bridge.report().remote.len() == MANY);
        drop(tokens);
        until("their end", || bridge.report().remote.is_empty());
    }
    until("the end of the threads", || import_threads() == 0);
    assert!(bridge.report().imports.is_empty(), "{:?}", bridge.report().imports.len());

    let bad = NO_NAMES.map(|name| declare(&peer, name));
    let _good = declare(&peer, "words");
    let words = frames(&peer, "words");
    let tensor = TensorDyn::new(&[16, 16], DType::U8, None, None).expect("memory");
    let head = Head { incarnation: 1, sequence: 1, ..Head::of(&tensor).expect("a head") };
    let body = vec![1; head.bytes];
    let packet = Packet::Frame(Box::new(head)).encode();
    words.put(body).attachment(packet).wait().expect("sent");
    until("a frame", || bridge.report().imports.iter().any(|it| it.received == 1));
    let report = bridge.report();
    assert_eq!((report.imports.len(), report.remote.len()), (1, 1), "{report:?}");
    // Its socket and its lock, and nothing of a name that is none.
    for entry in fs::read_dir(machine.directory()).expect("ours").flatten() {
        let name = entry.file_name();
        assert!(name.to_string_lossy().starts_with("words."), "{}", name.display());
    }
    drop(bad);
}
