//! To the device and back, beside two memcpys. Time is that of all threads: a device in software
//! works on threads of its own.

use std::hint::black_box;

use tenure::gpu;
use tenure::{Tensor, TensorMemory};
use tenure_benches::{Bench, Error, Unit, program_nanoseconds, touched};

const CALLS: u32 = 4;

pub(crate) fn rows(bench: &mut Bench) -> Result<(), Error> {
    let bytes = 8 << 20;
    for memory in [TensorMemory::Mem, TensorMemory::Shm, TensorMemory::Pinned] {
        let name = format!("copy: 8 MiB {memory} to device and back");
        let Some(row) = bench.row(&name, Unit::Nanoseconds) else { continue };
        let gpu = gpu::open("vulkan:0")?;
        let here = Tensor::<u8>::new(&[bytes], Some(TensorMemory::Mem), None)?;
        here.fill(5)?;
        let (here, back) = (gpu.to(&here, memory)?, gpu.to(&here, memory)?);
        let there = gpu.to(&here, TensorMemory::Device)?;
        let (from, mut middle, mut to) = (touched(bytes), touched(bytes), touched(bytes));
        row.target(1.2)
            .ours(all_threads(|| {
                there.copy_from(&here).and_then(|()| back.copy_from(&there)).is_ok()
            }))
            .rival(
                "memcpy, twice",
                all_threads(|| {
                    black_box(&mut middle).copy_from_slice(black_box(&from));
                    black_box(&mut to).copy_from_slice(black_box(&middle));
                    true
                }),
            )
            .measure();
    }
    Ok(())
}

/// Nanoseconds of a call, whichever thread spends them; no number at all if the work fails.
fn all_threads(mut work: impl FnMut() -> bool) -> impl FnMut() -> f64 {
    move || {
        let start = program_nanoseconds();
        let done = (0..CALLS).all(|_| work());
        let taken = (program_nanoseconds() - start) / f64::from(CALLS);
        if done { taken } else { f64::NAN }
    }
}
