//! How each measurement is done.

use std::collections::VecDeque;
use std::hint::black_box;
use std::rc::Rc;

use tenure::memory::kind;
use tenure::{Allocator, Pool, PoolLimits, Tensor, TensorMemory};

use super::measure::Measure;
use super::ring::Ring;
use super::{Key, share};
use crate::bench::clock;
use crate::bench::rounds::Case;

/// A case, or why this memory cannot do it.
pub(super) type Possible = Result<Case<Key>, String>;

/// The case of one measurement of one memory.
pub(super) fn case(
    measure: Measure,
    memory: TensorMemory,
    ring: &Rc<Ring>,
) -> tenure::Result<Possible> {
    let key = Key::Memory(measure, memory);
    let ring = Rc::clone(ring);
    Ok(Ok(match measure {
        Measure::Allocate => allocate(key, ring),
        Measure::Map => map(key, ring),
        Measure::FirstTouch => first_touch(key, ring),
        Measure::Refill => refill(key, ring),
        Measure::NewFrame => new_frame(key, ring),
        Measure::PooledFrame => pooled_frame(key, &ring)?,
        Measure::Share => return share::case(key, ring),
        Measure::Copy => copy(key, ring),
        Measure::Transpose => transpose(key, ring),
    }))
}

fn fresh(ring: &Ring) -> tenure::Result<Tensor<u8>> {
    Tensor::<u8>::new(&ring.size.frame.shape(), Some(ring.memory), None)
}

fn fill(frame: &Tensor<u8>, value: u32) -> tenure::Result<()> {
    black_box(frame.map()?.as_mut_slice()).fill(value as u8);
    Ok(())
}

fn allocate(key: Key, ring: Rc<Ring>) -> Case<Key> {
    Case::new(key, move |batch| {
        clock::time(|| {
            (0..batch).try_for_each(|_| fresh(&ring).map(|frame| drop(black_box(frame))))
        })
    })
}

fn map(key: Key, ring: Rc<Ring>) -> Case<Key> {
    Case::new(key, move |batch| {
        let Some(views) = ring.oldest() else { return clock::time(|| Ok(())) };
        clock::time(|| {
            (0..batch).try_for_each(|_| views.frame.map().map(|map| drop(black_box(map))))
        })
    })
}

/// As many fresh frames as the ring has, made before the clock starts: the kernel may have
/// written their pages already, and the first must be out of the caches when it is filled.
fn first_touch(key: Key, ring: Rc<Ring>) -> Case<Key> {
    let frames = u32::try_from(ring.size.frames).unwrap_or(u32::MAX);
    Case::fixed(key, frames, move |batch| {
        let frames: Vec<_> = (0..batch).map(|_| fresh(&ring)).collect::<Result<_, _>>()?;
        clock::time(|| frames.iter().zip(0..).try_for_each(|(frame, value)| fill(frame, value)))
    })
}

fn refill(key: Key, ring: Rc<Ring>) -> Case<Key> {
    Case::new(key, move |batch| {
        clock::time(|| {
            (0..batch)
                .zip(std::iter::from_fn(|| ring.oldest()))
                .try_for_each(|(value, views)| fill(&views.frame, value))
        })
    })
}

fn new_frame(key: Key, ring: Rc<Ring>) -> Case<Key> {
    Case::new(key, move |batch| {
        clock::time(|| (0..batch).try_for_each(|value| fill(&fresh(&ring)?, value)))
    })
}

/// As many frames are in use as the ring has; the oldest goes home, and comes back.
fn pooled_frame(key: Key, ring: &Ring) -> tenure::Result<Case<Key>> {
    let shape = ring.size.frame.shape();
    let room = ring.size.frame.bytes.saturating_mul(4);
    let limits = PoolLimits { bytes: room.max(PoolLimits::default().bytes), buffers: 4 };
    let pool = Pool::new(kind::allocator(ring.memory)?).with_limits(limits);
    let take = move |value: u32| -> tenure::Result<Tensor<u8>> {
        let frame = Tensor::<u8>::new_in(&pool as &dyn Allocator, &shape, None)?;
        fill(&frame, value)?;
        Ok(frame)
    };
    let mut used: VecDeque<_> = (0..ring.size.frames).map(|_| take(0)).collect::<Result<_, _>>()?;
    Ok(Case::new(key, move |batch| {
        clock::time(|| {
            for value in 0..batch {
                drop(used.pop_front());
                used.push_back(take(value)?);
            }
            Ok(())
        })
    }))
}

fn copy(key: Key, ring: Rc<Ring>) -> Case<Key> {
    Case::new(key, move |batch| {
        clock::time(|| {
            for _ in 0..batch {
                if let (Some(from), Some(to)) = (ring.oldest(), ring.oldest()) {
                    to.frame.copy_from(&from.frame)?;
                }
            }
            Ok(())
        })
    })
}

fn transpose(key: Key, ring: Rc<Ring>) -> Case<Key> {
    Case::new(key, move |batch| {
        clock::time(|| {
            for _ in 0..batch {
                if let (Some(from), Some(to)) = (ring.oldest(), ring.oldest()) {
                    to.planar.copy_from(&from.channels_first)?;
                }
            }
            Ok(())
        })
    })
}
