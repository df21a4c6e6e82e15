//! Layouts against a slow model: the list of byte offsets of all elements.

use proptest::prelude::*;

use super::*;
use crate::{Walk, WalkPair};

/// Byte offset of every element in index order.
fn places(layout: &Layout) -> Vec<usize> {
    let mut all = vec![];
    let mut index = vec![0; layout.rank()];
    for _ in 0..layout.elements() {
        all.push(layout.element_offset(&index).unwrap());
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            if index[axis] < layout.shape()[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    all
}

fn check_span(layout: &Layout) {
    let places = places(layout);
    let size = layout.dtype().size().unwrap();
    let low = places.iter().min().copied().unwrap_or(layout.offset());
    let high = places.iter().map(|place| place + size).max().unwrap_or(layout.offset());
    assert_eq!(layout.span(), low..high, "{layout:?}");
    let rising = places.windows(2).all(|pair| pair[0] < pair[1]);
    assert_eq!(layout.is_row_major(), rising || places.len() <= 1, "{layout:?}");
    let packed = places.windows(2).all(|pair| pair[0] + size == pair[1]);
    assert_eq!(layout.is_contiguous(), packed || places.len() <= 1, "{layout:?}");
    let mut sorted = places.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() != places.len() {
        assert!(layout.may_self_overlap(), "{layout:?}");
    }
}

#[test]
fn refuses_what_cannot_be_addressed() {
    assert!(Layout::contiguous(DType::F64, &[usize::MAX / 8]).is_err());
    assert!(Layout::contiguous(DType::U8, &[isize::MAX as usize]).is_ok());
    assert!(Layout::contiguous(DType::U8, &[1; 65]).is_err());
    assert!(Layout::strided(DType::U8, &[2], &[-1], 0).is_err());
    assert!(Layout::strided(DType::U8, &[2], &[-1], 1).is_ok());
    assert!(Layout::strided(DType::U8, &[2, 2], &[1], 0).is_err());
    assert!(Layout::strided(DType::F32, &[3], &[isize::MAX / 2], 0).is_err());
    assert!(Layout::strided(DType::U8, &[1], &[isize::MIN], usize::MAX).is_err());
}

#[test]
fn rank_zero_and_empty_layouts_exist() {
    let scalar = Layout::contiguous(DType::F32, &[]).unwrap();
    assert_eq!((scalar.elements(), scalar.span()), (1, 0..4));
    let empty = Layout::contiguous(DType::F32, &[3, 0, 2]).unwrap();
    assert_eq!((empty.elements(), empty.span()), (0, 0..0));
    assert!(empty.index(1, 0).is_err());
    assert_eq!(empty.slice(0, 3, 3, 1).unwrap().elements(), 0);
    let wild = Layout::strided(DType::F32, &[0, 5], &[isize::MAX, isize::MIN], 8).unwrap();
    assert_eq!(wild.index(1, 4).unwrap().span(), 8..8);
    assert_eq!(wild.slice(1, 1, 5, 2).unwrap().shape(), &[0, 2]);
}

#[test]
fn four_bit_views_start_on_bytes() {
    let packed = Layout::contiguous(DType::I4, &[3, 3]).unwrap();
    assert_eq!(packed.span(), 0..5);
    assert!(matches!(packed.index(0, 1), Err(Error::SubByte { .. })));
    let even = Layout::contiguous(DType::I4, &[4, 6]).unwrap();
    assert_eq!(even.index(0, 1).unwrap().span(), 3..6);
    assert_eq!(even.slice(0, 1, 3, 1).unwrap().span(), 3..9);
    assert!(even.slice(1, 1, 3, 1).is_err());
    assert_eq!(even.slice(1, 2, 4, 1).unwrap().span(), 1..11);
    assert!(even.permute(&[1, 0]).is_err());
}

#[test]
fn reshape_splits_and_joins_what_chains() {
    let whole = Layout::contiguous(DType::U8, &[4, 6]).unwrap();
    let padded = Layout::strided(DType::U8, &[4, 6], &[8, 1], 0).unwrap();
    assert!(padded.reshape(&[24]).is_err());
    assert_eq!(padded.reshape(&[4, 2, 3]).unwrap().strides(), &[8, 3, 1]);
    assert_eq!(padded.reshape(&[2, 2, 6]).unwrap().strides(), &[16, 8, 1]);
    assert_eq!(whole.reshape(&[24, 1]).unwrap().shape(), &[24, 1]);
    assert!(whole.reshape(&[5, 5]).is_err());
    assert!(whole.reshape(&[usize::MAX, usize::MAX]).is_err());
}

fn shapes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0usize..5, 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 512 }))]

    #[test]
    fn spans_are_exact(shape in shapes(), steps in prop::collection::vec(-7isize..8, 4), offset in 0usize..200) {
        if let Ok(layout) = Layout::strided(DType::U16, &shape, &steps[..shape.len()], offset) {
            check_span(&layout);
        }
    }

    #[test]
    fn views_pick_the_elements_of_the_model(
        shape in prop::collection::vec(1usize..5, 1..4), axis in 0usize..3,
        start in 0usize..5, len in 0usize..5, step in 1usize..4,
    ) {
        let layout = Layout::contiguous(DType::U16, &shape).unwrap();
        let view = layout.slice(axis, start, start + len, step);
        let valid = axis < shape.len() && start + len <= shape[axis];
        prop_assert_eq!(view.is_ok(), valid);
        if let Ok(view) = view {
            check_span(&view);
            let all = places(&layout);
            let inner: usize = shape[axis + 1..].iter().product();
            let model: Vec<usize> = all.iter().enumerate()
                .filter(|(n, _)| {
                    let at = n / inner % shape[axis];
                    at >= start && at < start + len && (at - start).is_multiple_of(step)
                })
                .map(|(_, place)| *place).collect();
            prop_assert_eq!(places(&view), model);
        }
    }

    #[test]
    fn reshape_keeps_the_order_of_elements(
        shape in prop::collection::vec(1usize..5, 1..4), target in prop::collection::vec(1usize..9, 0..4),
        axis in 0usize..3, cut in 0usize..2,
    ) {
        let mut layout = Layout::contiguous(DType::U16, &shape).unwrap();
        if axis < shape.len() && shape[axis] > cut {
            layout = layout.slice(axis, cut, shape[axis], 1).unwrap();
        }
        if let Ok(other) = layout.reshape(&target) {
            prop_assert_eq!(places(&other), places(&layout));
        }
    }

    #[test]
    fn permute_and_back_is_nothing(shape in prop::collection::vec(1usize..5, 3), order in Just(vec![0usize, 1, 2]).prop_shuffle()) {
        let layout = Layout::contiguous(DType::U16, &shape).unwrap();
        let there = layout.permute(&order).unwrap();
        check_span(&there);
        let back: Vec<usize> = (0..3).map(|axis| order.iter().position(|&o| o == axis).unwrap()).collect();
        prop_assert_eq!(there.permute(&back).unwrap(), layout);
    }
}

