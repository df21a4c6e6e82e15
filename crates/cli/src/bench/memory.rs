//! The comparison of memories: what is measured, in which memories, beside which limits.

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
use super::rounds::{self, Effort};
use crate::failure::Failure;
use crate::info::reason;
use crate::machine::Tree;
use crate::machine::processor::largest_cache;
use crate::machine::room::room;
use crate::output;
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
    let mut memories: Vec<TensorMemory> = kind::ALL.iter().map(|kind| kind.memory).collect();
    if !options.memories.is_empty() {
        memories.retain(|memory| options.memories.contains(memory));
    }
    let (works, refused): (Vec<_>, Vec<_>) = memories
        .into_iter()
        .map(|memory| (memory, kind::allocator(memory).err()))
        .partition(|(_, refused)| refused.is_none());
    let mut refused: Vec<Refused> = refused
        .into_iter()
        .filter_map(|(memory, error)| {
            Some(Refused { memory, measure: None, reason: reason(&error?) })
        })
        .collect();
    if works.is_empty() {
        let reasons = refused.into_iter().map(|refused| (refused.memory, refused.reason));
        return Err(Failure::NothingToMeasure(reasons.collect()));
    }

    let size = Size::choose(&Tree::here(), options.size, works.len())?;
    let mut cases = limit::cases(size.working_set)?;
    for (memory, _) in works {
        let ring = Rc::new(Ring::new(memory, size)?);
        for measure in Measure::ALL {
            match cases::case(measure, memory, &ring)? {
                Ok(case) => cases.push(case),
                Err(reason) => refused.push(Refused { memory, measure: Some(measure), reason }),
            }
        }
    }
    let effort = effort(options);
    rounds::run(&mut cases, effort)?;
    let report = Report::new(size, effort, &cases, &refused);
    if options.json {
        output::json(&report)
    } else {
        output::text(&show::page(&report, output::width()))
    }
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
    /// Bytes of all these frames, and of each buffer for the limits.
    working_set: usize,
}

impl Size {
    /// Frames that together are larger than the caches, if the machine has room for them.
    fn choose(tree: &Tree, frame: Frame, memories: usize) -> Result<Size, Failure> {
        const LEAST: usize = 32 << 20;
        const MOST: usize = 256 << 20;
        /// With fewer a copy would find its own last result in the cache.
        const FEWEST_FRAMES: usize = 4;
        /// Each may need a descriptor.
        const MOST_FRAMES: usize = 64;
        let cache = largest_cache(tree).and_then(|bytes| usize::try_from(bytes).ok());
        let wanted = cache.unwrap_or(LEAST).saturating_mul(4).clamp(LEAST, MOST);
        // Two buffers for the limits; in each memory a ring, a pool, and fresh frames.
        let sets = 2 + 3 * memories;
        let available = room(tree).map(|room| room.available);
        let share = available.and_then(|bytes| usize::try_from(bytes / 2 / sets as u64).ok());
        let frames = share.map_or(wanted, |share| wanted.min(share)) / frame.bytes;
        let frames = frames.clamp(FEWEST_FRAMES, MOST_FRAMES);
        let bytes = frames as u64 * frame.bytes as u64;
        let needed = bytes.saturating_mul(sets as u64);
        if let Some(available) = available.filter(|&available| needed > available / 4 * 3) {
            return Err(Failure::TooLarge { frame: frame.bytes as u64, needed, available });
        }
        let working_set = usize::try_from(bytes).unwrap_or(usize::MAX);
        Ok(Size { frame, frames, working_set })
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
        assert_eq!((size.frames, size.working_set), (16, 64 << 20));
        available(512 << 10);
        assert_eq!(Size::choose(&tree, frame, 2).unwrap().frames, 8);
        available(128 << 10);
        let refused = Size::choose(&tree, frame, 2).unwrap_err();
        assert!(matches!(refused, Failure::TooLarge { .. }), "{refused}");
    }
}
