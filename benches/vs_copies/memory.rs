//! Device memory from a pool, and from our division of blocks, beside the driver's own.
#![expect(unsafe_code, reason = "the rival is called as it is")]

use std::hint::black_box;

use ash::vk;
use tenure::gpu;
use tenure::gpu::vulkan::Vulkan;
use tenure::memory::{Allocator, PoolLimits, Request, TensorMemory};
use tenure_benches::{Bench, Error, Unit, per_call};

/// Mebibytes.
const SIZES: [usize; 2] = [1, 64];

/// The first rows of the program: a driver in software has its memory from the C library, which asks
/// the kernel for it, as drivers of hardware do, until the program has freed something larger. From
/// then on it keeps blocks of up to that size, and gives them out again in a tenth of a microsecond.
pub(crate) fn rows(bench: &mut Bench) -> Result<(), Error> {
    for size in SIZES {
        let name = format!("device memory: {size} MiB pooled, taken and given back");
        let Some(row) = bench.row(&name, Unit::Nanoseconds) else { continue };
        let (gpu, rival) = (gpu::open("vulkan:0")?, Vulkan::open(0)?);
        let pool = gpu.pool(TensorMemory::Device, PoolLimits::default())?;
        let bytes = size << 20;
        let request = Request::new(bytes)?;
        drop(pool.allocate(&request)?);
        row.target(1.0 / 20.0)
            .ours(per_call(|| drop(black_box(pool.allocate(&request)))))
            .rival("vkAllocateMemory", per_call(|| driver(&rival, bytes as u64)))
            // What it may cost at most, in nanoseconds.
            .limit(|| 200.0)
            .measure();
    }
    Ok(())
}

/// Memory of the first type, from the driver and back.
fn driver(vulkan: &Vulkan, bytes: u64) {
    let wanted = vk::MemoryAllocateInfo::default().allocation_size(bytes);
    // SAFETY: every device has a first memory type; what was allocated is freed, and used by
    // nobody.
    unsafe {
        if let Ok(memory) = vulkan.raw().allocate_memory(&wanted, None) {
            vulkan.raw().free_memory(black_box(memory), None);
        }
    }
}