#[test]
fn permutations_are_checked() {
    let layout = Layout::contiguous(DType::U8, &[2, 3]).unwrap();
    assert!(layout.permute(&[0, 0]).is_err());
    assert!(layout.permute(&[0]).is_err());
    assert!(layout.permute(&[0, 2]).is_err());
}

#[test]
fn broadcast_repeats_with_stride_zero() {
    let layout = Layout::contiguous(DType::U8, &[3, 1]).unwrap();
    let wide = layout.broadcast_to(&[2, 3, 5]).unwrap();
    assert_eq!((wide.strides(), wide.span()), (&[0, 1, 0][..], 0..3));
    assert!(wide.may_self_overlap());
    assert!(layout.broadcast_to(&[2, 4, 5]).is_err());
    assert!(layout.broadcast_to(&[3]).is_err());
    assert!(layout.broadcast_to(&[usize::MAX, 3, 5]).is_err());
}

#[test]
fn squeeze_and_unsqueeze() {
    let layout = Layout::contiguous(DType::U8, &[3, 1, 2]).unwrap();
    assert_eq!(layout.squeeze(1).unwrap().shape(), &[3, 2]);
    assert!(layout.squeeze(0).is_err());
    assert_eq!(layout.unsqueeze(3).unwrap().shape(), &[3, 1, 2, 1]);
    assert_eq!(layout.unsqueeze(0).unwrap().strides(), &[6, 2, 2, 1]);
    assert!(layout.unsqueeze(4).is_err());
}

#[test]
fn the_lowest_element_can_come_first() {
    let cases: [(&[usize], &[isize], usize, usize); 6] = [
        (&[], &[], 0, 4),
        (&[2, 3], &[3, 1], 0, 24),
        (&[2, 3], &[-3, -1], 20, 24),
        (&[2, 3], &[3, -2], 16, 32),
        (&[4, 2], &[0, 1], 0, 8),
        (&[3, 0], &[isize::MIN, isize::MAX], 0, 0),
    ];
    for (shape, strides, offset, bytes) in cases {
        let layout = Layout::from_lowest(DType::F32, shape, strides).unwrap();
        assert_eq!((layout.offset(), layout.span()), (offset, 0..bytes), "{shape:?} {strides:?}");
    }
    let halves = Layout::from_lowest(DType::U4, &[2, 2], &[-2, 1]).unwrap();
    assert_eq!((halves.offset(), halves.span()), (1, 0..2));
    for strides in [[isize::MIN, 1], [isize::MAX, isize::MAX], [isize::MIN / 2, 1]] {
        let refused = Layout::from_lowest(DType::F32, &[3, 3], &strides);
        assert!(matches!(refused, Err(Error::Unaddressable { .. })), "{strides:?}");
    }
    assert!(matches!(
        Layout::from_lowest(DType::U8, &[2, 2], &[1]),
        Err(Error::RankMismatch { .. })
    ));
}

