//! Heap memory that the machine does not have, in one piece and in many: an error when it is asked
//! for, not a killed process when it is touched.
#![forbid(unsafe_code)]

use tenure::{Tensor, TensorMemory};

fn tensor(bytes: usize) -> Result<Tensor<u8>, tenure::tensor::Error> {
    Tensor::<u8>::new(&[bytes], Some(TensorMemory::Mem), None)
}

fn main() {
    for bytes in [1 << 40, 1 << 46, 1 << 60] {
        let error = tensor(bytes).expect_err("no machine here has that");
        assert!(error.to_string().contains(&bytes.to_string()), "{error}");
    }
    let mut all = vec![];
    let error = loop {
        assert!(all.len() < 64 << 10, "64 terabytes");
        match tensor(1 << 30) {
            Ok(tensor) => all.push(tensor),
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("bytes are available"), "{error}");
    let count = all.len();
    drop(all);
    let again: Vec<_> = (0..count).map(|_| tensor(1 << 30).expect("there is room")).collect();
    drop(again);
}
