//! Single promises of the arena. What must hold after any sequence is in `model`.

mod model;

use super::*;

const KIB: u64 = 1 << 10;

/// A second handle to the same block, which safe code outside cannot make.
fn copy(block: &Block) -> Block {
    Block { offset: block.offset, size: block.size, key: block.key }
}

#[test]
fn a_block_is_three_words() {
    assert_eq!(size_of::<Option<Block>>(), 24);
}

fn spans(arena: &Tlsf) -> Vec<(u64, u64, bool)> {
    arena.spans().map(|span| (span.offset, span.size, span.free)).collect()
}

#[test]
fn the_whole_arena_is_one_block() {
    for capacity in [256, 512, 64 * 256, 65 * 256, 1 << 20, 1 << 48, (1 << 52) + 256, MAX_CAPACITY]
    {
        let mut arena = Tlsf::new(capacity).unwrap();
        assert_eq!(arena.largest_free(), capacity);
        let block = arena.allocate(capacity, 1).unwrap();
        assert_eq!((block.offset(), block.size()), (0, capacity));
        assert_eq!((arena.used(), arena.free_bytes(), arena.live()), (capacity, 0, 1));
        assert_eq!(arena.largest_free(), 0);
        assert!(matches!(arena.allocate(1, 1), Err(Error::OutOfSpace { free: 0, .. })));
        arena.free(block).unwrap();
        assert_eq!(spans(&arena), [(0, capacity, true)]);
    }
}

#[test]
fn sizes_are_rounded_up_and_zero_is_a_granule() {
    let mut arena = Tlsf::new(4 * KIB).unwrap();
    for (asked, granted) in [(0, 256), (1, 256), (256, 256), (257, 512)] {
        assert_eq!(arena.allocate(asked, 1).unwrap().size(), granted);
    }
    assert_eq!(arena.used(), 1280);
    assert_eq!(arena.live(), 4);
}

#[test]
fn what_is_left_of_a_granule_is_not_used() {
    let arena = Tlsf::new(1000).unwrap();
    assert_eq!(arena.capacity(), 768);
    let arena = Tlsf::with_granularity(1000, 1).unwrap();
    assert_eq!(arena.capacity(), 1000);
    assert_eq!(arena.granularity(), 1);
}

#[test]
fn neighbours_are_joined_on_both_sides() {
    let mut arena = Tlsf::new(3 * KIB).unwrap();
    let [a, b, c] = std::array::from_fn(|_| arena.allocate(KIB, 1).unwrap());
    arena.free(a).unwrap();
    arena.free(c).unwrap();
    assert_eq!(spans(&arena), [(0, KIB, true), (KIB, KIB, false), (2 * KIB, KIB, true)]);
    arena.free(b).unwrap();
    assert_eq!(spans(&arena), [(0, 3 * KIB, true)]);
}

#[test]
fn what_alignment_skips_stays_free() {
    let mut arena = Tlsf::new(64 * KIB).unwrap();
    let first = arena.allocate(256, 1).unwrap();
    let page = arena.allocate(256, 4 * KIB).unwrap();
    assert_eq!(page.offset(), 4 * KIB);
    let between = arena.allocate(4 * KIB - 256, 1).unwrap();
    assert_eq!(between.offset(), 256);
    for block in [first, page, between] {
        arena.free(block).unwrap();
    }
    assert_eq!(spans(&arena), [(0, 64 * KIB, true)]);
}

#[test]
fn an_aligned_block_is_found_in_an_exact_gap() {
    let mut arena = Tlsf::new(16 * KIB).unwrap();
    let head = arena.allocate(4 * KIB, 1).unwrap();
    let gap = arena.allocate(8 * KIB, 1).unwrap();
    let tail = arena.allocate(4 * KIB, 1).unwrap();
    arena.free(gap).unwrap();
    // With the worst padding it would not fit, but the gap happens to start at a page.
    let again = arena.allocate(8 * KIB, 4 * KIB).unwrap();
    assert_eq!(again.offset(), 4 * KIB);
    // An alignment beyond the capacity is no reason to refuse what fits at 0.
    arena.free(head).unwrap();
    assert_eq!(arena.allocate(KIB, 1 << 63).unwrap().offset(), 0);
    arena.free(tail).unwrap();
}

