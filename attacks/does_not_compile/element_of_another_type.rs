//! A tensor of one element type taken for another without asking.
#![forbid(unsafe_code)]

use tenure::{Tensor, TensorDyn};

fn main() {
    let floats = Tensor::<f32>::new(&[16], None, None).unwrap();
    let integers: Tensor<u32> = floats;
    let untyped: TensorDyn = integers.to_dyn();
    let again: Tensor<f32> = untyped;
    println!("{again:?}");
}
