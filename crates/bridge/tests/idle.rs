//! What a bridge costs while nobody wants its streams, and how soon it notices what happens to them.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tenure_bridge::{Bridge, BridgeReport, ExportState};

#[path = "common/two.rs"]
mod two;

use two::{Two, publish, until, words};

/// One at a time: threads of the whole process are counted.
static ALONE: Mutex<()> = Mutex::new(());

/// How often each thread of this process has gone to sleep, and so how often it was woken: by the
/// thread's number, with its name.
fn sleeps() -> BTreeMap<String, (String, u64)> {
    let read = |path: String| fs::read_to_string(path).unwrap_or_default();
    let threads = fs::read_dir("/proc/self/task").unwrap().flatten();
    let sleeps = threads.map(|thread| {
        let id = thread.file_name().to_string_lossy().into_owned();
        let status = read(format!("/proc/self/task/{id}/status"));
        let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        let count = count.map_or(0, |count| count.trim().parse().unwrap());
        (id.clone(), (read(format!("/proc/self/task/{id}/comm")).trim().to_owned(), count))
    });
    sleeps.collect()
}

fn idle(report: &BridgeReport) -> usize {
    report.exports.iter().filter(|export| export.state == ExportState::Idle).count()
}

#[test]
fn a_bridge_that_nobody_wants_anything_of_sleeps() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let two = Two::new();
    let bridge = two.bridge_here().export("**").open().unwrap();
    let mut publishers: Vec<_> =
        (0..4).map(|stream| words(two.here(), &format!("words/{stream}"), 100)).collect();
    for publisher in &mut publishers {
        publish(publisher);
    }
    until("all streams", || idle(&bridge.report()) == publishers.len());
    // What happened just now is still looked at.
    std::thread::sleep(Duration::from_secs(3));

    let (before, began) = (sleeps(), Instant::now());
    std::thread::sleep(Duration::from_secs(10));
    let (after, seconds) = (sleeps(), began.elapsed().as_secs_f64());
    let mut woken = BTreeMap::<&str, f64>::new();
    for (id, (name, count)) in &after {
        let before = before.get(id).map_or(0, |(_, count)| *count);
        *woken.entry(name).or_default() += (count - before) as f64 / seconds;
    }
    println!("wake-ups a second, with {} streams: {woken:.1?}", publishers.len());
    // Those of the bridge, and those of the producers that it asks.
    let ours: f64 =
        woken.iter().filter(|(name, _)| name.starts_with("tenure")).map(|it| it.1).sum();
    assert!(ours < 5.0, "{ours} a second: {woken:?}");
}

#[test]
fn streams_that_come_and_go_are_noticed() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let two = Two::new();
    let here = two.bridge_here().export("**").open().unwrap();
    let there = two.bridge_there().import("nothing").open().unwrap();
    let known = |there: &Bridge| there.report().remote.len();
    // Long after anything has happened.
    std::thread::sleep(Duration::from_secs(3));
    for _ in 0..3 {
        let began = Instant::now();
        let publisher = words(two.here(), "words", 100);
        until("it is known", || known(&there) == 1);
        drop(publisher);
        until("it is gone", || known(&there) == 0);
        println!("noticed both after {:?}", began.elapsed());
    }
    until("the report", || here.report().exports[0].state == ExportState::Ended);
}
