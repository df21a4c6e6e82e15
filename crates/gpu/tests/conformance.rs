//! The suite of every memory, for what a device makes that the CPU reaches: the test device, or the
//! one that `TENURE_TEST_DEVICE` names.
#![cfg(linux_like)]

use suite::variant::Variant;
use tenure_gpu::{Gpu, testing::TestDevice};
use tenure_memory::{Allocator, LogicalMemorySpace, RawBuffer, Request, Result, TensorMemory};

#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "../../memory/tests/common/resources.rs"]
mod resources;
#[path = "../../memory/tests/conformance/suite.rs"]
mod suite;

/// An allocator that can be owned.
struct Made(std::sync::Arc<dyn Allocator>);

impl Allocator for Made {
    fn memory(&self) -> TensorMemory {
        self.0.memory()
    }

    fn space(&self) -> LogicalMemorySpace {
        self.0.space()
    }

    fn allocate(&self, request: &Request<'_>) -> Result<RawBuffer> {
        self.0.allocate(request)
    }
}

fn with_variants(work: impl FnOnce(&[Variant])) {
    let gpu = match std::env::var("TENURE_TEST_DEVICE") {
        Ok(word) => tenure_gpu::open(&word).unwrap(),
        Err(_) => Gpu::over(TestDevice::new()).unwrap(),
    };
    let properties = gpu.properties();
    let mut all = vec![];
    for &memory in properties.memories.iter().filter(|memory| **memory != TensorMemory::Device) {
        let made = Made(gpu.allocator(memory).unwrap());
        let variant = Variant::new(format!("{memory} of {}", properties.name), made);
        all.extend([variant.pooled(), variant]);
    }
    work(&all);
}
