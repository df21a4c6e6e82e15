//! A frame loop in steady state: a 1080p RGBA frame is taken, filled and given back.

use std::hint::black_box;

use edgefirst_tensor::{
    Tensor as Theirs, TensorMapTrait as _, TensorMemory as TheirMemory, TensorTrait as _,
};
use tenure::memory::{Pool, kind};
use tenure::{Tensor, TensorMemory};
use tenure_benches::{Bench, Error, Unit, per_call, touched};

const SHAPE: [usize; 3] = [1080, 1920, 4];

pub(crate) fn rows(bench: &mut Bench) -> Result<(), Error> {
    if let Some(row) = bench.row("heap: pooled frame beside refilling a Vec", Unit::Nanoseconds) {
        let pool = Pool::new(kind::allocator(TensorMemory::Mem)?);
        let mut plain = touched(SHAPE.iter().product());
        row.target(1.1)
            .ours(per_call(|| pooled(&pool)))
            .rival("Vec", per_call(|| black_box(&mut plain).fill(black_box(3))))
            .measure();
    }
    if let Some(row) = bench.row("heap: pooled frame", Unit::Nanoseconds) {
        let mut plain = touched(SHAPE.iter().product());
        let pool = Pool::new(kind::allocator(TensorMemory::Mem)?);
        row.target(1.0)
            .ours(per_call(|| pooled(&pool)))
            .rival("edgefirst-tensor", per_call(|| fresh(TheirMemory::Mem)))
            .limit(per_call(|| black_box(&mut plain).fill(black_box(3))))
            .measure();
    }
    if let Some(row) = bench.row("shm: pooled frame", Unit::Nanoseconds) {
        let mut plain = touched(SHAPE.iter().product());
        let pool = Pool::new(kind::allocator(TensorMemory::Shm)?);
        row.target(1.0 / 20.0)
            .ours(per_call(|| pooled(&pool)))
            .rival("edgefirst-tensor", per_call(|| fresh(TheirMemory::Shm)))
            .limit(per_call(|| black_box(&mut plain).fill(black_box(3))))
            .measure();
    }
    if let Some(row) = bench.row("shm: new frame, no pool", Unit::Nanoseconds) {
        let mut plain = touched(SHAPE.iter().product());
        row.target(1.0)
            .ours(per_call(|| {
                if let Ok(frame) = Tensor::<u8>::new(&SHAPE, Some(TensorMemory::Shm), None) {
                    fill(&frame);
                }
            }))
            .rival("edgefirst-tensor", per_call(|| fresh(TheirMemory::Shm)))
            .limit(per_call(|| black_box(&mut plain).fill(black_box(3))))
            .measure();
    }
    Ok(())
}

fn pooled(pool: &Pool) {
    if let Ok(frame) = Tensor::<u8>::builder(&SHAPE).allocator(pool).build() {
        fill(&frame);
    }
}

fn fill(frame: &Tensor<u8>) {
    if let Ok(mut map) = frame.map() {
        map.as_mut_slice().fill(black_box(3));
    }
}

fn fresh(memory: TheirMemory) {
    if let Ok(frame) = Theirs::<u8>::new(&SHAPE, Some(memory), None)
        && let Ok(mut map) = frame.map()
    {
        map.as_mut_slice().fill(black_box(3));
    }
}
