//! The comparison of memories: what is measured, in which memories, beside which limits.

mod arena;
mod cases;
mod limit;
mod measure;
mod report;
mod ring;
mod share;
mod show;

use std::rc::Rc;
use std::time::Duration;

use tenure::TensorMemory;
use tenure::memory::kind;

use super::Options;
use super::frame::Frame;
use super::rounds::{self, Case, Effort};
use crate::failure::{self, Failure};
use crate::info::reason;
use crate::machine::Tree;
use crate::machine::processor::largest_cache;
use crate::machine::room::room;
use crate::output;
use arena::Arena;
use limit::Limit;
use measure::Measure;
use report::Report;
use ring::Ring;

/// What a case measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    /// A limit of the machine.
    Limit(Limit),
    /// A memory.
    Memory(Measure, TensorMemory),
    /// What divides memory that is there already.
    Arena(Arena),
}

/// Something that cannot be measured, and why.
#[derive(Debug)]
struct Refused {
    memory: TensorMemory,
    /// `None`: nothing of this memory can be.
    measure: Option<Measure>,
    reason: String,
}

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let (works, mut refused) = asked_for(&options.memories);
    let size = Size::choose(&Tree::here(), options.size, works.len())?;
    let mut cases = vec![];
    for memory in works {
        prepare(memory, size, &mut cases, &mut refused);
    }
    if cases.is_empty() {
        let reasons = refused.into_iter().map(|refused| (refused.memory, refused.reason));
        return Err(Failure::NothingToMeasure(reasons.collect()));
    }
    cases.extend(limit::cases(size.large)?);
    cases.extend(arena::cases()?);
    let effort = effort(options);
    rounds::run(&mut cases, effort);
    for case in &cases {
        if let (Key::Memory(measure, memory), Some(error)) = (case.key, case.failure()) {
            refused.push(Refused { memory, measure: Some(measure), reason: words(error) });
        }
    }
    let report = Report::new(size, effort, &cases, &refused);
    if options.json {
        output::json(&report)
    } else {
        output::text(&show::page(&report, output::width()))
    }
}

/// The memories named, or all: those that have an allocator here, and why the others have none.
fn asked_for(named: &[TensorMemory]) -> (Vec<TensorMemory>, Vec<Refused>) {
    let (mut works, mut refused) = (vec![], vec![]);
    for kind in kind::ALL {
        let memory = kind.memory;
        if !named.is_empty() && !named.contains(&memory) {
            continue;
        }
        match kind.allocator() {
            Ok(_) => works.push(memory),
            Err(error) => refused.push(Refused { memory, measure: None, reason: reason(&error) }),
        }
    }
    (works, refused)
}

/// Adds the cases of one memory, or why there are none.
fn prepare(
    memory: TensorMemory,
    size: Size,
    cases: &mut Vec<Case<Key>>,
    refused: &mut Vec<Refused>,
) {
    let mut refuse = |measure, reason| refused.push(Refused { memory, measure, reason });
    let ring = match Ring::new(memory, size) {
        Ok(ring) => Rc::new(ring),
        Err(error) => return refuse(None, words(&error)),
    };
    for measure in Measure::ALL {
        match cases::case(measure, memory, &ring) {
            Ok(Ok(case)) => cases.push(case),
            Ok(Err(reason)) => refuse(Some(measure), reason),
            Err(error) => refuse(Some(measure), words(&error)),
        }
    }
}

/// An error and its causes, as a reason.
fn words(error: &dyn std::error::Error) -> String {
    failure::chain(error).join(": ")
}

fn effort(options: &Options) -> Effort {
    let (rounds, milliseconds) = if options.quick { (3, 1) } else { (15, 10) };
    Effort { rounds: options.rounds.unwrap_or(rounds), sample: Duration::from_millis(milliseconds) }
}

/// How much memory the measurement uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Size {
    frame: Frame,
    /// Frames that are used in turn, so that none is in a cache when its turn comes.
    frames: usize,
    /// Bytes of all these frames.
    working_set: usize,
    /// Bytes of each buffer for the limits.
    large: usize,
}

impl Size {
    /// Frames that together are larger than the caches, if the machine has room for them.
    fn choose(tree: &Tree, frame: Frame, memories: usize) -> Result<Size, Failure> {
        const MIB: u64 = 1 << 20;
        /// With fewer a copy would find its own last result in the cache.
        const FEWEST_FRAMES: u64 = 4;
        /// Each may need a descriptor.
        const MOST_FRAMES: u64 = 64;
        let cache = largest_cache(tree).unwrap_or(8 * MIB);
        let wanted = cache.saturating_mul(4).clamp(32 * MIB, 256 * MIB);
        // So large that memcpy no longer hopes to find anything in a cache.
        let large = cache.saturating_mul(8).clamp(64 * MIB, 512 * MIB);
        // In each memory a ring, fresh frames, and frames in use, new ones and pooled ones; two
        // buffers for the limits, twice as large.
        let (sets, buffers) = (4 * memories as u64, 2);
        let available = room(tree).map(|room| room.available);
        let share = available.map(|bytes| bytes / 2 / (sets + 2 * buffers));
        let (wanted, large) =
            share.map_or((wanted, large), |share| (wanted.min(share), large.min(2 * share)));

        let frames = (wanted / frame.bytes as u64).clamp(FEWEST_FRAMES, MOST_FRAMES);
        let working_set = frames.saturating_mul(frame.bytes as u64);
        let needed = working_set.saturating_mul(sets).saturating_add(buffers * large);
        if let Some(available) = available.filter(|&available| needed > available / 4 * 3) {
            return Err(Failure::TooLarge { frame: frame.bytes as u64, needed, available });
        }
        let here = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let (frames, working_set, large) = (here(frames), here(working_set), here(large));
        Ok(Size { frame, frames, working_set, large })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_working_set_is_larger_than_the_caches_and_fits_the_machine() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("sys/devices/system/cpu/cpu0/cache/index0");
        fs::create_dir_all(&cache).unwrap();
        for (file, text) in [("type", "Unified"), ("level", "3"), ("size", "16M")] {
            fs::write(cache.join(file), text).unwrap();
        }
        fs::create_dir_all(folder.path().join("proc")).unwrap();
        let available = |kibibytes: u64| {
            let text = format!("MemTotal: 99999999 kB\nMemAvailable: {kibibytes} kB\n");
            fs::write(folder.path().join("proc/meminfo"), text).unwrap();
        };
        let tree = Tree::below(folder.path());
        let frame: Frame = "1024x1024x4".parse().unwrap();

        available(8 << 20);
        let size = Size::choose(&tree, frame, 2).unwrap();
        assert_eq!((size.frames, size.working_set, size.large), (16, 64 << 20, 128 << 20));
        available(768 << 10);
        let size = Size::choose(&tree, frame, 2).unwrap();
        assert_eq!((size.frames, size.working_set, size.large), (8, 32 << 20, 64 << 20));
        available(100 << 10);
        let refused = Size::choose(&tree, frame, 2).unwrap_err();
        assert!(matches!(refused, Failure::TooLarge { .. }), "{refused}");
    }
}
