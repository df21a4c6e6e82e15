//! A thread's own memory, kept from one picture to the next.

use crate::engine::cpu::precise::Precise;
use crate::engine::cpu::prepare::{Pass, Work};

#[derive(Debug, Default)]
pub(crate) struct Workspace {
    numbers: Vec<i16>,
    picked: Vec<u8>,
    reals: Vec<f32>,
}

/// Where scratch memory begins: no vector of numbers lies across two lines of the cache, which
/// would cost a tenth of the whole work.
const LINE: usize = 64;

impl Workspace {
    /// Makes room for what is done.
    pub(crate) fn grow(&mut self, work: &Work) {
        match work {
            Work::Fixed(pass) => {
                grow(&mut self.numbers, pass.numbers() + LINE / size_of::<i16>());
                grow(&mut self.picked, pass.scratch.picked);
            }
            Work::Precise(precise) => {
                grow(&mut self.reals, precise.numbers() + LINE / size_of::<f32>());
            }
        }
    }

    /// The scratch memory of a pass that it has room for, and that for picked samples.
    pub(super) fn parts(&mut self, pass: &Pass) -> (&mut [i16], &mut [u8]) {
        (aligned(&mut self.numbers, pass.numbers()), &mut self.picked[..pass.scratch.picked])
    }

    /// The same for what is done in floating point.
    pub(super) fn reals(&mut self, precise: &Precise) -> &mut [f32] {
        aligned(&mut self.reals, precise.numbers())
    }
}

fn grow<T: Clone + Default>(memory: &mut Vec<T>, len: usize) {
    if memory.len() < len {
        memory.resize(len, T::default());
    }
}

/// As many numbers, from the beginning of a line on.
fn aligned<T>(memory: &mut [T], len: usize) -> &mut [T] {
    // Where that is not known, anywhere will do.
    let start = memory.as_ptr().align_offset(LINE).min(LINE / size_of::<T>());
    &mut memory[start..][..len]
}
