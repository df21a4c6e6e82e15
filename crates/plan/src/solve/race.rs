//! Several searches side by side, with the result of one after the other.
//!
//! What a search does depends on nothing that another one does at the same time. A verdict makes
//! some of the searches after it pointless; those are cut short, and what they came to is not
//! looked at. So the number of threads changes the time, not the result.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::options::{Allowance, Meter};
use super::restarts::Restarts;
use super::search::Outcome;

/// Lets every search do the next `runs` runs, on as many threads as the meter allows. `searches`
/// are in the order of their capacities, the smallest first.
///
/// The answers are in the same order. There is none for a search that an earlier one has made
/// pointless: larger than one that was found, or as large as one that was refuted. Its state is of
/// no use afterwards.
pub(super) fn race(
    searches: &mut [Restarts<'_>],
    runs: u64,
    meter: &Meter<'_>,
) -> Vec<Option<Outcome>> {
    let capacities: Vec<u64> = searches.iter().map(Restarts::capacity).collect();
    let cuts: Vec<AtomicBool> = searches.iter().map(|_| AtomicBool::new(false)).collect();
    let mut limits = meter.left();
    limits.steps = limits.steps.div_ceil((searches.len() as u64).max(1));
    let run = |index: usize, search: &mut Restarts<'_>| {
        let mut allowance = Allowance::new(limits, &cuts[index]);
        let outcome = search.go(runs, &mut allowance);
        for later in pointless(&capacities, index, outcome) {
            cuts[later].store(true, Ordering::Relaxed);
        }
        (outcome, allowance.steps)
    };
    let mut answers = vec![None; searches.len()];
    let threads = meter.threads.min(searches.len());
    let queue = Mutex::new(searches.iter_mut().zip(&mut answers).enumerate());
    let work = || {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((index, (search, answer))) = next else { return };
            if !cuts[index].load(Ordering::Relaxed) {
                *answer = Some(run(index, search));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // Without the thread, the others do its part.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    // What was cut too late to matter is cut now.
    for index in 0..answers.len() {
        if let Some((outcome, steps)) = answers[index] {
            meter.spend(steps);
            for later in pointless(&capacities, index, outcome) {
                answers[later] = None;
            }
        }
    }
    answers.into_iter().map(|answer| answer.map(|(outcome, _)| outcome)).collect()
}

/// The searches after `index` that its outcome makes pointless.
fn pointless(capacities: &[u64], index: usize, outcome: Outcome) -> std::ops::Range<usize> {
    let from = index + 1;
    match outcome {
        Outcome::Found => from..capacities.len(),
        Outcome::Refuted => {
            let same = |capacity: &&u64| **capacity == capacities[index];
            from..from + capacities[from..].iter().take_while(same).count()
        }
        Outcome::Limit => from..from,
    }
}
