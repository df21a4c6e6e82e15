//! Dividing memory that is there already: blocks of an arena, beside blocks of the heap.
//!
//! Of many blocks in use one is freed and another allocated, of sizes and in an order that look
//! random and are the same every time. No block is touched.

use std::hint::black_box;
use std::iter;

use tenure::memory::tlsf::Tlsf;

use super::Key;
use crate::bench::clock;
use crate::bench::rounds::Case;
use crate::failure::Failure;

/// What divides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arena {
    /// Offsets in an arena.
    Tlsf,
    /// The allocator of this program.
    Heap,
}

impl Arena {
    /// All, in the order in which they are shown.
    pub(super) const ALL: [Arena; 2] = [Arena::Tlsf, Arena::Heap];

    pub(super) fn name(self) -> &'static str {
        match self {
            Arena::Tlsf => "tlsf",
            Arena::Heap => "heap",
        }
    }
}

/// Blocks in use.
pub(super) const BLOCKS: usize = 256;
/// The largest block; the heap asks the system for larger ones each time.
pub(super) const LARGEST: u32 = 64 << 10;
/// Steps before they repeat.
const STEPS: usize = 4096;

/// Which block is replaced, and the size of the new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    block: usize,
    bytes: u32,
}

/// The cases, each with its blocks.
pub(super) fn cases() -> Result<Vec<Case<Key>>, Failure> {
    let steps: Vec<Step> = steps();
    let mut arena = Tlsf::new(2 * BLOCKS as u64 * u64::from(LARGEST))?;
    arena.reserve(BLOCKS);
    let mut blocks: Vec<_> = iter::repeat_with(|| None).take(BLOCKS).collect();
    let (own, mut next) = (steps.clone(), 0);
    let tlsf = Case::new(Key::Arena(Arena::Tlsf), move |batch| {
        clock::time(|| {
            for step in turns(&own, &mut next, batch) {
                let Some(block) = blocks.get_mut(step.block) else { continue };
                if let Some(old) = block.take() {
                    arena.free(old)?;
                }
                *block = Some(arena.allocate(step.bytes.into(), 1)?);
            }
            Ok(())
        })
    });

    let mut blocks: Vec<Vec<u8>> = iter::repeat_with(Vec::new).take(BLOCKS).collect();
    let mut next = 0;
    let heap = Case::new(Key::Arena(Arena::Heap), move |batch| {
        clock::time(|| {
            for step in turns(&steps, &mut next, batch) {
                let Some(block) = blocks.get_mut(step.block) else { continue };
                // Freed before the new one is made.
                *block = Vec::new();
                *block = black_box(Vec::with_capacity(step.bytes as usize));
            }
            Ok(())
        })
    });
    Ok(vec![tlsf, heap])
}

/// The next steps, from the start again after the last.
fn turns(steps: &[Step], next: &mut usize, count: u32) -> impl Iterator<Item = Step> {
    let from = *next;
    *next = (from + count as usize) % STEPS;
    let step = move |number| steps.get((from + number) % STEPS).copied();
    (0..count as usize).map_while(step)
}

/// The same steps every time.
fn steps() -> Vec<Step> {
    let mut state = 0x9e37_79b9u32;
    let mut number = || {
        // Marsaglia's xorshift.
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    let mut step = || {
        let block = number() as usize % BLOCKS;
        // Small blocks are as likely as large ones.
        let largest = LARGEST >> (number() % 8);
        Step { block, bytes: number() % largest + 1 }
    };
    iter::repeat_with(&mut step).take(STEPS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_the_same_and_within_bounds() {
        let all = steps();
        assert_eq!(all, steps());
        assert!(all.iter().all(|step| step.block < BLOCKS && step.bytes <= LARGEST));
        assert!(all.iter().any(|step| step.bytes > LARGEST / 2));
    }

    #[test]
    fn turns_go_round() {
        let all = steps();
        let mut next = STEPS - 1;
        let taken: Vec<_> = turns(&all, &mut next, 3).collect();
        assert_eq!(taken, [all[STEPS - 1], all[0], all[1]]);
        assert_eq!(next, 2);
    }
}
