//! The descriptor that pools are not told of, without promising to let go of it in time.
#![forbid(unsafe_code)]

use tenure::Tensor;

fn main() {
    let tensor = Tensor::<u8>::new(&[16], None, None).unwrap();
    let fd = tensor.buffer().raw().unwrap().device_descriptor().unwrap();
    println!("{fd:?}");
}
