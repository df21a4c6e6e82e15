//! What cannot be had is an error with the numbers in it, and never an abort.

use tenure_memory::{Error, Request};

use super::variant::Variant;

pub(super) fn absurd_sizes_are_errors_that_name_the_bytes(variant: &Variant) {
    for bytes in [usize::MAX, isize::MAX as usize] {
        match Request::new(bytes) {
            Err(error @ Error::BadRequest { bytes: named, .. }) => {
                assert_eq!(named, bytes);
                assert!(error.to_string().contains(&bytes.to_string()), "{error}");
            }
            other => panic!("{other:?}"),
        }
    }
    if cfg!(miri) {
        return; // Miri ends the program where the machine has no room.
    }
    if usize::BITS < 64 {
        return; // All that can be asked for may be there.
    }
    for bytes in [isize::MAX as usize / 8 + 1, isize::MAX as usize / 3, isize::MAX as usize / 2] {
        let request = Request::new(bytes).unwrap().with_name(Some("absurd"));
        let error = variant.allocator.allocate(&request).unwrap_err();
        let Error::OutOfMemory(full) = &error else { panic!("{error:?}") };
        assert_eq!((full.memory, full.bytes), (variant.allocator.memory(), bytes));
        let words = error.to_string();
        assert!(words.contains(&bytes.to_string()), "{words}");
        assert!(words.starts_with(variant.allocator.memory().name()), "{words}");
    }
    // Nothing of that is remembered.
    drop(variant.get(1000).write().unwrap());
}

pub(super) fn alignments_beyond_it_are_refused(variant: &Variant) {
    let request = Request::new(100).unwrap();
    for align in [0, 3, 4 << 20, 1 << (usize::BITS - 1), usize::MAX] {
        match request.with_align(align) {
            Err(Error::BadRequest { bytes: 100, align: named }) => assert_eq!(named, align),
            other => panic!("{align}: {other:?}"),
        }
    }
    variant.allocator.allocate(&request.with_align(2 << 20).unwrap()).unwrap();
}
