//! Elements off their alignment are refused where the tensor is made.
#![expect(unsafe_code, reason = "adopts foreign memory that starts where it likes")]

use std::ptr::NonNull;
use std::sync::Arc;

use tenure_memory::kind::{self, foreign};
use tenure_memory::{Allocator, Buffer, Request};
use tenure_tensor::{DType, Error, Layout, Tensor, TensorDyn, TensorMemory};

fn floats() -> Layout {
    Layout::contiguous(DType::F32, &[4]).unwrap()
}

fn refused<T>(made: Result<T, Error>) -> bool {
    matches!(made, Err(Error::MisalignedAddress(it)) if (it.dtype, it.align) == (DType::F32, 4))
}

/// Bytes of which the first is `off` an alignment of 16, and whose owner is not us.
fn foreign_bytes(off: usize) -> Buffer {
    let mut theirs = vec![0u128; 8];
    let first = theirs.as_mut_ptr().cast::<u8>().wrapping_add(off);
    // SAFETY: the Vec's heap block stays in place while the Vec lives, which moves into the buffer;
    // 64 bytes from `off` are inside its 128.
    let raw = unsafe {
        foreign::adopt(NonNull::new(first), 64, foreign::Description::HEAP, theirs, None)
    };
    Buffer::from_raw(raw.unwrap())
}

#[test]
fn the_start_of_the_buffer_counts() {
    let bytes = Tensor::<u8>::new(&[64], Some(TensorMemory::Mem), None).unwrap();
    for start in [1, 2, 3, 5, 33] {
        let cut = bytes.buffer().slice(start..start + 16).unwrap();
        assert!(refused(Tensor::<f32>::from_buffer(cut.clone(), floats())), "{start}");
        assert!(refused(TensorDyn::from_buffer(cut, floats())), "{start}");
    }
    let cut = bytes.buffer().slice(12..28).unwrap();
    Tensor::<f32>::from_buffer(cut, floats()).unwrap().map().unwrap().fill(1.0);
}

#[test]
fn the_address_counts_and_not_the_offset() {
    assert!(refused(Tensor::<f32>::from_buffer(foreign_bytes(2), floats())));
    let second = foreign_bytes(2).slice(2..18).unwrap();
    assert!(Tensor::<f32>::from_buffer(second, floats()).unwrap().map().is_ok());
    // Seen as other elements, too.
    let layout = Layout::contiguous(DType::U8, &[16]).unwrap();
    let bytes = Tensor::<u8>::from_buffer(foreign_bytes(2), layout).unwrap();
    assert!(matches!(bytes.view_as::<f32>(), Err(Error::NotReinterpretable(_))));
    assert!(bytes.slice(0, 2..14).unwrap().view_as::<f32>().unwrap().map().is_ok());
}

#[test]
fn lazy_buffers_are_what_they_were_asked_for() {
    let heap: Arc<dyn Allocator> = Arc::new(kind::allocator(TensorMemory::Mem).unwrap());
    let lazy = || Buffer::lazy_in(Arc::clone(&heap), &Request::new(64).unwrap());
    let buffer = lazy();
    let cut = buffer.slice(2..18).unwrap();
    assert!(refused(Tensor::<f32>::from_buffer(cut.clone(), floats())));
    let tensor = Tensor::<f32>::from_buffer(buffer.slice(4..20).unwrap(), floats()).unwrap();
    assert!(!buffer.is_placed(), "asking places nothing");
    tensor.map().unwrap().fill(2.0);
    assert!(refused(Tensor::<f32>::from_buffer(cut, floats())), "placed, it is the same");
}

#[test]
fn what_has_no_elements_has_no_alignment() {
    let bytes = Tensor::<u8>::new(&[4], Some(TensorMemory::Mem), None).unwrap();
    let none = Layout::contiguous(DType::F32, &[0]).unwrap();
    let empty = Tensor::<f32>::from_buffer(bytes.buffer().slice(1..1).unwrap(), none).unwrap();
    assert!(empty.map_read().unwrap().is_empty());
}
