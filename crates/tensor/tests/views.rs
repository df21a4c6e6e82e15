//! Views against a model: every element is the one it should be, however it is reached.

use std::collections::HashSet;

use proptest::prelude::*;
use tenure_layout::Error as LayoutError;
use tenure_tensor::{Error, Quantization, Tensor, TensorMemory};

#[path = "common/model.rs"]
mod model;

use model::{indices, steps, walk};

const MEM: Option<TensorMemory> = Some(TensorMemory::Mem);

fn numbered(shape: &[usize]) -> Tensor<u32> {
    let values: Vec<u32> = (0..shape.iter().product::<usize>() as u32).collect();
    Tensor::from_slice(&values, shape).unwrap()
}

fn shapes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1usize..6, 0..4)
}

fn cases() -> ProptestConfig {
    let cases = if cfg!(miri) { 4 } else { 1000 };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn flat(tensor: &Tensor<u32>) -> Vec<u32> {
    let mut flat = vec![0; tensor.flat_bytes()];
    tensor.copy_to_flat(&mut flat).unwrap();
    flat.chunks(4).map(|four| u32::from_ne_bytes(four.try_into().unwrap())).collect()
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn views_show_the_elements_of_the_model(shape in shapes(), steps in steps()) {
        let whole = numbered(&shape);
        let (view, model) = walk(&whole, &steps);
        prop_assert_eq!(view.shape(), &model.shape[..]);
        prop_assert_eq!(view.len(), model.origin.len());
        let map = view.map_strided_read().unwrap();
        for index in indices(&model.shape) {
            prop_assert_eq!(map.get(&index).map(|value| *value as usize), Some(model.at(&index)));
        }
        let mut beyond = model.shape.clone();
        prop_assert_eq!(map.get(&beyond).copied().filter(|_| view.rank() > 0), None);
        beyond.push(0);
        prop_assert_eq!(map.get(&beyond), None);
        let expected: Vec<u32> = model.origin.iter().map(|n| *n as u32).collect();
        prop_assert_eq!(&flat(&view), &expected);
        let copy = view.to(MEM).unwrap();
        prop_assert!(copy.is_contiguous() && !copy.aliases(&whole));
        prop_assert!(copy.map_read().unwrap().as_slice() == expected);
        prop_assert!(view.map_strided_read().unwrap().iter().eq(&expected));
        match view.map_read() {
            Ok(map) => prop_assert!(view.is_contiguous() && map.as_slice() == expected),
            Err(Error::NotContiguous { .. }) => prop_assert!(!view.is_contiguous()),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn views_write_the_elements_of_the_model(shape in shapes(), steps in steps()) {
        let whole = numbered(&shape);
        let (view, model) = walk(&whole, &steps);
        let seen: HashSet<usize> = model.origin.iter().copied().collect();
        let twice = seen.len() < model.origin.len();
        match view.map_strided() {
            Ok(mut map) => {
                prop_assert!(!twice);
                for index in indices(&model.shape) {
                    *map.get_mut(&index).unwrap() += 1000;
                }
            }
            Err(Error::Overlapping { .. }) => prop_assert!(twice),
            Err(other) => panic!("{other}"),
        }
        for (n, value) in whole.map_read().unwrap().as_slice().iter().enumerate() {
            let written = !twice && seen.contains(&n);
            prop_assert_eq!(*value as usize, if written { n + 1000 } else { n });
        }
        // Filling needs no order, so a place that stands for several elements is no obstacle.
        view.fill(7).unwrap();
        for (n, value) in whole.map_read().unwrap().as_slice().iter().enumerate() {
            prop_assert_eq!(*value == 7, seen.contains(&n) || n == 7 && !seen.contains(&7));
        }
    }

    #[cfg(feature = "ndarray")]
    #[test]
    fn arrays_show_the_elements_of_the_model(shape in shapes(), steps in steps()) {
        let whole = numbered(&shape);
        let (view, model) = walk(&whole, &steps);
        let map = view.map_strided_read().unwrap();
        if let Some(array) = map.array() {
            prop_assert_eq!(array.shape(), &model.shape[..]);
            let values: Vec<usize> = array.iter().map(|value| *value as usize).collect();
            prop_assert_eq!(values, model.origin);
        }
    }

    #[test]
    fn two_views_alias_if_they_share_an_element(
        shape in shapes(), first in steps(), second in steps(),
    ) {
        let whole = numbered(&shape);
        let ((a, model_a), (b, model_b)) = (walk(&whole, &first), walk(&whole, &second));
        let share = model_a.origin.iter().any(|origin| model_b.origin.contains(origin));
        prop_assert_eq!(a.aliases(&b), share, "{:?} {:?}", a, b);
        prop_assert_eq!(b.aliases(&a), share);
        prop_assert!(!a.aliases(&numbered(&shape)));
        // Whoever writes one of them keeps the other from being read, unless they lie apart.
        if let Ok(_writer) = a.map_strided() {
            prop_assert!(!share || b.map_strided_read().is_err());
        }
    }

    #[test]
    fn copies_between_views_of_one_tensor(shape in shapes(), first in steps(), second in steps()) {
        let whole = numbered(&shape);
        let ((to, model_to), (from, model_from)) = (walk(&whole, &first), walk(&whole, &second));
        let mut expected: Vec<usize> = (0..whole.len()).collect();
        let possible = model_to.shape == model_from.shape;
        match to.copy_from(&from) {
            Ok(()) => {
                prop_assert!(possible);
                for (to, from) in model_to.origin.iter().zip(&model_from.origin) {
                    expected[*to] = *from;
                }
            }
            Err(error) => {
                let share = model_to.origin.iter().any(|n| model_from.origin.contains(n));
                let overlaps = matches!(error, Error::Overlapping { .. });
                let differs = matches!(error, Error::Layout(LayoutError::ShapeMismatch { .. }));
                prop_assert!(share || overlaps || differs, "{}", error);
                prop_assert!(!differs || !possible);
            }
        }
        let map = whole.map_read().unwrap();
        let values: Vec<usize> = map.as_slice().iter().map(|value| *value as usize).collect();
        prop_assert_eq!(values, expected);
    }

    /// Whatever is done to a tensor quantised by axis: an element keeps its scale.
    #[test]
    fn scales_follow_their_elements(
        shape in prop::collection::vec(1usize..6, 1..4), axis in 0usize..12, steps in steps(),
    ) {
        let axis = axis % shape.len();
        let scales: Vec<f32> = (0..shape[axis]).map(|n| n as f32 + 1.0).collect();
        let points: Vec<i32> = (0..shape[axis]).map(|n| n as i32 * 10).collect();
        let quantization = Quantization::per_axis(scales, points, axis).unwrap();
        let whole = Tensor::<i32>::new(&shape, MEM, None).unwrap();
        let whole = whole.with_quantization(quantization).unwrap();
        let inner: usize = shape[axis + 1..].iter().product();
        let (view, model) = walk(&whole, &steps);
        let Some(kept) = view.quantization() else {
            prop_assert!(view.is_empty());
            return Ok(());
        };
        kept.check_shape(view.shape()).unwrap();
        for index in indices(&model.shape) {
            let original = model.at(&index) / inner % shape[axis];
            let at = kept.axis().map_or(0, |axis| index[axis]);
            let (scale, point) = (original as f32 + 1.0, original as f32 * 10.0);
            prop_assert_eq!(kept.dequantize(100, at), scale * (100.0 - point));
        }
    }
}

#[test]
fn what_is_not_there_is_refused() {
    let t = numbered(&[2, 3, 4]);
    #[expect(clippy::reversed_empty_ranges, reason = "that is what is refused")]
    let backwards = 2..1;
    for (axis, range) in [(0, 0..3), (1, 3..4), (2, 4..5), (3, 0..1), (0, backwards)] {
        let error = t.slice(axis, range.clone()).unwrap_err();
        let known = matches!(
            error,
            Error::Layout(LayoutError::RangeOutOfBounds { .. } | LayoutError::NoSuchAxis { .. })
        );
        assert!(known, "{axis} {range:?}: {error:?}");
    }
    assert!(t.slice_step(0, 0..2, 0).is_err());
    assert!(t.slice(0, 0..usize::MAX).is_err() && t.slice(usize::MAX, 0..1).is_err());
    assert_eq!(t.slice_step(2, 0..4, usize::MAX).unwrap().shape(), &[2, 3, 1]);
    let words = t.index(1, 3).unwrap_err().to_string();
    assert!(words.contains("index 3") && words.contains("3 elements"), "{words}");
    for axes in [&[0, 1][..], &[0, 1, 1], &[0, 1, 3], &[0, 1, 2, 3]] {
        assert!(matches!(t.permute(axes), Err(Error::Layout(LayoutError::NotAPermutation { .. }))));
    }
    for shape in [&[5, 5][..], &[24, 2], &[], &[0], &[usize::MAX, 2]] {
        assert!(t.reshape(shape).is_err(), "{shape:?}");
    }
    assert!(t.squeeze(0).is_err() && t.unsqueeze(4).is_err());
    for shape in [&[3, 4][..], &[2, 3, 5], &[2, 1, 4], &[]] {
        assert!(t.broadcast_to(shape).is_err(), "{shape:?}");
    }
    let turned = t.permute(&[2, 0, 1]).unwrap();
    let words = turned.reshape(&[24]).unwrap_err().to_string();
    assert!(words.contains("without a copy"), "{words}");
    let words = turned.map().unwrap_err().to_string();
    assert!(words.contains("map_strided"), "{words}");
    assert!(matches!(turned.map_read(), Err(Error::NotContiguous(strided)) if !strided.rows));
}

#[test]
fn a_view_reaches_nothing_beyond_itself() {
    let t = numbered(&[10, 10]);
    let part = t.slice(0, 3..5).unwrap();
    assert_eq!((part.capacity_bytes(), part.buffer().start()), (80, 120));
    assert!(part.slice(0, 0..3).is_err() && part.buffer().slice(0..81).is_err());
    assert!(part.clone().configure_image(10, 3, tenure_tensor::PixelFormat::Grey, None).is_err());
    // Between the elements of a column lie those of others, which others may write meanwhile.
    let column = t.slice(1, 2..3).unwrap();
    let _writer = column.map_strided().unwrap();
    assert!(t.slice(1, 3..4).unwrap().map_strided_read().is_ok());
    assert!(t.slice(1, 2..4).unwrap().map_strided_read().is_err());
    drop(_writer);
    assert!(t.slice(0, 0..0).unwrap().map_read().is_ok());
}

#[test]
fn reshapes_keep_a_scale_for_every_index_or_are_refused() {
    let quantised = |shape: &[usize], axis: usize| {
        let scales = (0..shape[axis]).map(|n| n as f32 + 1.0).collect();
        let quantization = Quantization::per_axis(scales, vec![], axis).unwrap();
        Tensor::<u8>::new(shape, MEM, None).unwrap().with_quantization(quantization).unwrap()
    };
    let axis_of = |t: &Tensor<u8>, shape: &[usize]| {
        t.reshape(shape).map(|view| view.quantization().unwrap().axis().unwrap())
    };
    let t = quantised(&[3, 8], 0);
    assert_eq!(axis_of(&t, &[3, 2, 4]).unwrap(), 0);
    assert_eq!(axis_of(&t, &[1, 3, 8]).unwrap(), 1);
    for shape in [&[24][..], &[2, 12], &[8, 3]] {
        let words = axis_of(&t, shape).unwrap_err().to_string();
        assert!(words.contains("axis 0") && words.contains(&format!("{shape:?}")), "{words}");
    }
    // The same length on the same axis, but other elements.
    let t = quantised(&[2, 2, 4], 1);
    assert!(axis_of(&t, &[4, 2, 2]).is_err() && axis_of(&t, &[1, 2, 8]).is_err());
    assert_eq!(axis_of(&t, &[2, 2, 2, 2]).unwrap(), 1);
    // One for all elements goes anywhere.
    let all = Quantization::per_tensor(0.5, 0).unwrap();
    let t = Tensor::<u8>::new(&[3, 8], MEM, None).unwrap().with_quantization(all).unwrap();
    assert!(t.reshape(&[2, 12]).unwrap().quantization().is_some());
}
