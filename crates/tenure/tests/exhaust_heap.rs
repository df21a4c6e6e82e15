//! A heap that refuses: what is asked of it in large pieces fails with an error, and what is asked
//! in small ones ends the program, as in every program in Rust, but in no other way.
//!
//! Which is which: a buffer whose size a caller, a file or a peer decides is allocated so that a
//! refusal is an error. Pieces of a few words (handles, entries of lists, texts of errors) are
//! allocated by the standard library's own types, which abort. The line between the two is drawn
//! at 64 KiB, and each scenario is run with every large allocation refused in turn, and with
//! small ones refused in turn.
#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "an allocator that refuses")]

#[path = "exhaust_heap/scenarios.rs"]
mod scenarios;

use std::alloc::{GlobalAlloc, Layout, System};
use std::env;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use scenarios::{SCENARIOS, SMALL};

/// Allocations from this size on are large.
const LARGE: usize = 64 << 10;
/// In a child: the scenario, which sizes count, and which allocation fails.
const SCENARIO: &str = "TENURE_EXHAUST_SCENARIO";
const LEAST: &str = "TENURE_EXHAUST_LEAST";
const WHICH: &str = "TENURE_EXHAUST_WHICH";
/// What a child ends with: as if nothing had failed, with an error, or because there were not so
/// many allocations.
const WELL: i32 = 40;
const REFUSED: i32 = 41;
const OVER: i32 = 42;
/// A child that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(60);

struct Refusing;

static ARMED: AtomicBool = AtomicBool::new(false);
static SMALLEST: AtomicUsize = AtomicUsize::new(0);
static LEFT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Whether this allocation is the one that fails.
fn refuses(bytes: usize) -> bool {
    ARMED.load(SeqCst) && bytes >= SMALLEST.load(SeqCst) && LEFT.fetch_sub(1, SeqCst) == 1
}

// SAFETY: everything is passed on to the system's allocator, or refused with null.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if refuses(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: as the caller promises to this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if refuses(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: as the caller promises to this function.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, address: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if refuses(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: as the caller promises to this function.
        unsafe { System.realloc(address, layout, size) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises to this function.
        unsafe { System.dealloc(address, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

/// What a child does: the scenario, from a given moment on with an allocation that fails.
#[test]
fn child() {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<usize>().ok());
    let Ok(name) = env::var(SCENARIO) else { return };
    let mut all = SCENARIOS.iter().chain(SMALL);
    let scenario = all.find(|scenario| scenario.name == name).expect("it is listed");
    let ready = (scenario.prepare)();
    SMALLEST.store(number(LEAST).expect("it was set"), SeqCst);
    LEFT.store(number(WHICH).expect("it was set"), SeqCst);
    ARMED.store(true, SeqCst);
    let outcome = ready();
    ARMED.store(false, SeqCst);
    let happened = LEFT.load(SeqCst);
    let code = match outcome {
        // It counts down through zero once the one that fails has come.
        Ok(()) if happened > 0 && happened < usize::MAX / 2 => OVER,
        Ok(()) => WELL,
        Err(error) => {
            eprintln!("{error}");
            REFUSED
        }
    };
    std::process::exit(code);
}

/// Runs a scenario in a process of its own, whose allocation number `which` fails.
fn run(name: &str, least: usize, which: usize) -> (ExitStatus, String) {
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["child", "--exact", "--nocapture"]).stdout(Stdio::null()).stderr(Stdio::piped());
    child.env(SCENARIO, name).env(LEAST, least.to_string()).env(WHICH, which.to_string());
    let mut child = child.env("RUST_BACKTRACE", "0").spawn().unwrap();
    let mut said = child.stderr.take().unwrap();
    let reader = thread::spawn(move || std::io::read_to_string(&mut said).unwrap_or_default());
    let from = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if from.elapsed() > LONGEST {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{name}: hangs where allocation {which} from {least} bytes on fails");
        }
        thread::sleep(Duration::from_millis(1));
    };
    (status, reader.join().unwrap())
}

/// Every large allocation of every scenario, one after the other: none of them may abort.
#[test]
fn large_allocations_fail_with_an_error() {
    let mut refused = 0;
    let mut faults = vec![];
    for scenario in SCENARIOS {
        for which in 1..1000 {
            let (status, said) = run(scenario.name, LARGE, which);
            match status.code() {
                Some(OVER) => break,
                Some(REFUSED) => refused += 1,
                // It may go on without.
                Some(WELL) => {}
                _ => faults.push(format!("{} {which}: {status}: {said}", scenario.name)),
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(refused >= SCENARIOS.len() / 2, "only {refused} were refused: nothing was tested");
}

/// Small allocations one after the other: an error or an abort, and nothing else.
#[test]
fn small_allocations_end_in_an_error_or_an_abort() {
    const SIGABRT: i32 = 6;
    for scenario in SCENARIOS.iter().chain(SMALL) {
        let mut which = 1;
        loop {
            let (status, said) = run(scenario.name, 1, which);
            match (status.code(), status.signal()) {
                (Some(OVER), _) => break,
                (Some(WELL | REFUSED), _) | (_, Some(SIGABRT)) => {}
                _ => panic!("{}, allocation {which}: {status}: {said}", scenario.name),
            }
            // The first ones all, of the many that follow a part.
            which += 1 + which / 12;
        }
    }
}
