//! A bridge across a fork: its threads and Zenoh's stay behind, so dropping it in the child neither hangs
//! nor panics, and in the parent it goes on.
#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "asks for a signal that ends a child which hangs")]

#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "../../memory/tests/common/fork.rs"]
mod fork;
#[path = "common/two.rs"]
mod two;

use two::{Two, join, one_through, until, words};

/// Runs `work` in a child, which must end well, and soon.
fn in_child(work: impl FnOnce()) {
    let status = fork::fork(|| {
        // SAFETY: takes no address. The signal ends this process.
        unsafe { libc::alarm(60) };
        work();
        0
    });
    assert!(status.success(), "{status}");
}

#[test]
fn a_bridge_goes_in_a_forked_process_and_stays_in_its_own() {
    child::alone("a_bridge_goes_in_a_forked_process_and_stays_in_its_own", || {
        let two = Two::new();
        let mut here = Some(two.bridge_here().export("**").open().unwrap());
        let mut there = Some(two.bridge_there().import("**").open().unwrap());
        let mut publisher = words(two.here(), "words", 1000);
        let mut subscriber = join(&two, "words", &mut publisher);
        // Frames are on their way, and its threads may be anywhere.
        for _ in 0..5 {
            one_through(&mut publisher, &mut subscriber);
            in_child(|| drop((here.take(), there.take())));
        }
        assert!(here.is_some() && there.is_some());
        one_through(&mut publisher, &mut subscriber);
        // The child ended nothing: whoever goes is the parent.
        let report = there.as_ref().unwrap().report();
        assert!(report.imports[0].received >= 6, "{report:?}");
        drop(here);
        until("the end of what is known", || there.as_ref().unwrap().report().remote.is_empty());
        drop(there);
    });
}
