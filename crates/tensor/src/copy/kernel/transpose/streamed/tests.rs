//! Tiles against single elements, at every alignment.
#![expect(unsafe_code, reason = "calls what is tested on raw addresses")]

use proptest::prelude::*;

use super::*;

/// A matrix of `rows` times `columns`, and its transpose `shift` bytes into a buffer with `gap`
/// bytes behind each row.
fn check<T: Pod>(rows: usize, columns: usize, shift: usize, gap: usize) {
    let size = size_of::<T>();
    let from: Vec<u8> =
        (0..rows * columns * size).map(|byte| (byte * 7 + byte / 251) as u8).collect();
    let pitch = rows * size + gap;
    let mut to = vec![0xee; shift + columns * pitch + 64];
    let outer = Axis { len: columns, write: pitch as isize, read: size as isize };
    let inner = Axis { len: rows, write: size as isize, read: (columns * size) as isize };
    // SAFETY: both buffers have every place of the loops.
    unsafe { transpose::<T>(outer, inner, to.as_mut_ptr().wrapping_add(shift), from.as_ptr()) }
    let mut expected = vec![0xee; to.len()];
    for row in 0..rows {
        for column in 0..columns {
            let (read, write) =
                ((row * columns + column) * size, shift + column * pitch + row * size);
            expected[write..write + size].copy_from_slice(&from[read..read + size]);
        }
    }
    assert!(to == expected, "{rows}x{columns} of {size} bytes, {shift} bytes in, gap {gap}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_element_and_nothing_else_is_written(
        (rows, columns) in (1usize..300, 1usize..300), shift in 0usize..130, gap in 0usize..70,
    ) {
        check::<u8>(rows, columns, shift, gap);
        check::<u16>(rows, columns, shift, gap);
        check::<u32>(rows, columns, shift, gap);
        check::<u64>(rows, columns, shift, gap);
    }
}

#[test]
fn rows_on_lines_and_tiles_that_are_just_full() {
    for rows in [1, 63, 64, 65, 128, 192] {
        for columns in [1, 32, 64, 128, 129, 256] {
            // Wherever the buffer starts, one of these is a line's start.
            for shift in (0..64).step_by(16) {
                check::<u8>(rows, columns, shift, rows.next_multiple_of(64) - rows);
                check::<u32>(rows, columns, shift, (rows * 4).next_multiple_of(64) - rows * 4);
            }
        }
    }
}
