//! Copies against the slowest possible model: element by element, by index.

use proptest::prelude::*;
use tenure_layout::DType;

use super::*;
use crate::{Dyn, DynTensor, PixelFormat, TensorMemory};

fn numbered(shape: &[usize]) -> Tensor<u16> {
    let tensor = Tensor::<u16>::new(shape, Some(TensorMemory::Mem), None).unwrap();
    for (n, element) in tensor.map().unwrap().as_mut_slice().iter_mut().enumerate() {
        *element = (n as u16).wrapping_add(1);
    }
    tensor
}

/// Every element by index, in index order.
fn values(tensor: &Tensor<u16>) -> Vec<u16> {
    let map = tensor.map_strided_read().unwrap();
    let mut index = vec![0; tensor.rank()];
    let mut all = vec![];
    for _ in 0..tensor.len() {
        all.push(*map.get(&index).unwrap());
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            if index[axis] < tensor.shape()[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 400 }))]

    #[test]
    fn strided_copies_move_every_element(
        shape in prop::collection::vec(1usize..7, 3), cut in prop::collection::vec((0usize..3, 1usize..3), 3),
        from_order in Just(vec![0usize, 1, 2]).prop_shuffle(), to_order in Just(vec![0usize, 1, 2]).prop_shuffle(),
    ) {
        let mut from = numbered(&shape);
        for (axis, &(start, step)) in cut.iter().enumerate() {
            let start = start.min(shape[axis] - 1);
            from = from.slice_step(axis, start..shape[axis], step).unwrap();
        }
        let from = from.permute(&from_order).unwrap();
        let expected = values(&from);
        let mut wide = [0; 3];
        for (axis, &source) in to_order.iter().enumerate() {
            wide[axis] = from.shape()[source] + 2;
        }
        let whole = numbered(&wide);
        let back: Vec<usize> = (0..3).map(|axis| to_order.iter().position(|&o| o == axis).unwrap()).collect();
        let mut to = whole.permute(&back).unwrap();
        for (axis, &len) in from.shape().iter().enumerate() {
            to = to.slice(axis, 1..1 + len).unwrap();
        }
        to.copy_from(&from).unwrap();
        prop_assert_eq!(values(&to), &expected[..]);
        // Nothing outside the view was touched.
        let kept = values(&whole).iter().enumerate().filter(|(n, value)| **value == *n as u16 + 1).count();
        prop_assert!(kept >= whole.len() - to.len());
        let mut flat = vec![0u8; from.flat_bytes()];
        from.copy_to_flat(&mut flat).unwrap();
        let flat: Vec<u16> = flat.chunks(2).map(|pair| u16::from_ne_bytes([pair[0], pair[1]])).collect();
        prop_assert_eq!(flat, expected);
    }
}

/// Larger than what is turned in the caches, into the middle of something larger.
#[test]
#[cfg_attr(miri, ignore = "takes minutes, and knows no vector registers")]
fn large_matrices_are_transposed() {
    let (rows, columns) = (1031, 1033);
    let from = numbered(&[rows, columns]);
    let whole =
        Tensor::<u16>::new(&[columns + 2, rows + 3], Some(TensorMemory::Mem), None).unwrap();
    let to = whole.slice(0, 1..columns + 1).unwrap().slice(1, 1..rows + 1).unwrap();
    to.copy_from(&from.permute(&[1, 0]).unwrap()).unwrap();
    let (from, whole) = (from.map_read().unwrap(), whole.map_read().unwrap());
    let (from, whole) = (from.as_slice(), whole.as_slice());
    for (at, element) in whole.iter().enumerate() {
        let (column, row) = (at / (rows + 3), at % (rows + 3));
        let inside = (1..=columns).contains(&column) && (1..=rows).contains(&row);
        let expected = if inside { from[(row - 1) * columns + column - 1] } else { 0 };
        assert_eq!(*element, expected, "row {row}, column {column}");
    }
}

#[test]
fn channels_are_split_and_joined() {
    let rows = if cfg!(miri) { 2 } else { 7 };
    for channels in 1..=5 {
        let hwc = numbered(&[rows, 9, channels]);
        let chw = Tensor::<u16>::new(&[channels, rows, 9], Some(TensorMemory::Mem), None).unwrap();
        chw.copy_from(&hwc.permute(&[2, 0, 1]).unwrap()).unwrap();
        assert_eq!(values(&chw), values(&hwc.permute(&[2, 0, 1]).unwrap()));
        let back = Tensor::<u16>::new(&[rows, 9, channels], Some(TensorMemory::Mem), None).unwrap();
        back.copy_from(&chw.permute(&[1, 2, 0]).unwrap()).unwrap();
        assert_eq!(values(&back), values(&hwc));
    }
}

