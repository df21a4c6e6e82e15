//! Guards give the elements of their tensor and nothing else, whatever the view.

use std::collections::HashSet;

use proptest::prelude::*;
use tenure_tensor::{
    DType, DynTensor, Error, PixelFormat, Region, Tensor, TensorDyn, TensorMap, TensorMemory,
};

#[path = "common/model.rs"]
mod model;

use model::{indices, steps, walk};

const MEM: Option<TensorMemory> = Some(TensorMemory::Mem);

fn strided(width: usize, height: usize, format: PixelFormat, row_stride: usize) -> Tensor<u8> {
    let image = Tensor::<u8>::image_builder(width, height, format).row_stride(row_stride);
    image.memory(MEM).build().unwrap()
}

fn numbered(shape: &[usize]) -> Tensor<u32> {
    let values: Vec<u32> = (0..shape.iter().product::<usize>() as u32).collect();
    Tensor::from_slice(&values, shape).unwrap()
}

fn shapes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1usize..6, 0..4)
}

fn cases() -> ProptestConfig {
    let cases = if cfg!(miri) { 4 } else { 600 };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Writes through a guard of every kind that the tensor has, a value of its own each.
fn write_all_ways(view: &Tensor<u32>) -> Result<Vec<&'static str>, TestCaseError> {
    let (len, mut ways) = (view.len(), vec![]);
    if let Ok(mut map) = view.map() {
        prop_assert_eq!(map.len(), len);
        map.fill(9001);
        ways.push("map");
    }
    if let Ok(mut map) = view.map_rows() {
        let mut seen = 0;
        for row in map.rows_mut() {
            row.fill(9002);
            seen += row.len();
        }
        prop_assert_eq!(seen, len);
        ways.push("rows");
    }
    if let Ok(mut map) = view.map_strided() {
        let mut seen = 0;
        map.for_each_mut(|value| {
            *value = 9003;
            seen += 1;
        });
        prop_assert_eq!(seen, len);
        ways.push("strided");
    }
    if let Ok(mut map) = view.map_span() {
        map.fill(9004);
        ways.push("span");
    }
    Ok(ways)
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn guards_of_views_give_their_elements(shape in shapes(), steps in steps()) {
        let whole = numbered(&shape);
        let (view, model) = walk(&whole, &steps);
        let expected: Vec<u32> = model.origin.iter().map(|n| *n as u32).collect();
        let contiguous = view.is_contiguous();
        match view.map_read() {
            Ok(map) => prop_assert!(contiguous && map[..] == expected[..]),
            Err(Error::NotContiguous(error)) => {
                prop_assert!(!contiguous);
                prop_assert_eq!(error.rows, view.map_rows_read().is_ok());
            }
            Err(other) => panic!("{other}"),
        }
        if let Ok(rows) = view.map_rows_read() {
            prop_assert!(rows.rows().flatten().eq(&expected));
            prop_assert!(rows.rows().all(|row| row.len() == rows.row_len()));
            prop_assert_eq!(rows.rows().len(), rows.len());
            for (number, row) in rows.rows().enumerate() {
                prop_assert_eq!(rows.row(number), Some(row));
            }
            prop_assert_eq!(rows.row(rows.len()), None);
        } else {
            // Only for rows whose elements lie apart.
            prop_assert!(*view.shape().last().unwrap() > 1 && *view.strides().last().unwrap() != 1);
        }
        let map = view.map_strided_read().unwrap();
        prop_assert_eq!(map.iter().len(), expected.len());
        prop_assert!(map.iter().eq(&expected));
        for (index, value) in indices(&model.shape).into_iter().zip(&map) {
            prop_assert_eq!((map.get(&index), model.at(&index)), (Some(value), *value as usize));
        }
        drop(map);
        // No byte of another element is written.
        let seen: HashSet<usize> = model.origin.iter().copied().collect();
        write_all_ways(&view)?;
        for (number, value) in whole.map_read().unwrap().iter().enumerate() {
            prop_assert!(seen.contains(&number) || *value == number as u32);
        }
    }

    #[test]
    fn rows_to_write_come_in_index_order(shape in shapes(), steps in steps()) {
        let whole = numbered(&shape);
        let (view, model) = walk(&whole, &steps);
        if let Ok(mut map) = view.map_rows() {
            let rows = map.rows_mut().flatten().map(|value| *value as usize);
            prop_assert!(rows.eq(model.origin.iter().copied()));
            let len = map.row_len();
            for number in 0..map.len() {
                let row: Vec<usize> = map[number].iter().map(|value| *value as usize).collect();
                prop_assert_eq!(&row[..], &model.origin[number * len..][..len]);
                map[number].fill(0);
            }
        }
    }

    #[test]
    fn what_does_not_alias_is_held_apart_where_strides_are_equal(
        shape in prop::collection::vec(1usize..7, 2), split in 1usize..6, across in any::<bool>(),
    ) {
        let whole = numbered(&shape);
        let axis = usize::from(across);
        let split = split.min(shape[axis]);
        let (one, other) = (whole.slice(axis, ..split).unwrap(), whole.slice(axis, split..).unwrap());
        prop_assert!(!one.aliases(&other));
        let (_one, _other) = (one.map_rows().unwrap(), other.map_rows().unwrap());
        prop_assert!(whole.map_read().is_err() || whole.is_empty());
    }

    #[test]
    fn guards_of_regions_leave_the_rest_alone(
        number in 0usize..16, x in 0usize..4, y in 0usize..3, width in 1usize..5, height in 1usize..4,
    ) {
        let formats: Vec<PixelFormat> =
            PixelFormat::all().filter(|format| format.accepts(DType::U8)).collect();
        let format = formats[number % formats.len()];
        let image = strided(16, 12, format, 128);
        let region = Region::new(2 * x, 2 * y, 2 * width, 2 * height);
        let view = image.view(region).unwrap();
        image.map_span().unwrap().fill(1);
        view.fill(2).unwrap();
        let inside = |image: &Tensor<u8>, value: u8| {
            let span = image.map_span_read().unwrap();
            span.iter().map(|byte| *byte == value).collect::<Vec<bool>>()
        };
        let elements = inside(&image, 2);
        for plane in (0..view.plane_count()).map(|plane| view.plane(plane).unwrap()) {
            prop_assert!(plane.map_span().is_err() || plane.is_contiguous());
            if let Ok(mut map) = plane.map() {
                map.fill(3);
            }
            let mut rows = plane.map_rows().unwrap();
            prop_assert_eq!(rows.len(), plane.shape()[0]);
            rows.rows_mut().for_each(|row| row.fill(3));
        }
        prop_assert_eq!(inside(&image, 3), &elements[..], "{}", format);
        view.map_rows().unwrap().rows_mut().for_each(|row| row.fill(4));
        view.map_strided().unwrap().for_each_mut(|value| *value = 4);
        prop_assert!(view.map().map(|mut map| map.fill(4)).is_ok() == view.is_contiguous());
        prop_assert!(inside(&image, 4).iter().zip(&elements).all(|(now, own)| *own || !*now));
    }
}

