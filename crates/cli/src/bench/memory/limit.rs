//! The limits of the machine: memset and memcpy of touched buffers larger than the caches.
//!
//! The buffers are heap memory on huge pages where the system gives them, which is the best that
//! an ordinary program can have.

use std::hint::black_box;

use tenure::{Tensor, TensorMemory};

use super::Key;
use crate::bench::clock;
use crate::bench::rounds::Case;
use crate::failure::Failure;

/// What cannot be surpassed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// Writing.
    Memset,
    /// Reading and writing; bytes are counted once.
    Memcpy,
}

impl Limit {
    /// All, in the order in which they are shown.
    pub(super) const ALL: [Limit; 2] = [Limit::Memset, Limit::Memcpy];

    pub(super) fn name(self) -> &'static str {
        match self {
            Limit::Memset => "memset",
            Limit::Memcpy => "memcpy",
        }
    }
}

/// The limits, measured with two buffers of so many bytes.
pub(super) fn cases(bytes: usize) -> Result<Vec<Case<Key>>, Failure> {
    let [one, other] = [buffer(bytes)?, buffer(bytes)?];
    let (from, to) = (one.clone(), other);
    let memset = Case::new(Key::Limit(Limit::Memset), move |batch| {
        let mut map = one.map()?;
        clock::time(|| {
            for value in 0..batch {
                black_box(map.as_mut_slice()).fill(not_zero(value));
            }
            Ok(())
        })
    });
    let memcpy = Case::new(Key::Limit(Limit::Memcpy), move |batch| {
        let (from, mut to) = (from.map_read()?, to.map()?);
        clock::time(|| {
            for _ in 0..batch {
                black_box(to.as_mut_slice()).copy_from_slice(black_box(from.as_slice()));
            }
            Ok(())
        })
    });
    Ok(vec![memset, memcpy])
}

/// A byte to fill with. Not zero: some processors write zeros twice as fast as anything else.
pub(super) fn not_zero(number: u32) -> u8 {
    (number % 255) as u8 + 1
}

fn buffer(bytes: usize) -> Result<Tensor<u8>, Failure> {
    let buffer = Tensor::<u8>::new(&[bytes], Some(TensorMemory::Mem), Some("tenure-bench"))?;
    buffer.map()?.as_mut_slice().fill(1);
    Ok(buffer)
}
