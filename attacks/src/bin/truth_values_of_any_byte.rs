//! Bytes 2 to 255 in a tensor of truth values, written by somebody who shares the memory. A Rust
//! `bool` of such a byte would be undefined behaviour; what a map gives is not a Rust `bool`.
#![forbid(unsafe_code)]

use std::fs::File;
use std::os::unix::fs::FileExt;

use tenure::{Bool, Tensor, TensorMemory};
use tenure_attacks::refused;

fn main() {
    let tensor = Tensor::<Bool>::new(&[256], Some(TensorMemory::Shm), None).expect("256 bytes");
    let file = File::from(tensor.clone_fd().expect("shared memory has one"));
    let bytes: Vec<u8> = (0..=255).collect();
    file.write_all_at(&bytes, 0).expect("the memory is shared");

    let map = tensor.map_read().expect("free");
    for (byte, stored) in bytes.iter().zip(map.as_slice()) {
        let value: bool = (*stored).into();
        assert_eq!(value, *byte != 0);
        assert_eq!(*stored, Bool::from(*byte != 0));
        assert_eq!(format!("{stored} {stored:?}"), format!("{value} {value}"));
        // Every use of the value takes one of two ways.
        let taken = match stored.get() {
            false => 0,
            true => 1,
        };
        assert_eq!(taken, u8::from(value));
    }
    let array = map.array().expect("contiguous");
    assert_eq!(array.iter().filter(|value| value.get()).count(), 255);
    refused!(tensor.to_dyn().typed::<u8>(), tenure::tensor::Error::WrongElement { .. });

    let copy = Tensor::<Bool>::new(&[256], None, None).expect("256 bytes");
    drop(map);
    copy.copy_from(&tensor).expect("the same type");
    assert_eq!(copy.map_read().expect("free").as_slice()[2], true);
}
