//! The bare search, in every style and without heuristics before it, against trying everything.

use std::sync::atomic::AtomicBool;

use super::core::{Core, Members};
use super::options::{Allowance, Meter, Options};
use super::orders::Random;
use super::search::{Outcome, Search};
use super::state::State;
use crate::{Item, Problem, check_offsets, lower_bound};

/// Tries every offset of every item, one item after the other.
fn fits(items: &[Item], offsets: &mut Vec<u64>, capacity: u64) -> bool {
    let Some(item) = items.get(offsets.len()) else { return true };
    let mut offset = 0;
    while offset + item.size <= capacity {
        let clear = items.iter().zip(offsets.iter()).all(|(other, &at)| {
            !item.meets(other) || at + other.size <= offset || offset + item.size <= at
        });
        if clear {
            offsets.push(offset);
            if fits(items, offsets, capacity) {
                return true;
            }
            offsets.pop();
        }
        offset += item.align;
    }
    false
}

/// Searches at every capacity up to the minimum; true if that is above the bound.
fn compare(items: Vec<Item>) -> bool {
    let problem = Problem::new(items).unwrap();
    let items = problem.items();
    let bound = lower_bound(&problem);
    let minimum = (bound..).find(|&c| fits(items, &mut Vec::new(), c)).unwrap();
    let core = Core::new(&problem);
    let members = Members::new(&core).unwrap();
    let options = Options::default();
    for style in 0..4 {
        for capacity in bound.saturating_sub(1)..=minimum + 1 {
            let cut = AtomicBool::new(false);
            let mut allowance = Allowance::new(Meter::new(&options).left(), &cut);
            let state = State::new(&core, &members, capacity / core.unit);
            let mut search = Search::new(state);
            (search.lean, search.ahead) = (style & 1 == 1, style & 2 == 2);
            let outcome = search.run(u64::MAX, &mut allowance);
            if capacity < minimum {
                assert_eq!(outcome, Outcome::Refuted, "{items:?} in {capacity}");
                let next = (capacity / core.unit).saturating_add(search.state.excess);
                assert!(next * core.unit <= minimum, "{items:?} in {capacity}");
            } else {
                assert_eq!(outcome, Outcome::Found, "{items:?} in {capacity}");
                let offsets = core.to_bytes(items.len(), &search.state.offset);
                assert_eq!(check_offsets(&problem, &offsets, capacity), Ok(()));
            }
            // What was refuted stays so with what was learned; what was found is found again.
            assert_eq!(search.run(u64::MAX, &mut allowance), outcome);
        }
    }
    minimum > bound
}

/// Searches many random problems; how many have a minimum above the bound.
fn random(seed: u64, count: u32, items: u64, times: u64, sizes: u64, aligns: u64) -> u32 {
    let mut random = Random::new(seed);
    let mut above = 0;
    for _ in 0..count {
        let items = (0..items).map(|_| {
            let (a, b) = (random.below(times), random.below(times));
            let size = 1 + random.below(sizes);
            Item { lower: a.min(b), upper: a.max(b) + 1, size, align: 1 << random.below(aligns) }
        });
        above += u32::from(compare(items.collect()));
    }
    above
}

/// As [`random`], with every time filled up to the peak by an item of its own: no gap is left.
fn full(seed: u64, count: u32, items: u64, times: u64, sizes: u64) -> u32 {
    let mut random = Random::new(seed);
    let mut above = 0;
    for _ in 0..count {
        let mut all: Vec<Item> = Vec::new();
        for _ in 0..items {
            let lower = random.below(times - 1);
            let upper = (lower + 2 + random.below(2)).min(times);
            all.push(Item { lower, upper, size: 1 + random.below(sizes), align: 1 });
        }
        let load = |time| all.iter().filter(move |item| item.lower <= time && time < item.upper);
        let loads: Vec<u64> = (0..times).map(|t| load(t).map(|item| item.size).sum()).collect();
        let peak = loads.iter().copied().max().unwrap_or(0);
        for (lower, load) in (0..).zip(loads) {
            let size = peak - load;
            all.push(Item { lower, upper: lower + 1, size, align: 1 });
        }
        // Trying everything fails sooner if neighbours come one after the other.
        all.sort_by_key(|item| item.lower);
        above += u32::from(compare(all));
    }
    above
}

#[test]
fn plain() {
    random(1, 1000, 8, 7, 6, 1);
    random(2, 500, 9, 9, 4, 1);
    let above = full(5, 1500, 7, 6, 4) + full(6, 1000, 7, 5, 5);
    assert!(above > 20, "only {above} are of interest");
}

#[test]
fn aligned() {
    let above = random(3, 2000, 7, 6, 6, 3) + random(4, 1000, 6, 5, 9, 4);
    assert!(above > 500, "only {above} are of interest");
}

#[test]
#[ignore = "takes minutes"]
fn many_more() {
    for seed in 10..20 {
        random(seed, 5000, 10, 10, 5, 1);
        random(seed, 5000, 8, 8, 7, 3);
        full(seed, 5000, 8, 7, 4);
    }
}
