//! Reading memory that nobody has written: what the last user of the heap left, or worse,
//! nothing that is defined at all. New tensors are zero, padding included.
#![forbid(unsafe_code)]

use std::sync::Arc;

use tenure::memory::kind::{mem::Mem, shm::Shm};
use tenure::{Allocator, PixelFormat, Request, Tensor, TensorMemory};

fn main() {
    for memory in [None, Some(TensorMemory::Mem), Some(TensorMemory::Shm)] {
        for size in [0, 1, 255, 4096, 100_000, 1 << 20, (4 << 20) + 1] {
            // Leaves something behind for the next one to find.
            let dirty = vec![0xaau8; size];
            assert!(std::hint::black_box(&dirty).iter().all(|byte| *byte == 0xaa));
            drop(dirty);
            let used = Tensor::<u8>::new(&[size], memory, None).expect("memory");
            used.fill(0xbb).expect("free");
            drop(used);
            let fresh = Tensor::<u8>::new(&[size], memory, None).expect("memory");
            assert!(fresh.map_read().expect("free").as_slice().iter().all(|byte| *byte == 0));
        }
        let image = Tensor::<u8>::image_builder(30, 20, PixelFormat::I420)
            .row_stride(64)
            .memory(memory)
            .build();
        let image = image.expect("an image");
        let whole = image.buffer().read().expect("free");
        assert!(whole.as_bytes().iter().all(|byte| *byte == 0), "padding too");
    }
    let allocators: [Arc<dyn Allocator>; 2] = [Arc::new(Mem), Arc::new(Shm::new())];
    for allocator in allocators {
        let lazy =
            Tensor::<f64>::builder(&[5000]).allocator(&allocator).lazy().build().expect("lazy");
        assert!(lazy.map().expect("made now").as_slice().iter().all(|value| *value == 0.0));
        let raw = allocator.allocate(&Request::new(777).expect("small")).expect("memory");
        let raw = tenure::Buffer::from_raw(raw);
        assert!(raw.read().expect("free").as_bytes().iter().all(|byte| *byte == 0));
    }
}
