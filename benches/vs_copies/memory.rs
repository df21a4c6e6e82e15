//! Device memory from a pool, and from our division of blocks, beside the driver's own.
#![expect(unsafe_code, reason = "the rival is called as it is")]

use std::hint::black_box;

use ash::vk;
use tenure::gpu;
use tenure::gpu::vulkan::Vulkan;
use tenure::memory::{Allocator, PoolLimits, Request, TensorMemory};
use tenure_benches::{Bench, Error, Unit, per_call};

const BYTES: usize = 1 << 20;

pub(crate) fn rows(bench: &mut Bench) -> Result<(), Error> {
    if let Some(row) = bench.row("device memory: pooled, taken and given back", Unit::Nanoseconds) {
        let (gpu, rival) = (gpu::open("vulkan:0")?, Vulkan::open(0)?);
        let pool = gpu.pool(TensorMemory::Device, PoolLimits::default())?;
        let request = Request::new(BYTES)?;
        drop(pool.allocate(&request)?);
        row.target(1.0 / 20.0)
            .ours(per_call(|| drop(black_box(pool.allocate(&request)))))
            .rival("vkAllocateMemory", per_call(|| driver(&rival)))
            // What it may cost at most, in nanoseconds.
            .limit(|| 200.0)
            .measure();
    }
    Ok(())
}

/// Memory of the first type, from the driver and back.
fn driver(vulkan: &Vulkan) {
    let wanted = vk::MemoryAllocateInfo::default().allocation_size(BYTES as u64);
    // SAFETY: every device has a first memory type; what was allocated is freed, and used by
    // nobody.
    unsafe {
        if let Ok(memory) = vulkan.raw().allocate_memory(&wanted, None) {
            vulkan.raw().free_memory(black_box(memory), None);
        }
    }
}
