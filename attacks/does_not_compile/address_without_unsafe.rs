//! The address of the bytes without an entry in the ledger, without promising anything.
#![forbid(unsafe_code)]

use tenure::Tensor;

fn main() {
    let tensor = Tensor::<u8>::new(&[16], None, None).unwrap();
    let address = tensor.buffer().as_ptr().unwrap();
    println!("{address:?}");
}