#[test]
fn rows_and_columns_are_exchanged() {
    fn check<T: Element + From<u8>>(rows: usize, columns: usize) {
        let from = Tensor::<T>::new(&[rows, columns], Some(TensorMemory::Mem), None).unwrap();
        for (n, element) in from.map().unwrap().as_mut_slice().iter_mut().enumerate() {
            *element = T::from((n * 7 % 251) as u8);
        }
        let to = Tensor::<T>::new(&[columns, rows], Some(TensorMemory::Mem), None).unwrap();
        to.copy_from(&from.permute(&[1, 0]).unwrap()).unwrap();
        let (from, to) = (from.map_read().unwrap(), to.map_read().unwrap());
        let (from, to) = (from.as_slice(), to.as_slice());
        for row in 0..rows {
            for column in 0..columns {
                let (one, other) = (from[row * columns + column], to[column * rows + row]);
                assert_eq!(one, other, "{row} {column}");
            }
        }
    }
    let sizes = [(16, 16), (17, 33), (5, 20), (20, 5), (64, 64), (65, 130), (5, 100), (100, 5)];
    let under_miri = if cfg!(miri) { 4 } else { sizes.len() };
    for (rows, columns) in sizes.into_iter().take(under_miri) {
        check::<u8>(rows, columns);
        check::<u16>(rows, columns);
        check::<f32>(rows, columns);
        check::<u64>(rows, columns);
    }
}

#[test]
fn one_half_of_an_image_is_copied_to_the_other() {
    let image = numbered(&[4, 8]);
    let (left, right) = (image.slice(1, 0..4).unwrap(), image.slice(1, 4..8).unwrap());
    right.copy_from(&left).unwrap();
    assert_eq!(values(&right), values(&left));
    left.copy_from(&right.slice(0, 0..4).unwrap()).unwrap();
    let shifted = image.slice(1, 1..5).unwrap();
    assert!(shifted.copy_from(&left).is_err());
}

#[test]
fn padded_images_lose_their_padding() {
    for format in [PixelFormat::Nv12, PixelFormat::I420, PixelFormat::Nv24, PixelFormat::Rgb] {
        let mem = Some(TensorMemory::Mem);
        let padded =
            Tensor::<u8>::image_builder(5, 3, format).row_stride(32).memory(mem).build().unwrap();
        padded.fill(9).unwrap();
        let bytes = padded.map_span_read().unwrap().to_vec();
        let samples = padded.image_layout().unwrap().packed_bytes();
        assert_eq!(bytes.iter().filter(|byte| **byte == 9).count(), samples, "{format}");
        let mut flat = vec![0; padded.flat_bytes()];
        padded.copy_to_flat(&mut flat).unwrap();
        assert!(flat.len() == samples && flat.iter().all(|byte| *byte == 9), "{format}");
        assert!(padded.copy_to_flat(&mut vec![0; samples + 1]).is_err());
        let packed = padded.to(mem).unwrap();
        assert_eq!(packed.format(), Some(format));
        let mut again = vec![0; packed.flat_bytes()];
        packed.copy_to_flat(&mut again).unwrap();
        assert_eq!(again, flat);
    }
}

#[test]
fn broadcasts_are_read_but_not_written() {
    let row = numbered(&[1, 4]);
    let wide = row.broadcast_to(&[3, 4]).unwrap();
    let copy = wide.to(Some(TensorMemory::Mem)).unwrap();
    assert_eq!(values(&copy), [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4]);
    assert!(matches!(wide.copy_from(&copy), Err(Error::Overlapping { .. })));
    assert!(matches!(wide.map_strided(), Err(Error::Overlapping { .. })));
}

#[test]
fn packed_four_bit_elements_are_copied_as_bytes() {
    let mem = Some(TensorMemory::Mem);
    let from = Tensor::<Dyn>::new(&[3, 3], DType::I4, mem, None).unwrap();
    from.map().unwrap().as_mut_slice().copy_from_slice(&[0x21, 0x43, 0x65, 0x87, 0x09]);
    let to = from.to(mem).unwrap();
    assert_eq!(to.map_read().unwrap().as_slice(), &[0x21, 0x43, 0x65, 0x87, 0x09]);
}
