//! Reading bytes as elements of another type: through tensors of unknown type, layouts, buffers,
//! descriptors and copies.
#![forbid(unsafe_code)]

use tenure::{Bool, DType, DynTensor, Layout, Tensor, TensorDyn, TensorMemory, tensor::Error};
use tenure_attacks::{layout, memory, refused};

fn main() {
    let floats = Tensor::<f32>::new(&[16], Some(TensorMemory::Shm), None).expect("64 bytes");
    let untyped = floats.to_dyn();
    refused!(untyped.typed::<u8>(), Error::WrongElement { .. });
    refused!(untyped.typed::<u32>(), Error::WrongElement { .. });
    refused!(untyped.typed::<f64>(), Error::WrongElement { .. });
    refused!(untyped.typed::<Bool>(), Error::WrongElement { .. });
    refused!(floats.typed::<i32>(), Error::WrongElement { .. });
    untyped.typed::<f32>().expect("what it is").map().expect("free").as_mut_slice()[0] = 1.0;

    let layout = |dtype, shape: &[usize]| Layout::contiguous(dtype, shape).expect("small");
    let buffer = || floats.buffer().clone();
    let wrong = Tensor::<u8>::from_buffer(buffer(), layout(DType::F32, &[16]));
    refused!(wrong, Error::WrongElement { .. });
    let wrong = Tensor::<f32>::from_buffer(buffer(), layout(DType::U32, &[16]));
    refused!(wrong, Error::WrongElement { .. });
    let wrong = Tensor::<Bool>::from_buffer(buffer(), layout(DType::U8, &[64]));
    refused!(wrong, Error::WrongElement { .. });
    // Types that share a byte have no Rust type at all.
    let packed = TensorDyn::new(&[16], DType::U4, None, None).expect("8 bytes");
    refused!(packed.typed::<u8>(), Error::WrongElement { .. });
    assert_eq!(packed.map().expect("bytes").as_slice().len(), 8);
    // A wider type over the same bytes does not fit.
    let wrong = TensorDyn::from_buffer(buffer(), layout(DType::F64, &[16]));
    refused!(wrong, layout!(OutOfBounds { .. }));
    let wrong = layout(DType::U8, &[16]).with_dtype(DType::U16);
    refused!(wrong, tenure::layout::Error::DTypeMismatch { .. });
    let fd = floats.clone_fd().expect("it has one");
    refused!(Tensor::<f64>::from_fd(&fd, &[1 << 20], None), memory!(TooShort { .. }));

    let integers = Tensor::<u32>::new(&[16], None, None).expect("64 bytes");
    refused!(integers.copy_from(&floats), layout!(DTypeMismatch { .. }));
    refused!(integers.to_dyn().copy_from(&untyped), layout!(DTypeMismatch { .. }));

    // Any bytes are values of every element type there is.
    let junk = TensorDyn::new(&[64], DType::U8, Some(TensorMemory::Mem), None).expect("64 bytes");
    junk.map().expect("free").as_mut_slice().fill(0xff);
    let nan = Layout::contiguous(DType::F64, &[8]).expect("small");
    let nan = Tensor::<f64>::from_buffer(junk.buffer().clone(), nan).expect("fits");
    assert!(nan.map().expect("aligned").as_slice()[0].is_nan());
    let truth = Layout::contiguous(DType::Bool, &[64]).expect("small");
    let truth = Tensor::<Bool>::from_buffer(junk.buffer().clone(), truth).expect("fits");
    assert!(truth.map_read().expect("free").as_slice().iter().all(|value| value.get()));
}
