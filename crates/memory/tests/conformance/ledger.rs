//! Who may touch which bytes: the same answers for every memory.

use tenure_memory::{Access, Error};

use super::variant::Variant;

pub(super) fn readers_share_and_a_writer_excludes(variant: &Variant) {
    let buffer = variant.named(1000, Some("contended"));
    let readers = (buffer.read().unwrap(), buffer.clone().read_range(10..20).unwrap());
    assert_eq!(buffer.raw().unwrap().held(), 2);
    let refused = buffer.write_range(15..40).unwrap_err();
    assert!(refused.is_busy());
    let words = refused.to_string();
    assert!(words.contains("15..40") && words.contains("\"contended\""), "{words}");
    assert!(words.contains("held for read"), "{words}");
    drop(readers);
    let writer = buffer.write_range(0..500).unwrap();
    match buffer.read_range(499..501).unwrap_err() {
        Error::Busy(busy) => {
            let tenure_memory::detail::Busy { asked, range, held, held_range, name, asker } = *busy;
            assert_eq!((asked, range), (Access::Read, 499..501));
            assert_eq!((held, held_range), (Access::Write, 0..500));
            assert_eq!(name.as_deref(), Some("contended"));
            assert!(asker.is_none(), "the allocation is called after it");
        }
        other => panic!("{other}"),
    }
    assert!(buffer.write().unwrap_err().is_busy());
    drop(writer);
    assert_eq!(buffer.raw().unwrap().held(), 0);
    drop(buffer.write().unwrap());
}

pub(super) fn disjoint_ranges_are_held_at_once(variant: &Variant) {
    let (parts, taken) = if cfg!(miri) { (8, 5) } else { (64, 30) };
    let buffer = variant.get(parts * 100);
    let mut guards: Vec<_> =
        (0..parts).map(|n| buffer.write_range(n * 100..(n + 1) * 100).unwrap()).collect();
    for (n, guard) in guards.iter_mut().enumerate() {
        guard.as_bytes_mut().fill(n as u8);
    }
    assert!(buffer.read_range(parts * 100 - 1..parts * 100).is_err());
    // Freed in the middle, taken again by somebody else.
    drop(guards.swap_remove(taken));
    let part = buffer.slice(taken * 100..(taken + 1) * 100).unwrap();
    assert!(part.write().unwrap().as_bytes().iter().all(|byte| usize::from(*byte) == taken));
    assert!(buffer.write_range(taken * 100 - 1..(taken + 1) * 100).is_err());
    drop(guards);
    let bytes = buffer.read().unwrap();
    assert!(bytes.as_bytes().iter().enumerate().all(|(n, byte)| usize::from(*byte) == n / 100));
}

pub(super) fn kernels_and_exports_clash_as_they_should(variant: &Variant) {
    use Access::{ExportRead, ExportWrite, KernelRead, KernelWrite, Publish, Read, Write};
    let all = [Read, Write, KernelRead, KernelWrite, ExportRead, ExportWrite, Publish];
    let buffer = variant.get(4096);
    for first in all {
        for second in all {
            let held = buffer.hold(first, 100..200).unwrap();
            assert_eq!((held.len(), held.access()), (100, first));
            let overlapping = buffer.hold(second, 199..300);
            assert_eq!(overlapping.is_err(), first.excludes(second), "{first} {second}");
            assert_eq!(first.excludes(second), second.excludes(first), "{first} {second}");
            assert!(buffer.hold(second, 200..300).is_ok() || overlapping.is_ok());
        }
    }
    // Foreign code that may write and kernels do not wait for each other.
    let _export = buffer.hold(ExportWrite, 0..4096).unwrap();
    drop(buffer.hold(KernelWrite, 0..4096).unwrap());
    assert!(buffer.read().is_err());
}

pub(super) fn empty_ranges_exclude_nobody(variant: &Variant) {
    let buffer = variant.get(1000);
    let _writer = buffer.write().unwrap();
    for at in [0, 500, 1000] {
        assert!(buffer.write_range(at..at).unwrap().as_bytes().is_empty());
        assert!(buffer.read_range(at..at).unwrap().as_bytes().is_empty());
    }
}

pub(super) fn a_refused_access_leaves_no_trace(variant: &Variant) {
    let buffer = variant.get(1000);
    #[expect(clippy::reversed_empty_ranges, reason = "that is what is refused")]
    let backwards = 7..3;
    for range in [0..1001, 1001..1001, usize::MAX - 1..usize::MAX, backwards] {
        match buffer.write_range(range.clone()) {
            Err(Error::OutOfBounds(outside)) => {
                assert_eq!((outside.start..outside.end, outside.len), (range.clone(), 1000));
            }
            other => panic!("{range:?}: {other:?}"),
        }
        assert!(buffer.slice(range).is_err());
    }
    let reader = buffer.read().unwrap();
    for _ in 0..if cfg!(miri) { 3 } else { 100 } {
        buffer.write().unwrap_err();
    }
    assert_eq!(buffer.raw().unwrap().held(), 1);
    drop(reader);
    assert_eq!(buffer.raw().unwrap().held(), 0);
}