#[test]
fn a_region_has_no_slice_but_rows() {
    let image = Tensor::<u8>::image(8, 4, PixelFormat::Rgb, MEM, None).unwrap();
    let face = image.view(Region::new(2, 1, 2, 2)).unwrap();
    let error = face.map().unwrap_err();
    let Error::NotContiguous(strided) = &error else { panic!("{error}") };
    assert!(strided.rows && !strided.whole, "{error}");
    let words = error.to_string();
    assert!(words.contains("map_rows()") && !words.contains("map_span"), "{words}");
    assert!(matches!(face.map_span(), Err(Error::NotWhole { .. })));
    let mut rows = face.map_rows().unwrap();
    assert_eq!((rows.len(), rows.row_len()), (2, 6));
    rows[1].fill(9);
    drop(rows);
    assert_eq!(image.map_read().unwrap().iter().filter(|value| **value == 9).count(), 6);
}

#[test]
fn a_step_whose_span_is_the_whole_allocation_is_a_view() {
    let whole = numbered(&[2, 4]);
    let even = whole.slice_step(1, .., 2).unwrap();
    let all = whole.slice_step(0, .., 1).unwrap();
    assert!(matches!(even.map(), Err(Error::NotContiguous(strided)) if !strided.whole));
    assert!(matches!(even.map_span(), Err(Error::NotWhole { .. })));
    assert_eq!(all.map_span().unwrap().len(), 8, "a view without gaps has none of others");
    assert_eq!(whole.permute(&[1, 0]).unwrap().map_span().unwrap().len(), 8);
    // Every second element: neither rows nor a slice, and the odd ones may be written meanwhile.
    let odd = whole.slice_step(1, 1.., 2).unwrap();
    assert!(even.map_rows().is_err());
    let (mut one, mut other) = (even.map_strided().unwrap(), odd.map_strided().unwrap());
    one.for_each_mut(|value| *value += 10);
    other.for_each_mut(|value| *value += 20);
    drop((one, other));
    assert_eq!(whole.map_read().unwrap()[..], [10, 21, 12, 23, 14, 25, 16, 27]);
}

