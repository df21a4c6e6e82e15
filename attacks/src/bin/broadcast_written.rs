//! Writing through views that show one place as many elements: broadcasts and sliding windows.
//! Two mutable references to one element would follow.
#![forbid(unsafe_code)]

use tenure::{DType, Layout, Tensor, tensor::Error};
use tenure_attacks::refused;

fn main() {
    let row = Tensor::from_slice(&[1u8, 2, 3, 4], &[1, 4]).expect("4 bytes");
    let wide = row.broadcast_to(&[3, 4]).expect("a broadcast");
    let source = Tensor::from_slice(&[9u8; 12], &[3, 4]).expect("12 bytes");
    refused!(wide.map(), Error::NotContiguous { .. });
    refused!(wide.map_read(), Error::NotContiguous { .. });
    refused!(wide.map_strided(), Error::Overlapping { .. });
    refused!(wide.copy_from(&source), Error::Overlapping { .. });
    refused!(wide.permute(&[1, 0]).expect("axes").map_strided(), Error::Overlapping { .. });
    assert_eq!(wide.map_strided_read().expect("reading").get(&[2, 3]), Some(&4));

    let flat = Tensor::from_slice(&[1u8, 2, 3, 4, 5, 6, 7, 8], &[8]).expect("8 bytes");
    for (shape, strides) in
        [([3, 2], [1, 1]), ([2, 3], [1, 1]), ([2, 2], [2, 2]), ([2, 4], [0, 1]), ([3, 2], [1, 0])]
    {
        let layout = Layout::strided(DType::U8, &shape, &strides, 0).expect("addressable");
        let view = Tensor::<u8>::from_buffer(flat.buffer().clone(), layout).expect("fits");
        refused!(view.map_strided(), Error::Overlapping { .. });
        let other = Tensor::<u8>::new(&shape, None, None).expect("memory");
        refused!(view.copy_from(&other), Error::Overlapping { .. });
        if view.map().is_ok() {
            panic!("a slice of {shape:?} at {strides:?}");
        }
        // Filling puts the same value everywhere, so it harms nobody.
        view.fill(5).expect("free");
    }
}
