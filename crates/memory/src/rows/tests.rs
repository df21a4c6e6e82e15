//! Rows against a set of their bytes.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn bytes(rows: &Rows) -> BTreeSet<usize> {
    (0..rows.count()).flat_map(|row| rows.row(row).unwrap()).collect()
}

#[test]
fn halves_of_an_image_share_nothing() {
    let left = Rows::new(100, 320, 640, 480).unwrap();
    let right = Rows::new(100 + 320, 320, 640, 480).unwrap();
    assert!(!left.overlaps(&right) && !right.overlaps(&left));
    let middle = Rows::new(100 + 319, 2, 640, 480).unwrap();
    assert!(middle.overlaps(&left) && middle.overlaps(&right));
    assert_eq!(left.span(), 100..100 + 479 * 640 + 320);
    assert_eq!(left.row(480), None);
}

#[test]
fn a_row_that_goes_on_in_the_next_line_is_seen() {
    // Two bytes before and two behind the end of each line of 10.
    let around = Rows::new(8, 4, 10, 3).unwrap();
    assert!(around.overlaps(&Rows::new(10, 2, 10, 3).unwrap()));
    assert!(around.overlaps(&Rows::new(31, 1, 10, 2).unwrap()));
    assert!(!around.overlaps(&Rows::new(12, 6, 10, 3).unwrap()));
    // The first line begins before these rows.
    assert!(!around.overlaps(&Rows::new(0, 2, 10, 1).unwrap()));
    assert!(!around.overlaps(&Rows::new(32, 4, 10, 5).unwrap()));
}

#[test]
fn rows_that_touch_have_no_gaps() {
    let rows = Rows::new(5, 10, 10, 4).unwrap();
    assert!(rows.is_plain() && rows.overlaps(&Rows::from(44..45)));
    assert!(!rows.overlaps(&Rows::from(45..60)));
    assert!(Rows::new(5, 3, 1, 1).unwrap().is_plain(), "the stride of one row means nothing");
    assert!(!Rows::new(5, 3, 4, 2).unwrap().is_plain());
}

#[test]
fn no_bytes_overlap_nothing() {
    for none in [Rows::new(5, 0, 4, 9), Rows::new(5, 3, 4, 0), Ok(Rows::from(7..7))] {
        let none = none.unwrap();
        assert!(none.is_empty());
        assert!(!none.overlaps(&Rows::from(0..100)) && !Rows::from(0..100).overlaps(&none));
    }
}

#[test]
fn rows_that_overlap_or_cannot_be_addressed_are_refused() {
    for (start, len, stride, count) in [
        (0, 4, 3, 2),
        (0, 1, 0, 2),
        (usize::MAX, 1, 1, 1),
        (0, 1, usize::MAX, 3),
        (10, 1, usize::MAX / 2, 3),
    ] {
        let error = Rows::new(start, len, stride, count).unwrap_err();
        assert!(matches!(error, Error::BadRows { .. }), "{error}");
    }
    let last = Rows::new(usize::MAX - 1, 1, 1, 1).unwrap();
    assert!(last.shifted(1).is_err() && last.shifted(2).is_err());
    assert!(last.overlaps(&last));
    let huge = Rows::new(0, 1, usize::MAX - 1, 2).unwrap();
    assert_eq!(huge.row(1), Some(usize::MAX - 1..usize::MAX));
    assert!(huge.overlaps(&last) && !huge.overlaps(&Rows::from(1..usize::MAX - 1)));
}

/// Rows at one of a few strides, so that the same one comes often.
fn rows() -> impl Strategy<Value = Rows> {
    (0usize..60, 1usize..9, 0usize..9, 0usize..6).prop_map(|(start, stride, len, count)| {
        let len = if count > 1 { len.min(stride) } else { len * 4 };
        Rows::new(start, len, stride, count).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 60 } else { 4000 }))]

    #[test]
    fn overlap_is_what_the_sets_of_bytes_say(one in rows(), two in rows()) {
        let shared = bytes(&one).intersection(&bytes(&two)).next().is_some();
        let said = one.overlaps(&two);
        prop_assert_eq!(said, two.overlaps(&one));
        if one.stride() == two.stride() || one.is_plain() || two.is_plain() {
            prop_assert_eq!(said, shared);
        } else {
            prop_assert!(said || !shared, "never \"no\" where a byte is shared");
        }
    }

    #[test]
    fn a_shift_moves_every_byte(one in rows(), by in 0usize..50) {
        let moved: BTreeSet<usize> = bytes(&one).into_iter().map(|byte| byte + by).collect();
        prop_assert_eq!(bytes(&one.shifted(by).unwrap()), moved);
        prop_assert_eq!(bytes(&one).len(), one.row_len() * one.count());
        let inside = bytes(&one).into_iter().all(|byte| one.span().contains(&byte));
        prop_assert!(inside);
    }
}