#[test]
fn a_padded_image_of_ones_own_has_its_span() {
    let image = strided(10, 4, PixelFormat::Rgb, 64);
    let error = image.map().unwrap_err().to_string();
    assert!(error.contains("map_rows()") && error.contains("map_span()"), "{error}");
    image.map_span().unwrap().fill(7);
    let mut rows = image.map_rows().unwrap();
    assert_eq!((rows.len(), rows.row_len()), (4, 30));
    rows.rows_mut().for_each(|row| row.fill(1));
    drop(rows);
    let span = image.map_span_read().unwrap();
    assert_eq!((span.len(), span[30], span[64]), (3 * 64 + 30, 7, 1));
    // Over memory that came from elsewhere, nobody knows whose the padding is.
    let again = Tensor::<u8>::from_buffer(image.buffer().clone(), image.layout().clone()).unwrap();
    assert!(matches!(again.map_span(), Err(Error::NotWhole { .. })));
}

#[test]
fn rows_are_those_of_the_pixels() {
    let rows = |tensor: &TensorDyn| {
        tensor.map_rows_read().map(|rows| (rows.len(), rows.row_len())).unwrap()
    };
    let image = |format| strided(8, 6, format, 64).to_dyn();
    assert_eq!(rows(&image(PixelFormat::Rgb)), (6, 24));
    assert_eq!(rows(&image(PixelFormat::Grey)), (6, 8));
    assert_eq!(rows(&image(PixelFormat::Yuyv)), (6, 16));
    assert_eq!(rows(&image(PixelFormat::PlanarRgb)), (18, 8));
    let nv12 = image(PixelFormat::Nv12);
    assert_eq!(rows(&nv12), (9, 8));
    assert_eq!((rows(&nv12.plane(0).unwrap()), rows(&nv12.plane(1).unwrap())), ((6, 8), (3, 8)));
    assert_eq!(rows(&nv12.plane(1).unwrap().slice(0, 1..).unwrap()), (2, 8));
    assert_eq!(rows(&image(PixelFormat::Rgb).slice(1, 2..5).unwrap()), (6, 9));
    assert_eq!(rows(&image(PixelFormat::Rgb).index(0, 3).unwrap()), (1, 24));
    // Without a format the last dimension is a row.
    let plain = |shape: &[usize], dtype| TensorDyn::new(shape, dtype, MEM, None).unwrap();
    assert_eq!(rows(&plain(&[6, 8, 3], DType::U8)), (48, 3));
    assert_eq!(rows(&plain(&[5], DType::F32)), (1, 20));
    assert_eq!(rows(&plain(&[], DType::F32)), (1, 4));
    assert_eq!(rows(&plain(&[3, 0], DType::F32)), (0, 0));
    assert_eq!(rows(&plain(&[3, 4], DType::U4)), (3, 2));
    assert!(plain(&[3, 5], DType::U4).map_rows_read().is_err());
    assert_eq!(rows(&plain(&[1, 5], DType::U4)), (1, 3));
}

