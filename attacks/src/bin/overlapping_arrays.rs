//! Mutable `ndarray` views over strides that cross, repeat or run backwards: each element must be
//! reachable once, and be the one that the tensor names.
#![forbid(unsafe_code)]

use tenure::{DType, Layout, Tensor, TensorMemory, tensor::Error};
use tenure_attacks::refused;

fn main() {
    let memory = Tensor::<u16>::new(&[64], Some(TensorMemory::Mem), None).expect("128 bytes");
    let view = |shape: &[usize], strides: &[isize], offset| {
        let layout = Layout::strided(DType::U16, shape, strides, offset).expect("addressable");
        Tensor::<u16>::from_buffer(memory.buffer().clone(), layout).expect("fits")
    };
    for strides in [[1, 1], [2, 2], [0, 1], [1, 0], [2, 3], [-1, 1], [1, -1]] {
        let overlapping = view(&[4, 4], &strides, 64);
        refused!(overlapping.map_strided(), Error::Overlapping { .. });
        if let Some(array) = overlapping.map_strided_read().expect("reading").array() {
            assert_eq!(array.shape(), [4, 4]);
        }
    }
    for (shape, strides, offset) in [
        ([4, 4], [4, 1], 0),
        ([4, 4], [1, 4], 0),
        ([4, 4], [-4, 1], 24),
        ([4, 4], [-4, -1], 30),
        ([4, 4], [1, -4], 24),
        ([3, 2], [-20, 7], 80),
        ([1, 5], [999, 2], 6),
    ] {
        memory.fill(0).expect("free");
        let apart = view(&shape, &strides, offset);
        let mut map = apart.map_strided().expect("no two elements meet");
        let mut array = map.array_mut().expect("expressible");
        array.iter_mut().for_each(|element| *element += 1);
        for (index, element) in array.indexed_iter_mut() {
            *element += 10 * (1 + index[0] * shape[1] + index[1]) as u16;
        }
        for row in 0..shape[0] {
            for column in 0..shape[1] {
                let expected = 1 + 10 * (1 + row * shape[1] + column) as u16;
                assert_eq!(map.get(&[row, column]), Some(&expected), "{shape:?} {strides:?}");
            }
        }
        drop(map);
        let touched = memory.map_read().expect("free");
        let touched = touched.as_slice().iter().filter(|element| **element != 0).count();
        assert_eq!(touched, shape[0] * shape[1], "{shape:?} {strides:?}");
    }
}
