//! The search over and over, in other orders and with other limits, keeping what it refuted.

use super::core::{Core, Members};
use super::options::Allowance;
use super::orders::{Order, Random};
use super::search::{Outcome, Search};
use super::state::State;

/// Nodes of the shortest run.
const SHORTEST: u64 = 1000;

/// Runs of the search for one capacity.
#[derive(Debug)]
pub(crate) struct Restarts<'a> {
    search: Search<'a>,
    orders: Vec<Vec<u32>>,
    random: Random,
    runs: u64,
    /// Whether every run looks ahead, rather than every other two.
    ahead: bool,
}

impl<'a> Restarts<'a> {
    pub(crate) fn new(
        core: &'a Core,
        members: &'a Members,
        capacity: u64,
        seed: u64,
    ) -> Restarts<'a> {
        Restarts {
            search: Search::new(State::new(core, members, capacity)),
            orders: Order::ALL.iter().map(|order| order.of(core)).collect(),
            random: Random::new(seed),
            runs: 0,
            ahead: false,
        }
    }

    /// The same, always looking ahead: with room to spare that finds more than it costs.
    pub(crate) fn looking_ahead(mut self) -> Restarts<'a> {
        self.ahead = true;
        self
    }

    /// The next `runs` runs, or fewer if the verdict is there before.
    pub(crate) fn go(&mut self, runs: u64, allowance: &mut Allowance<'_>) -> Outcome {
        for _ in 0..runs {
            let plain = self.orders.len() as u64;
            let order = &self.orders[(self.runs % plain) as usize];
            self.search.lean = self.runs.is_multiple_of(2);
            self.search.ahead = self.ahead || self.runs % 4 >= 2;
            let noise = if self.runs < 2 * plain { 0 } else { order.len() as u64 / 4 };
            for (place, &item) in (0u64..).zip(order) {
                let place = place + self.random.below(noise);
                self.search.rank[item as usize] = u32::try_from(place).unwrap_or(u32::MAX);
            }
            self.runs += 1;
            let outcome = self.search.run(luby(self.runs) * SHORTEST, allowance);
            if outcome != Outcome::Limit || allowance.is_spent() {
                return outcome;
            }
        }
        Outcome::Limit
    }

    /// The offsets, after [`Outcome::Found`].
    pub(crate) fn offsets(&self) -> &[u64] {
        &self.search.state.offset
    }

    /// What was searched for.
    pub(crate) fn capacity(&self) -> u64 {
        self.search.state.capacity
    }

    /// After [`Outcome::Refuted`]: the smallest capacity that is not refuted as well.
    pub(crate) fn next_capacity(&self) -> u64 {
        self.capacity().saturating_add(self.search.state.excess.max(1))
    }

    /// After [`Outcome::Refuted`]: the sections that have no packing.
    pub(crate) fn refuted(&self) -> std::ops::Range<usize> {
        self.search.refuted.clone()
    }
}

/// 1, 1, 2, 1, 1, 2, 4, …: long runs are as rare as they are long.
fn luby(index: u64) -> u64 {
    let mut index = index;
    loop {
        let bits = 64 - index.leading_zeros();
        let full = (1u64 << bits) - 1;
        if index == full {
            return 1 << (bits - 1);
        }
        index -= full >> 1;
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn luby_is_the_known_sequence() {
        let start: Vec<u64> = (1..=15).map(super::luby).collect();
        assert_eq!(start, [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]);
    }
}