#[test]
fn guards_are_slices() {
    let t = numbered(&[2, 3]);
    let mut map = t.map().unwrap();
    for value in &mut map {
        *value *= 2;
    }
    map[5] = 50;
    assert_eq!(
        (map.len(), map[1], map.iter().max(), map.at(&[1, 2])),
        (6, 2, Some(&50), Some(&50))
    );
    assert_eq!((&map).into_iter().sum::<u32>(), 2 + 4 + 6 + 8 + 50);
    *map.at_mut(&[0, 0]).unwrap() = 1;
    assert_eq!((map.at(&[2, 0]), map.at(&[0])), (None, None));
    let takes_a_slice = |values: &[u32]| values.len();
    assert_eq!(takes_a_slice(&map), 6);
    let writes = |map: &mut TensorMap<u32>| map.swap(0, 5);
    writes(&mut map);
    drop(map);
    let read = t.map_read().unwrap();
    assert_eq!((read[0], read.shape(), read.intact().is_ok()), (50, &[2, 3][..], true));
    assert_eq!(read.windows(2).count(), 5);
}

#[test]
fn strided_guards_index_and_iterate() {
    let t = numbered(&[2, 3]);
    let turned = t.permute(&[1, 0]).unwrap();
    let mut map = turned.map_strided().unwrap();
    map[[2, 1]] = 70;
    assert_eq!((map[[2, 1]], map.get(&[3, 0])), (70, None));
    assert_eq!(map.get_mut(&[0]), None);
    assert_eq!(map.iter().copied().collect::<Vec<_>>(), [0, 3, 1, 4, 2, 70]);
    let beyond = std::panic::AssertUnwindSafe(|| map[[3, 0]]);
    assert!(std::panic::catch_unwind(beyond).is_err());
}

#[test]
fn guards_show_what_they_hold() {
    let t = numbered(&[3, 4]);
    let words = format!("{:?}", t.map_read().unwrap());
    assert_eq!(
        words,
        "TensorRead { dtype: U32, shape: [3, 4], elements: [0, 1, 2, 3, 4, 5, 6, 7, ..] }"
    );
    let part = t.slice(1, 1..3).unwrap();
    let words = format!("{:?}", part.map_rows().unwrap());
    assert_eq!(
        words,
        "RowsMap { dtype: U32, shape: [3, 2], rows: 3, elements: [1, 2, 5, 6, 9, 10] }"
    );
    let words = format!("{:?}", part.map_strided_read().unwrap());
    assert!(words.ends_with("strides: [4, 1], elements: [1, 2, 5, 6, 9, 10] }"), "{words}");
}

#[test]
fn one_picture_is_no_batch() {
    let picture = Tensor::<u8>::image(8, 4, PixelFormat::Nv12, MEM, None).unwrap();
    let error = picture.batch(0).unwrap_err();
    assert!(matches!(error, Error::NotABatch { .. }) && error.to_string().contains("nv12"));
    let batch = Tensor::<u8>::new(&[2, 4, 8, 3], MEM, None).unwrap();
    let batch = batch.with_format(PixelFormat::Rgb).unwrap();
    assert!(batch.batch(1).unwrap().batch(0).is_err());
    assert_eq!(Tensor::<u8>::new(&[3, 2], MEM, None).unwrap().batch(1).unwrap().shape(), &[2]);
}

#[test]
fn slices_take_every_kind_of_range() {
    let t = numbered(&[2, 5]);
    let shape = |part: Tensor<u32>| part.shape()[1];
    assert_eq!(shape(t.slice(1, ..).unwrap()), 5);
    assert_eq!(shape(t.slice(1, 2..).unwrap()), 3);
    assert_eq!(shape(t.slice(1, ..2).unwrap()), 2);
    assert_eq!(shape(t.slice(1, 1..=2).unwrap()), 2);
    assert_eq!(shape(t.slice(1, ..=4).unwrap()), 5);
    assert_eq!(shape(t.slice_step(1, .., 2).unwrap()), 3);
    assert!(t.slice(1, ..=5).is_err() && t.slice(1, 6..).is_err() && t.slice(2, ..).is_err());
    assert!(t.slice(1, ..=usize::MAX).is_err());
}
