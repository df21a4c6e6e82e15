//! The packers by name, from what runs at run time to the proven minimum.

pub(crate) mod best_fit;
pub(crate) mod offline;
pub(crate) mod tlsf;

use std::fmt;
use std::str::FromStr;

use crate::check::check_offsets;
use crate::solve::core::Core;
use crate::solve::options::Meter;
use crate::{Options, Packing, Problem, lower_bound, minimise};
use offline::Gap;

/// How to find offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Packer {
    /// Replay in the order of time through a two-level segregated fit allocator.
    Tlsf,
    /// Replay in the order of time, each item into the smallest gap that holds it.
    BestFit,
    /// The largest first, each into the smallest gap that holds it.
    GreedySize,
    /// A portfolio of the others, then a search for the minimum within a budget.
    #[default]
    Best,
}

/// A word that names no [`Packer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no such packer; there are tlsf, best-fit, greedy-size and best")]
pub struct UnknownPacker;

impl Packer {
    /// All packers, from the fastest to the one that packs best.
    pub const ALL: [Packer; 4] = [Packer::Tlsf, Packer::BestFit, Packer::GreedySize, Packer::Best];

    /// What users call it.
    pub const fn name(self) -> &'static str {
        match self {
            Packer::Tlsf => "tlsf",
            Packer::BestFit => "best-fit",
            Packer::GreedySize => "greedy-size",
            Packer::Best => "best",
        }
    }

    /// Packs `problem`. `options` concern [`Packer::Best`]; time and stop end
    /// [`Packer::GreedySize`] too, which takes long where very many items live at once and then
    /// gives what [`Packer::Tlsf`] does.
    ///
    /// ```
    /// use tenure_plan::{Item, Options, Packer, Problem};
    /// let item = |lower, upper, size| Item { lower, upper, size, align: 1 };
    /// let problem = Problem::new(vec![item(0, 2, 64), item(1, 3, 32), item(2, 4, 64)])?;
    /// for packer in Packer::ALL {
    ///     let packing = packer.pack(&problem, &Options::default());
    ///     assert_eq!((packing.bytes, packing.optimal), (96, true));
    /// }
    /// # Ok::<(), tenure_plan::ProblemError>(())
    /// ```
    pub fn pack(self, problem: &Problem, options: &Options<'_>) -> Packing {
        let offsets = match self {
            Packer::Best => return minimise(problem, options),
            Packer::Tlsf => tlsf::pack(problem),
            Packer::BestFit => best_fit::pack(problem),
            Packer::GreedySize => {
                let meter = Meter::new(&Options { work: u64::MAX, ..*options });
                let core = Core::new(problem);
                greedy_size(problem, &core, |steps| meter.goes_on(steps))
                    .unwrap_or_else(|| tlsf::pack(problem))
            }
        };
        verified(problem, offsets, lower_bound(problem))
    }
}

impl fmt::Display for Packer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Packer {
    type Err = UnknownPacker;

    fn from_str(word: &str) -> Result<Packer, UnknownPacker> {
        Packer::ALL.into_iter().find(|packer| packer.name() == word).ok_or(UnknownPacker)
    }
}

/// Offsets with the largest first; none if `more` says to stop (see [`offline::place`]).
pub(crate) fn greedy_size(
    problem: &Problem,
    core: &Core,
    more: impl FnMut(u64) -> bool,
) -> Option<Vec<u64>> {
    let mut order: Vec<u32> = (0..core.len() as u32).collect();
    order.sort_by_key(|&item| {
        (std::cmp::Reverse(core.size[item as usize]), core.first[item as usize])
    });
    let placement = offline::place(core, &order, Gap::Best, more)?;
    Some(core.to_bytes(problem.items().len(), &placement.offsets))
}

/// A packing of checked offsets. Should the check ever fail, items are stacked instead, one
/// after the other: large, but right.
pub(crate) fn verified(problem: &Problem, offsets: Vec<u64>, lower_bound: u64) -> Packing {
    let bytes = height(problem, &offsets);
    if let Err(fault) = check_offsets(problem, &offsets, bytes) {
        debug_assert!(false, "a packer made a mistake: {fault}");
        return stacked(problem, lower_bound);
    }
    Packing { offsets, bytes, lower_bound, optimal: bytes == lower_bound }
}

/// The largest end of an item; 0 for none.
pub(crate) fn height(problem: &Problem, offsets: &[u64]) -> u64 {
    let ends = problem.items().iter().zip(offsets);
    ends.filter(|(item, _)| item.size > 0)
        // An end that cannot be counted is above every arena: `check_offsets` refuses it, also in
        // one of `u64::MAX` bytes.
        .map(|(item, offset)| offset.saturating_add(item.size))
        .max()
        .unwrap_or(0)
}

/// All items one after the other.
fn stacked(problem: &Problem, lower_bound: u64) -> Packing {
    let mut bytes = 0u64;
    let mut offsets = Vec::with_capacity(problem.items().len());
    for item in problem.items() {
        // All sizes and what aligns them are at most `MAX_TOTAL` together.
        let offset = if item.size > 0 { bytes.next_multiple_of(item.align) } else { 0 };
        offsets.push(offset);
        bytes = bytes.max(offset + item.size);
    }
    Packing { offsets, bytes, lower_bound, optimal: bytes == lower_bound }
}

impl UnknownPacker {
    /// What sort of error it is.
    pub fn kind(&self) -> tenure_layout::ErrorKind {
        tenure_layout::ErrorKind::Invalid
    }
}
