//! An allocator of one's own, in safe code, that gives less than it was asked for, or another
//! memory than it says. Whoever believes it must find out before a byte is touched.
#![forbid(unsafe_code)]

use std::sync::Arc;

use tenure::memory::kind::{self, mem::Mem};
use tenure::memory::{Error, Result};
use tenure::{
    Allocator, Buffer, LogicalMemorySpace, Pool, PoolLimits, RawBuffer, Request, Tensor,
    TensorMemory,
};
use tenure_attacks::refused;

/// Gives a few bytes, whatever was asked.
struct Miser;

impl Allocator for Miser {
    fn memory(&self) -> TensorMemory {
        TensorMemory::Device
    }

    fn space(&self) -> LogicalMemorySpace {
        LogicalMemorySpace::GpuMemory { device_id: 7 }
    }

    fn allocate(&self, request: &Request<'_>) -> Result<RawBuffer> {
        Mem.allocate(&Request::new(request.bytes().min(300))?)
    }
}

/// A tensor that should have 4096 bytes: refused when made, or never seen with more than there are.
fn starves(made: Result<Tensor<u8>, tenure::tensor::Error>) {
    let Ok(tensor) = made else { return };
    for attack in [Ok(tensor.clone()), tensor.slice(0, 1000..4096)].into_iter().flatten() {
        assert!(attack.map().is_err() && attack.map_read().is_err() && attack.fill(1).is_err());
        assert!(attack.to(None).is_err());
    }
    if let Ok(part) = tensor.slice(0, 0..16).and_then(|part| part.map()) {
        assert_eq!(part.as_slice().len(), 16);
    }
}

fn main() {
    starves(Tensor::<u8>::builder(&[4096]).allocator(&Miser).build());
    starves(Tensor::<u8>::builder(&[4096]).allocator(&Arc::new(Miser)).lazy().build());
    let pool = Pool::over(Arc::new(Miser), PoolLimits::default());
    for _ in 0..3 {
        starves(Tensor::<u8>::builder(&[4096]).allocator(&pool).build());
        starves(Tensor::<u8>::builder(&[4000]).allocator(&pool).build());
    }

    let request = Request::new(4096).expect("small");
    let lazy = Buffer::lazy_in(Arc::new(Miser), &request);
    assert!(lazy.write().is_err() && lazy.read_range(300..301).is_err());
    // As an arena it has room for nothing that it does not have.
    let mem = kind::allocator(TensorMemory::Mem).expect("the heap");
    let inside = Buffer::lazy(mem, 256, None).expect("lazy");
    if inside.place_in(&lazy, 1024).is_ok() {
        refused!(inside.write(), Error::OutOfBounds { .. });
        refused!(inside.read_range(0..1), Error::OutOfBounds { .. });
    }
}
