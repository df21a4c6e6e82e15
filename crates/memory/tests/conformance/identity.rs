//! Which allocation is which, whether it lives, and what the books say.

use std::collections::HashSet;

use tenure_memory::statistics::{self, Usage};

use super::variant::Variant;

pub(super) fn identities_are_unique_and_die(variant: &Variant) {
    let many = if cfg!(miri) { 4 } else { 20 };
    let all: Vec<_> = (0..many).map(|_| variant.get(3000)).collect();
    let ids: HashSet<u64> = all.iter().map(|buffer| buffer.identity().id()).collect();
    assert_eq!(ids.len(), all.len());
    let weak: Vec<_> = all.iter().map(|buffer| buffer.identity().weak()).collect();
    for (buffer, weak) in all.iter().zip(&weak) {
        assert_eq!(weak.upgrade().as_ref(), Some(buffer.identity()));
        assert_eq!(buffer.clone().identity(), buffer.identity());
        assert_eq!(buffer.slice(7..9).unwrap().identity(), buffer.identity());
        assert_eq!(buffer.place().unwrap().allocation, buffer.identity().id());
    }
    drop(all);
    variant.let_go();
    assert!(weak.iter().all(|weak| weak.upgrade().is_none()));
    // Ids are never used twice.
    assert!((0..many).all(|_| !ids.contains(&variant.get(3000).identity().id())));
}

pub(super) fn names_are_kept(variant: &Variant) {
    let buffer = variant.named(100, Some("kamera ✓"));
    assert_eq!(buffer.name(), Some("kamera ✓"));
    assert_eq!(buffer.raw().unwrap().name(), Some("kamera ✓"));
    assert_eq!(variant.get(100).name(), None);
    // A name is words for people: whatever it is, memory is served.
    for odd in ["", "with\0zero", "a/b", &"long ".repeat(100)] {
        assert_eq!(variant.named(1, Some(odd)).name(), Some(odd));
    }
}

pub(super) fn statistics_rise_and_fall(variant: &Variant) {
    let memory = variant.allocator.memory();
    let before = statistics::usage(memory);
    let all: Vec<_> = (0..3).map(|_| variant.get(1 << 20)).collect();
    let during = statistics::usage(memory);
    let rise = Usage {
        live: before.live + (3 << 20),
        count: before.count + 3,
        made: before.made + 3,
        peak: during.peak,
    };
    assert_eq!(during, rise);
    assert!(during.peak >= during.live && during.peak >= before.peak);
    drop(all);
    variant.let_go();
    let after = statistics::usage(memory);
    let fallen = Usage { live: before.live, count: before.count, ..during };
    assert_eq!(after, fallen);
    // The peak is that of one time, not a sum.
    let _one = variant.get(1 << 20);
    assert_eq!(statistics::usage(memory).peak, after.peak);
}

pub(super) fn reports_name_what_lives(variant: &Variant) {
    let find = |id| statistics::report().into_iter().find(|live| live.id == id);
    let large = variant.named(2 << 20, Some("conforming large"));
    let small = variant.named(1 << 20, Some("conforming small"));
    let live = find(large.identity().id()).unwrap();
    assert_eq!(live.name.as_deref(), Some("conforming large"));
    assert_eq!((live.bytes, live.memory), (2 << 20, variant.allocator.memory()));
    let report = statistics::report();
    let at = |id| report.iter().position(|live| live.id == id).unwrap();
    // Largest first.
    assert!(at(large.identity().id()) < at(small.identity().id()));
    let id = small.identity().id();
    drop(small);
    variant.let_go();
    assert_eq!(find(id), None);
}
