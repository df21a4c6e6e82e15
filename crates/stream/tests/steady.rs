//! Frame after frame, once every slot has been seen: nothing is mapped and no page faults.
#![cfg(all(target_os = "linux", not(miri)))]
#![expect(unsafe_code, reason = "counts page faults")]

use tenure_stream::Meta;

#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "../../memory/tests/common/resources.rs"]
mod resources;
#[path = "common/stage.rs"]
mod stage;

use stage::{Stage, next, publish};

/// Page faults of this thread so far.
fn faults() -> i64 {
    // SAFETY: a valid place for the answer, which all zeros is too.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage), 0);
        usage.ru_minflt + usage.ru_majflt
    }
}

#[test]
fn no_page_faults_and_no_new_mappings() {
    child::alone("no_page_faults_and_no_new_mappings", || {
        let stage = Stage::new();
        // A quarter of a mebibyte, all of which is written and read.
        let mut publisher = stage.words("s", 1 << 15);
        let mut subscriber = stage.subscriber("s").open().unwrap();
        let mut sequence = 0;
        let mut go = |frames: usize| {
            let mut held = vec![];
            for _ in 0..frames {
                publish(&mut publisher, sequence).unwrap();
                held.push(next(&mut subscriber));
                if held.len() == 3 {
                    held.remove((sequence % 3) as usize);
                }
                sequence += 1;
            }
        };
        go(20);
        let before = (resources::descriptors(), resources::mappings());
        // The kernel may move pages while it makes room for others: one quiet run is enough.
        let runs: Vec<i64> = (0..3)
            .map(|_| {
                let before = faults();
                go(100);
                faults() - before
            })
            .collect();
        assert!(runs.contains(&0), "{runs:?} page faults");
        assert_eq!((resources::descriptors(), resources::mappings()), before);
        let report = publisher.stats();
        assert!(report.slots.iter().all(|slot| slot.generation <= 1), "{report:?}");
        publisher.claim().unwrap().publish(Meta::new()).unwrap();
    });
}