#[test]
fn a_gap_of_the_same_size_is_filled_first() {
    let mut arena = Tlsf::new(1 << 30).unwrap();
    // 1000 granules: their class also has smaller blocks.
    let frames: [Block; 4] = std::array::from_fn(|_| arena.allocate(256_000, 1).unwrap());
    let [_a, b, _c, d] = frames;
    let offset = b.offset();
    arena.free(b).unwrap();
    assert_eq!(arena.allocate(256_000, 1).unwrap().offset(), offset);
    arena.free(d).unwrap();
    assert_eq!(arena.high_water(), 4 * 256_000);
}

#[test]
fn bad_parameters_are_named() {
    let granularity = Tlsf::with_granularity(1 << 20, 48).unwrap_err();
    assert_eq!(granularity, Error::Granularity { granularity: 48 });
    let granularity = Tlsf::with_granularity(1 << 20, 0).unwrap_err();
    assert_eq!(granularity, Error::Granularity { granularity: 0 });
    for capacity in [0, 255, MAX_CAPACITY + 1, u64::MAX] {
        let error = Tlsf::new(capacity).unwrap_err();
        assert_eq!(error, Error::Capacity { capacity, granularity: 256 });
        assert!(error.to_string().contains(&capacity.to_string()));
    }
    let mut arena = Tlsf::new(KIB).unwrap();
    for align in [0, 3, 257] {
        assert_eq!(arena.allocate(1, align), Err(Error::Align { align }));
    }
}

#[test]
fn a_refusal_says_what_there_is() {
    let mut arena = Tlsf::new(4 * KIB).unwrap();
    let [a, _b, c, _d] = std::array::from_fn(|_| arena.allocate(KIB, 1).unwrap());
    arena.free(a).unwrap();
    arena.free(c).unwrap();
    let before = spans(&arena);
    for (asked, align) in [(KIB + 1, 1), (u64::MAX, 1), (u64::MAX, 1 << 63), (KIB, 4 * KIB)] {
        let result = arena.allocate(asked, align);
        if asked == KIB {
            arena.free(result.unwrap()).unwrap();
            continue;
        }
        let expected = Error::OutOfSpace { asked, align, largest_free: KIB, free: 2 * KIB };
        assert_eq!(result, Err(expected));
    }
    assert_eq!(spans(&arena), before);
    let text = arena.allocate(2000, 1).unwrap_err().to_string();
    assert!(text.contains("2000") && text.contains("1024") && text.contains("2048"), "{text}");
}

#[test]
fn a_block_is_taken_back_once() {
    let mut arena = Tlsf::new(64 * KIB).unwrap();
    let a = arena.allocate(KIB, 1).unwrap();
    let _b = arena.allocate(KIB, 1).unwrap();
    let stale = copy(&a);
    let late = copy(&a);
    let unknown = Error::UnknownBlock { offset: 0, size: KIB };
    arena.free(a).unwrap();
    let before = spans(&arena);
    assert_eq!(arena.free(stale), Err(unknown));
    assert_eq!(spans(&arena), before);
    // The same place and size, yet another block.
    let again = arena.allocate(KIB, 1).unwrap();
    assert_eq!((again.offset(), again.node()), (late.offset(), late.node()));
    assert!(arena.owns(&again) && !arena.owns(&late));
    assert_eq!(arena.free(late), Err(unknown));
    assert_eq!(arena.live(), 2);
}

#[test]
fn a_joined_block_is_not_taken_back_again() {
    let mut arena = Tlsf::new(64 * KIB).unwrap();
    let [a, b, c] = std::array::from_fn(|_| arena.allocate(KIB, 1).unwrap());
    let stale = [copy(&a), copy(&b), copy(&c)];
    for block in [a, c, b] {
        arena.free(block).unwrap();
    }
    // Some of their nodes are spare now, one is the whole arena.
    for block in stale {
        assert!(matches!(arena.free(block), Err(Error::UnknownBlock { .. })));
    }
    assert_eq!(spans(&arena), [(0, 64 * KIB, true)]);
}