/// What every layout promises, however it was made.
fn check_sizes(layout: &Layout) {
    let fits = |bytes: i128| assert!(isize::try_from(bytes).is_ok(), "{bytes} of {layout:?}");
    let elements = layout.shape().iter().map(|&dim| dim as i128).product::<i128>();
    let packed = (elements * layout.dtype().bits() as i128 + 7) / 8;
    fits(packed);
    assert_eq!(layout.elements() as i128, elements, "{layout:?}");
    assert_eq!(layout.packed_bytes() as i128, packed, "{layout:?}");
    fits(layout.span().end as i128);
    let size = layout.dtype().size().unwrap_or(1) as i128;
    layout.strides().iter().for_each(|&stride| fits(stride as i128 * size));
}

#[test]
fn repeated_elements_are_counted_too() {
    let most = isize::MAX as usize;
    for dtype in DType::all() {
        let (size, fits) = match dtype.size() {
            Some(size) => (size, most / size),
            None => (1, most),
        };
        let many = Layout::strided(dtype, &[fits], &[0], 0);
        if dtype.is_sub_byte() {
            // Repeated 4-bit elements would start inside a byte.
            assert!(many.is_err(), "{dtype}");
        } else {
            check_sizes(&many.unwrap());
        }
        if size > 1 {
            let strided = Layout::strided(dtype, &[fits + 1], &[0], 0);
            assert!(matches!(strided, Err(Error::TooLarge { .. })), "{dtype}");
            // The size for which a product that wraps is small again.
            let wraps = usize::MAX / size + 2;
            assert!(Layout::strided(dtype, &[wraps], &[0], 0).is_err(), "{dtype}");
            assert!(Layout::strided(dtype, &[0, wraps], &[0, 0], 0).is_err(), "{dtype}");
            assert!(Layout::from_lowest(dtype, &[wraps], &[0]).is_err(), "{dtype}");
            let one = Layout::contiguous(dtype, &[1]).unwrap();
            assert!(one.broadcast_to(&[wraps]).is_err(), "{dtype}");
            assert!(one.broadcast_to(&[wraps / 2, 2]).is_err(), "{dtype}");
        }
    }
}

#[test]
fn strides_that_lead_nowhere_are_countable() {
    for (shape, strides) in [
        (&[1usize, 3][..], &[isize::MAX, 1][..]),
        (&[0, 5], &[isize::MAX, isize::MIN]),
        (&[1], &[isize::MIN]),
    ] {
        for dtype in [DType::U8, DType::F64] {
            check_sizes(&Layout::strided(dtype, shape, strides, 8).unwrap());
        }
    }
    let long = Layout::strided(DType::F64, &[1], &[isize::MAX / 16], 0).unwrap();
    check_sizes(&long.unsqueeze(0).unwrap());
}

fn extremes() -> impl Strategy<Value = usize> {
    prop_oneof![
        0usize..5,
        (0u32..usize::BITS, 0usize..3).prop_map(|(bit, off)| (1usize << bit).wrapping_add(off)),
        (0u32..usize::BITS, 0usize..3).prop_map(|(bit, off)| (1usize << bit).wrapping_sub(off)),
        any::<usize>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 16 } else { 4096 }))]

    #[test]
    fn every_size_fits(
        code in 0u8..18, shape in prop::collection::vec(extremes(), 0..4),
        steps in prop::collection::vec(prop_oneof![Just(0isize), extremes().prop_map(|n| n as isize)], 4),
        offset in extremes(), wide in prop::collection::vec(extremes(), 0..5),
        (axis, start, end, step) in (0usize..4, extremes(), extremes(), extremes()),
    ) {
        let dtype = DType::from_code(code).unwrap();
        let steps = &steps[..shape.len()];
        let made = [
            Layout::contiguous(dtype, &shape),
            Layout::strided(dtype, &shape, steps, offset),
            Layout::strided(dtype, &shape, steps, isize::MAX as usize / 2),
            Layout::from_lowest(dtype, &shape, steps),
        ];
        for layout in made.into_iter().flatten() {
            check_sizes(&layout);
            let views = [
                layout.slice(axis, start, end, step),
                layout.slice(axis, 0, layout.shape().get(axis).copied().unwrap_or(0), step),
                layout.index(axis, start),
                layout.reshape(&wide),
                layout.unsqueeze(axis),
                layout.squeeze(axis),
                layout.broadcast_to(&wide),
                layout.shifted(start),
                layout.counted_from(start),
                layout.permute(&(0..layout.rank()).rev().collect::<Vec<_>>()),
            ];
            for view in views.into_iter().flatten() {
                check_sizes(&view);
                let _ = (view.may_self_overlap(), Walk::new(&view), WalkPair::new(&view, &view));
            }
        }
    }
}
