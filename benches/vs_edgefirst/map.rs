//! Mapping a tensor for the CPU: guarded here, unguarded there.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use edgefirst_tensor::{
    Tensor as Theirs, TensorMapTrait as _, TensorMemory as TheirMemory, TensorTrait as _,
};
use tenure::{Tensor, TensorMemory};
use tenure_benches::{Bench, Error, Unit, per_call};

/// Bytes between two that are touched: one on every page.
const PAGE: usize = 4096;

pub(crate) fn rows(bench: &mut Bench) -> Result<(), Error> {
    let shape = [1080, 1920, 3];
    if let Some(row) = bench.row("heap: map and unmap", Unit::Nanoseconds) {
        let ours = Tensor::<u8>::new(&shape, Some(TensorMemory::Mem), None)?;
        let theirs = Theirs::<u8>::new(&shape, Some(TheirMemory::Mem), None)?;
        row.target(1.2)
            .ours(per_call(|| drop(black_box(ours.map()))))
            .rival("edgefirst-tensor", per_call(|| drop(black_box(theirs.map()))))
            .limit(per_call(count_and_back()))
            .measure();
    }
    if let Some(row) = bench.row("shm: map and unmap", Unit::Nanoseconds) {
        let ours = Tensor::<u8>::new(&shape, Some(TensorMemory::Shm), None)?;
        let theirs = Theirs::<u8>::new(&shape, Some(TheirMemory::Shm), None)?;
        row.target(1.0 / 50.0)
            .ours(per_call(|| drop(black_box(ours.map()))))
            .rival("edgefirst-tensor", per_call(|| drop(black_box(theirs.map()))))
            .limit(per_call(count_and_back()))
            .measure();
    }
    if let Some(row) = bench.row("shm: map 6 MB, touch every page", Unit::Nanoseconds) {
        let ours = Tensor::<u8>::new(&shape, Some(TensorMemory::Shm), None)?;
        let theirs = Theirs::<u8>::new(&shape, Some(TheirMemory::Shm), None)?;
        row.target(1.0 / 40.0)
            .ours(per_call(|| {
                if let Ok(mut map) = ours.map() {
                    touch_pages(map.as_mut_slice());
                }
            }))
            .rival(
                "edgefirst-tensor",
                per_call(|| {
                    if let Ok(mut map) = theirs.map() {
                        touch_pages(map.as_mut_slice());
                    }
                }),
            )
            .measure();
    }
    Ok(())
}

/// What keeping something alive and marking it taken costs at least: two atomic operations to
/// begin, two to end.
fn count_and_back() -> impl FnMut() {
    let (kept, taken) = (Arc::new(()), AtomicUsize::new(0));
    move || {
        let _kept = black_box(Arc::clone(&kept));
        let _ = taken.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed);
        let _ = black_box(&taken).compare_exchange(1, 0, Ordering::Release, Ordering::Relaxed);
    }
}

fn touch_pages(bytes: &mut [u8]) {
    bytes.iter_mut().step_by(PAGE).for_each(|byte| *byte = byte.wrapping_add(1));
    black_box(bytes);
}
