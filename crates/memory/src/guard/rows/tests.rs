//! Guards over rows, also from several threads at once: what Miri has to see.

use std::thread;

use super::*;
use crate::{Buffer, Error, Request, TensorMemory, allocate};

fn image(bytes: usize) -> Buffer {
    let request = Request::new(bytes).unwrap();
    Buffer::from_raw(allocate(Some(TensorMemory::Mem), &request).unwrap())
}

fn rows(start: usize, len: usize, stride: usize, count: usize) -> Rows {
    Rows::new(start, len, stride, count).unwrap()
}

#[test]
fn two_threads_write_two_halves_of_one_image() {
    let (width, height) = (8, 4);
    let image = image(width * height);
    let half = |side: usize| rows(side * 4, 4, width, height);
    thread::scope(|scope| {
        for side in 0..2 {
            let mut half = image.write_rows(&half(side)).unwrap();
            scope.spawn(move || {
                for turn in 0..3 {
                    for (y, row) in half.iter_mut().enumerate() {
                        row.fill((side * 10 + y + turn) as u8);
                    }
                    let last = half.row_mut(3).unwrap();
                    last[0] = last[1];
                    assert!(half.iter().rev().all(|row| row[0] == row[3]));
                }
            });
        }
    });
    let all = image.read().unwrap();
    for (y, row) in all.as_bytes().chunks(width).enumerate() {
        let [left, right] = [y as u8 + 2, y as u8 + 12];
        assert_eq!(row, [left, left, left, left, right, right, right, right]);
    }
}

#[test]
fn rows_of_one_guard_may_go_to_different_threads() {
    let image = image(30);
    let mut guard = image.write_rows(&rows(1, 4, 10, 3)).unwrap();
    thread::scope(|scope| {
        let mut rows = guard.iter_mut();
        let last = rows.next_back().unwrap();
        let first = rows.next().unwrap();
        scope.spawn(move || last.fill(3));
        scope.spawn(move || first.fill(1));
        let middle = rows.next().unwrap();
        assert_eq!((middle.len(), rows.len()), (4, 0));
        middle.fill(2);
    });
    let firsts: Vec<u8> = guard.iter().map(|row| row[3]).collect();
    assert_eq!(firsts, [1, 2, 3]);
    assert_eq!(guard.iter().nth(1), guard.row(1));
    assert!(guard.row(3).is_none() && guard.row_mut(usize::MAX).is_none());
    drop(guard);
    // What lies between the rows was not touched.
    let all = image.read().unwrap();
    assert_eq!(all.as_bytes()[5..11], [0; 6]);
}

#[test]
fn rows_exclude_what_shares_a_byte_with_them_and_nothing_else() {
    let image = image(40);
    let held = image.write_rows(&rows(2, 3, 10, 4)).unwrap();
    for busy in [image.read_range(2..3), image.read_range(14..15), image.read()] {
        assert!(busy.unwrap_err().is_busy());
    }
    assert!(image.write_range(5..12).is_ok(), "from one row to the next");
    assert!(image.hold(Access::KernelWrite, 35..40).is_ok());
    assert!(image.hold(Access::KernelRead, 31..33).unwrap_err().is_busy());
    assert!(image.hold(Access::ExportWrite, 34..35).unwrap_err().is_busy());
    let beside = image.write_rows(&rows(5, 7, 10, 3)).unwrap();
    assert!(image.read_rows(&rows(4, 1, 10, 4)).unwrap_err().is_busy());
    assert!(image.read_rows(&rows(0, 2, 10, 1)).is_ok());
    drop(held);
    let read = image.read_rows(&rows(2, 3, 10, 4)).unwrap();
    let also = image.read_rows(&rows(0, 5, 10, 1)).unwrap();
    assert!(image.write_rows(&rows(3, 1, 10, 4)).unwrap_err().is_busy());
    drop((beside, read, also));
    assert_eq!(image.raw().unwrap().held(), 0);
}

#[test]
fn rows_are_waited_for() {
    let image = image(40);
    let held = image.write_rows(&rows(2, 3, 10, 4)).unwrap();
    let raw = Arc::clone(image.raw().unwrap());
    let soon = Some(Duration::from_millis(2));
    let late = ReadRows::over_wait(Arc::clone(&raw), rows(4, 2, 10, 4), soon);
    assert!(late.unwrap_err().is_busy());
    let beside = WriteRows::over_wait(Arc::clone(&raw), rows(5, 2, 10, 4), None).unwrap();
    assert_eq!(beside.address().as_ptr().cast_const(), beside.row(0).unwrap().as_ptr());
    thread::scope(|scope| {
        let waiting = scope.spawn(|| ReadRows::over_wait(raw, rows(4, 2, 10, 4), None).map(drop));
        drop((held, beside));
        waiting.join().unwrap().unwrap();
    });
}

#[test]
fn rows_outside_the_buffer_are_refused() {
    let image = image(40);
    let part = image.slice(10..30).unwrap();
    assert!(matches!(part.read_rows(&rows(0, 5, 10, 3)), Err(Error::OutOfBounds { .. })));
    let mut inside = part.write_rows(&rows(5, 5, 10, 2)).unwrap();
    inside.iter_mut().for_each(|row| row.fill(9));
    assert_eq!((inside.rows(), inside.raw().size()), (rows(15, 5, 10, 2), image.len()));
    assert!(Arc::ptr_eq(inside.keep(), image.raw().unwrap()));
    drop(inside);
    assert_eq!(image.read_range(24..31).unwrap().as_bytes(), [0, 9, 9, 9, 9, 9, 0]);
    let none = part.write_rows(&rows(20, 5, 10, 0)).unwrap();
    assert_eq!(none.iter().len(), 0);
    assert!(image.write().is_ok(), "no bytes are held");
}

#[test]
fn rows_of_two_buffers_alias_where_they_share_bytes() {
    let image = image(40);
    let (top, all) = (image.slice(0..20).unwrap(), image.slice(5..40).unwrap());
    // Byte 12 of the allocation, and columns 2 and 3 of each row from there.
    assert!(top.rows_alias(&rows(2, 1, 10, 2), &all, &rows(7, 2, 10, 3)));
    assert!(!top.rows_alias(&rows(4, 1, 10, 2), &all, &rows(7, 2, 10, 3)));
    assert!(!top.rows_alias(&rows(2, 1, 10, 3), &all, &rows(7, 2, 10, 3)), "outside");
    let other = self::image(40);
    assert!(!top.rows_alias(&rows(2, 1, 10, 2), &other, &rows(2, 1, 10, 2)));
}
