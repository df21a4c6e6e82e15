//! How each measurement is done.

use std::collections::VecDeque;
use std::hint::black_box;
use std::iter;
use std::rc::Rc;

use tenure::memory::kind;
use tenure::{Pool, PoolLimits, Tensor, TensorMemory};

use super::limit::not_zero;
use super::measure::Measure;
use super::ring::Ring;
use super::{Key, share};
use crate::bench::clock;
use crate::bench::rounds::Case;
use crate::failure::Failure;

/// A case, or why this memory cannot do it.
pub(super) type Possible = Result<Case<Key>, String>;

/// The case of one measurement of one memory.
pub(super) fn case(
    measure: Measure,
    memory: TensorMemory,
    ring: &Rc<Ring>,
) -> Result<Possible, Failure> {
    let key = Key::Memory(measure, memory);
    let ring = Rc::clone(ring);
    Ok(Ok(match measure {
        Measure::Allocate => allocate(key, ring),
        Measure::Map => map(key, ring),
        Measure::FirstTouch => first_touch(key, ring),
        Measure::Refill => refill(key, ring),
        Measure::NewFrame => new_frame(key, ring)?,
        Measure::PooledFrame => pooled_frame(key, &ring)?,
        Measure::Share => return share::case(key, ring),
        Measure::Copy => copy(key, ring),
        Measure::Transpose => transpose(key, ring),
    }))
}

fn fresh(ring: &Ring) -> Result<Tensor<u8>, Failure> {
    Ok(Tensor::<u8>::new(&ring.size.frame.shape(), Some(ring.memory), None)?)
}

fn fill(frame: &Tensor<u8>, number: u32) -> Result<(), Failure> {
    black_box(frame.map()?.as_mut_slice()).fill(not_zero(number));
    Ok(())
}

fn allocate(key: Key, ring: Rc<Ring>) -> Case<Key> {
    let once = move |_| {
        black_box(&fresh(&ring)?);
        Ok(())
    };
    Case::new(key, move |batch| clock::time(|| (0..batch).try_for_each(&once)))
}

fn map(key: Key, ring: Rc<Ring>) -> Case<Key> {
    Case::new(key, move |batch| {
        let frames = ring.oldest().into_iter().cycle();
        clock::time(|| {
            for (_, views) in (0..batch).zip(frames) {
                // The guard itself stays where it is: moving it would take as long as making it.
                black_box(views.frame.map()?.as_slice().as_ptr());
            }
            Ok(())
        })
    })
}

/// As many fresh frames as the ring has, made before the clock starts: the kernel may have
/// written their pages already, and the first must be out of the caches when it is filled.
fn first_touch(key: Key, ring: Rc<Ring>) -> Case<Key> {
    let frames = u32::try_from(ring.size.frames).unwrap_or(u32::MAX);
    Case::fixed(key, frames, move |batch| {
        let frames: Vec<_> = (0..batch).map(|_| fresh(&ring)).collect::<Result<_, _>>()?;
        clock::time(|| frames.iter().zip(0..).try_for_each(|(frame, number)| fill(frame, number)))
    })
}

fn refill(key: Key, ring: Rc<Ring>) -> Case<Key> {
    Case::new(key, move |batch| {
        let frames = iter::from_fn(|| ring.oldest());
        clock::time(|| {
            (0..batch).zip(frames).try_for_each(|(number, views)| fill(&views.frame, number))
        })
    })
}

fn new_frame(key: Key, ring: Rc<Ring>) -> Result<Case<Key>, Failure> {
    let frames = ring.size.frames;
    replacing(key, frames, move || fresh(&ring))
}

fn pooled_frame(key: Key, ring: &Ring) -> Result<Case<Key>, Failure> {
    let shape = ring.size.frame.shape();
    let room = ring.size.frame.bytes.saturating_mul(4);
    let limits = PoolLimits {
        kept_bytes: room.max(PoolLimits::default().kept_bytes),
        buffers: 4,
        ..PoolLimits::default()
    };
    let pool = Pool::new(kind::allocator(ring.memory)?).with_limits(limits);
    replacing(key, ring.size.frames, move || {
        Ok(Tensor::<u8>::builder(&shape).allocator(&pool).without_zeroing().build()?)
    })
}

/// So many frames are in use; the oldest is dropped, one is made and filled. Whoever reuses
/// memory gets that of the oldest frame, which the caches have forgotten.
fn replacing(
    key: Key,
    frames: usize,
    make: impl Fn() -> Result<Tensor<u8>, Failure> + 'static,
) -> Result<Case<Key>, Failure> {
    let filled = move |number: u32| {
        let frame = make()?;
        fill(&frame, number)?;
        Ok::<_, Failure>(frame)
    };
    let mut used: VecDeque<_> = (0..frames).map(|_| filled(0)).collect::<Result<_, _>>()?;
    Ok(Case::new(key, move |batch| {
        clock::time(|| {
            for number in 0..batch {
                drop(used.pop_front());
                used.push_back(filled(number)?);
            }
            Ok(())
        })
    }))
}

fn copy(key: Key, ring: Rc<Ring>) -> Case<Key> {
    Case::new(key, move |batch| {
        let pairs = iter::from_fn(|| ring.oldest().zip(ring.oldest()));
        clock::time(|| {
            for (_, (from, to)) in (0..batch).zip(pairs) {
                to.frame.copy_from(&from.frame)?;
            }
            Ok(())
        })
    })
}

fn transpose(key: Key, ring: Rc<Ring>) -> Case<Key> {
    Case::new(key, move |batch| {
        let pairs = iter::from_fn(|| ring.oldest().zip(ring.oldest()));
        clock::time(|| {
            for (_, (from, to)) in (0..batch).zip(pairs) {
                to.planar.copy_from(&from.channels_first)?;
            }
            Ok(())
        })
    })
}
