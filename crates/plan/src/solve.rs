//! The exact side.
pub(crate) mod core;
pub(crate) mod nogood;
pub(crate) mod search;
pub(crate) mod state;

use crate::Problem;

/// Temporary.
pub fn trial(problem: &Problem, capacity: u64, limit: u64, order: usize) -> (Vec<u64>, String) {
    let core = core::Core::new(problem);
    let cap = capacity / core.unit;
    let mut search = search::Search::new(state::State::new(&core, cap));
    let n = core.len();
    let mut out = String::new();
    let rest = search.state.rest.clone();
    let mut lim = limit / 64;
    for round in 0.. {
        let mut ids: Vec<usize> = (0..n).collect();
        let total = |i: usize| core.span(i).map(|s| rest[s]).max().unwrap();
        let width = |i: usize| u64::from(core.last[i] - core.first[i]);
        let area = |i: usize| width(i) * core.size[i];
        match (order + round) % 5 {
            0 => ids.sort_by_key(|&i| std::cmp::Reverse((width(i), area(i), total(i)))),
            1 => ids.sort_by_key(|&i| std::cmp::Reverse((total(i), area(i), width(i)))),
            2 => ids.sort_by_key(|&i| std::cmp::Reverse((total(i), width(i), area(i)))),
            3 => ids.sort_by_key(|&i| std::cmp::Reverse((core.size[i], width(i)))),
            _ => ids.sort_by_key(|&i| std::cmp::Reverse((area(i), width(i)))),
        }
        for (r, &i) in ids.iter().enumerate() {
            search.rank[i] = r as u32;
        }
        let outcome = search.run(lim);
        out = format!("{outcome:?} {} nodes, round {round}", search.nodes);
        if outcome != search::Outcome::Limit || search.nodes >= limit {
            break;
        }
        lim = lim + lim / 4;
    }
    (core.to_bytes(problem.items().len(), &search.state.offset), out)
}
