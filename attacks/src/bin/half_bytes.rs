//! Views of 4-bit elements that start or end inside a byte, to read or write the neighbour that
//! lives in its other half.
#![forbid(unsafe_code)]

use tenure::{DType, DynTensor, Layout, Tensor, TensorDyn, TensorMemory};
use tenure_attacks::{layout, memory, refused};

fn main() {
    let new = |shape: &[usize]| TensorDyn::new(shape, DType::U4, Some(TensorMemory::Mem), None);
    let tensor = new(&[4, 6]).expect("12 bytes");
    refused!(tensor.slice(1, 1..3), layout!(SubByte { .. }));
    refused!(tensor.slice(1, 3..6), layout!(SubByte { .. }));
    refused!(tensor.slice_step(1, 0..6, 2), layout!(SubByte { .. }));
    refused!(tensor.index(1, 0), layout!(SubByte { .. }));
    refused!(tensor.permute(&[1, 0]), layout!(SubByte { .. }));
    refused!(tensor.reshape(&[24]).expect("flat").slice(0, 1..2), layout!(SubByte { .. }));
    // Rows of three elements begin inside a byte, every other one.
    let odd = tensor.reshape(&[8, 3]).expect("contiguous");
    refused!(odd.index(0, 1), layout!(SubByte { .. }));
    refused!(odd.slice(0, 1..2), layout!(SubByte { .. }));
    let crossed = Layout::strided(DType::U4, &[2, 3], &[3, 1], 0);
    let strided = |layout| TensorDyn::from_buffer(tensor.buffer().clone(), layout);
    if let Ok(view) = crossed.map_err(tenure::tensor::Error::from).and_then(strided) {
        assert!(view.is_contiguous(), "only because that is how they are packed");
    }
    let backwards = Layout::strided(DType::U4, &[4], &[-1], 4);
    refused!(backwards, tenure::layout::Error::SubByte { .. });
    refused!(tensor.typed::<u8>(), tenure::tensor::Error::WrongElement { .. });

    // Two views never share a byte, unless they overlap and the ledger sees it.
    let flat = tensor.reshape(&[24]).expect("flat");
    refused!(flat.slice(0, 0..3), layout!(SubByte { .. }));
    refused!(flat.slice(0, 22..23), layout!(SubByte { .. }));
    refused!(odd.index(0, 0), layout!(SubByte { .. }));
    refused!(tensor.slice(1, 0..5), layout!(SubByte { .. }));
    let (low, high) = (flat.slice(0, 0..4).expect("bytes"), flat.slice(0, 2..6).expect("bytes"));
    let held = low.map().expect("free");
    refused!(high.map(), memory!(Busy { .. }));
    assert_eq!((held.as_slice().len(), low.aliases(&high)), (2, true));
    drop(held);

    // The last element of an odd number has its byte for itself.
    let five = new(&[5]).expect("3 bytes");
    let three = new(&[3]).expect("2 bytes");
    three.map().expect("free").as_mut_slice().fill(0xff);
    five.slice(0, 2..5).expect("to the end").copy_from(&three).expect("as many");
    assert_eq!(five.map_read().expect("free").as_slice()[..2], [0, 0xff]);
    refused!(five.slice(0, 2..5).expect("to the end").slice(0, 0..1), layout!(SubByte { .. }));
    let bytes = Tensor::<u8>::new(&[3], None, None).expect("3 bytes");
    refused!(bytes.to_dyn().copy_from(&three), layout!(DTypeMismatch { .. }));
}
