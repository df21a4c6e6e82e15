//! Candidates in the order of the room they leave.
//!
//! Each is placed for a look at the slack that then remains in every section of the group: room
//! lost where there is little of it counts more. Slower than a fixed order, but with some slack
//! everywhere it comes much further without going back.

use super::{Group, Search};

/// Added to the slack, so that none at all does not count for everything.
const SOFT: f64 = 2.0;

/// What the rank of an item counts, from the first to the last.
const TILT: f64 = 0.01;

impl Search<'_> {
    /// Sorts the choices from `choice` on.
    pub(super) fn look_ahead(&mut self, group: Group, choice: usize) {
        let mut scores = std::mem::take(&mut self.scores);
        scores.clear();
        for index in choice..self.choices.len() {
            let item = self.choices[index];
            let mark = self.state.mark();
            self.state.place(item as usize);
            let loss = if self.state.settle() { self.loss(group) } else { f64::MAX };
            self.state.undo(mark, Some(item as usize));
            let rank = f64::from(self.rank[item as usize]) / self.rank.len() as f64;
            scores.push((loss + TILT * rank, item));
        }
        scores.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (place, &(_, item)) in self.choices[choice..].iter_mut().zip(&scores) {
            *place = item;
        }
        self.scores = scores;
    }

    /// The sum of what the slack of each section is worth; less is better.
    fn loss(&mut self, group: Group) -> f64 {
        let sections = group.from as usize..group.to as usize;
        self.state.steps += sections.len() as u64;
        let state = &self.state;
        let ends = state.floor[sections.clone()].iter().zip(&state.rest[sections]);
        ends.map(|(floor, rest)| {
            let slack = state.capacity.saturating_sub(floor.saturating_add(*rest));
            1.0 / (slack as f64 + SOFT)
        })
        .sum()
    }
}