#[test]
fn blocks_of_others_are_refused() {
    let mut arenas = [Tlsf::new(4 * KIB).unwrap(), Tlsf::new(4 * KIB).unwrap()];
    let blocks = arenas.each_mut().map(|arena| arena.allocate(KIB, 1).unwrap());
    assert_eq!(blocks[0].offset(), blocks[1].offset());
    let [first, second] = blocks;
    assert!(matches!(arenas[0].free(second), Err(Error::UnknownBlock { .. })));
    assert!(arenas[0].owns(&first) && !arenas[1].owns(&first));
    // An index far beyond the table of the other.
    let mut large = Tlsf::new(1 << 20).unwrap();
    let many: Vec<_> = (0..100).map(|_| large.allocate(1, 1).unwrap()).collect();
    for block in many {
        assert!(matches!(arenas[0].free(block), Err(Error::UnknownBlock { .. })));
    }
    assert_eq!(arenas[0].live(), 1);
}

#[test]
fn a_reset_frees_all_and_forgets_all() {
    let mut arena = Tlsf::new(4 * KIB).unwrap();
    let old = arena.allocate(KIB, 1).unwrap();
    let _other = arena.allocate(KIB, 1).unwrap();
    arena.reset();
    assert_eq!(spans(&arena), [(0, 4 * KIB, true)]);
    assert_eq!((arena.live(), arena.used(), arena.high_water()), (0, 0, 0));
    let new = arena.allocate(KIB, 1).unwrap();
    assert_eq!((new.offset(), new.node()), (old.offset(), old.node()));
    assert!(matches!(arena.free(old), Err(Error::UnknownBlock { .. })));
    arena.free(new).unwrap();
}

#[test]
fn blocks_are_numbered_up_to_the_limit() {
    let mut arena = Tlsf::new(KIB * KIB).unwrap();
    arena.nodes.limit = 8;
    let mut blocks = Vec::new();
    let error = loop {
        match arena.allocate(1, 1) {
            Ok(block) => blocks.push(block),
            Err(error) => break error,
        }
    };
    assert_eq!(error, Error::TooManyBlocks { blocks: 8 });
    assert!(blocks.len() >= 4);
    arena.free(blocks.swap_remove(1)).unwrap();
    arena.free(blocks.swap_remove(0)).unwrap();
    // Aligned in the worst way, so that two nodes are needed.
    blocks.push(arena.allocate(1, 4 * KIB).unwrap());
    for block in blocks {
        arena.free(block).unwrap();
    }
    assert_eq!(spans(&arena), [(0, KIB * KIB, true)]);
}

#[test]
fn reserved_room_is_enough() {
    let mut arena = Tlsf::new(1 << 20).unwrap();
    arena.reserve(100);
    let room = arena.nodes.room();
    let mut blocks: Vec<_> = (0..100).map(|_| arena.allocate(300, 1).unwrap()).collect();
    for block in blocks.drain(..).step_by(2) {
        arena.free(block).unwrap();
    }
    assert_eq!(arena.nodes.room(), room);
}

#[test]
fn a_report_is_exact_and_readable() {
    let mut arena = Tlsf::new(8 * KIB).unwrap();
    let [a, _b, _c] = std::array::from_fn(|_| arena.allocate(KIB, 1).unwrap());
    arena.free(a).unwrap();
    let report = arena.report();
    let expected = Report {
        capacity: 8 * KIB,
        used: 2 * KIB,
        largest_free: 5 * KIB,
        high_water: 3 * KIB,
        live: 2,
        free_blocks: 2,
    };
    assert_eq!(report, expected);
    assert!((report.fragmentation() - 1.0 / 6.0).abs() < 1e-9);
    assert_eq!(
        report.to_string(),
        "2048 of 8192 bytes in 2 blocks; 6144 free in 2, the largest 5120 (16.7% fragmented); \
         at most 3072 reached"
    );
    let _all = arena.allocate(5 * KIB, 1).unwrap();
    let _last = arena.allocate(KIB, 1).unwrap();
    assert_eq!(arena.report().fragmentation(), 0.0);
}
