//! The arena beside a slow and obvious model: a sorted list of the ranges in use.

use proptest::prelude::*;

use super::*;

/// What is in use, by offset. Free is whatever lies between.
struct Model {
    capacity: u64,
    granularity: u64,
    used: Vec<(u64, u64)>,
}

impl Model {
    fn gaps(&self) -> Vec<(u64, u64)> {
        let mut end = 0;
        let mut gaps = Vec::new();
        for &(offset, size) in self.used.iter().chain([&(self.capacity, 0)]) {
            assert!(end <= offset, "blocks overlap or pass the end");
            if end < offset {
                gaps.push((end, offset - end));
            }
            end = offset + size;
        }
        gaps
    }

    fn granted(&self, size: u64) -> Option<u64> {
        size.max(1).checked_next_multiple_of(self.granularity)
    }

    fn could_hold(&self, size: u64, align: u64) -> bool {
        let Some(size) = self.granted(size) else { return false };
        self.gaps().into_iter().any(|(offset, room)| {
            let start = offset.checked_next_multiple_of(align.max(self.granularity));
            start.is_some_and(|start| {
                start.checked_add(size).is_some_and(|end| end <= offset + room)
            })
        })
    }

    fn add(&mut self, offset: u64, size: u64) {
        let place = self.used.partition_point(|&(other, _)| other < offset);
        self.used.insert(place, (offset, size));
    }

    fn remove(&mut self, offset: u64, size: u64) {
        let place = self.used.iter().position(|&range| range == (offset, size)).unwrap();
        self.used.remove(place);
    }

    /// That arena and model say the same, and that the gaps are whole: were two free blocks
    /// neighbours, there would be more of them than gaps.
    fn compare(&self, arena: &Tlsf) {
        let gaps = self.gaps();
        let spans = |free| {
            let chosen = arena.spans().filter(move |span| span.free == free);
            chosen.map(|span| (span.offset, span.size)).collect::<Vec<_>>()
        };
        assert_eq!(spans(false), self.used);
        assert_eq!(spans(true), gaps);
        let used: u64 = self.used.iter().map(|range| range.1).sum();
        let largest = gaps.iter().map(|gap| gap.1).max().unwrap_or(0);
        assert_eq!(arena.used(), used);
        assert_eq!(arena.free_bytes(), self.capacity - used);
        assert_eq!(arena.live(), self.used.len() as u64);
        assert_eq!(arena.report().largest_free, largest);
        if gaps.len() <= LAST_LOOK as usize {
            assert_eq!(arena.largest_free(), largest);
        }
        assert_eq!(arena.report().free_blocks, gaps.len() as u64);
    }
}

impl Tlsf {
    /// That every free block is in the list of its class and nothing else is.
    fn check(&self) {
        let mut listed = Vec::new();
        let mut class = self.bins.filled_from(Class::of(0));
        while let Some(this) = class {
            let (mut prev, mut index) = (NIL, self.bins.first(this));
            assert_ne!(index, NIL, "{this:?} is marked as filled");
            while index != NIL {
                let node = self.nodes[index];
                assert!(node.is_free());
                assert_eq!(Class::of(node.size()), this);
                assert_eq!(node.prev, prev);
                listed.push(node.start << self.shift);
                (prev, index) = (index, node.next);
            }
            class = self.bins.filled_from(this.above());
        }
        listed.sort_unstable();
        let free = self.spans().filter(|span| span.free).map(|span| span.offset);
        assert_eq!(listed, free.collect::<Vec<_>>());
        assert_eq!(self.nodes[NIL].next, NIL);
        // Blocks, spare nodes and NIL make up the table.
        assert_eq!(self.spans().count() + self.nodes.spares() + 1, self.nodes.len());
    }
}

#[derive(Clone, Debug)]
enum Step {
    Allocate {
        size: u64,
        align: u64,
    },
    /// Which of the live blocks, modulo their number.
    Free(usize),
    FreeAgain(usize),
    Reset,
}

/// Numbers of all magnitudes up to `2^bits`.
fn magnitudes(bits: u32) -> impl Strategy<Value = u64> {
    (0..=bits, any::<u64>()).prop_map(|(bits, random)| random & ((1 << bits) - 1))
}

fn steps(bits: u32, most: usize) -> impl Strategy<Value = Vec<Step>> {
    let align = prop_oneof![3 => Just(0u32), 1 => 0..bits];
    let allocate = (magnitudes(bits), align)
        .prop_map(|(size, align)| Step::Allocate { size, align: 1 << align });
    let step = prop_oneof![
        12 => allocate,
        8 => any::<usize>().prop_map(Step::Free),
        1 => any::<usize>().prop_map(Step::FreeAgain),
        1 => prop_oneof![9 => Just(Step::Free(0)), 1 => Just(Step::Reset)],
    ];
    prop::collection::vec(step, 1..most)
}

fn run(capacity: u64, granularity: u64, steps: Vec<Step>) {
    let mut arena = Tlsf::with_granularity(capacity, granularity).unwrap();
    let capacity = arena.capacity();
    let mut model = Model { capacity, granularity, used: Vec::new() };
    let mut live: Vec<Block> = Vec::new();
    let mut high_water = 0;
    for step in steps {
        match step {
            Step::Allocate { size, align } => match arena.allocate(size, align) {
                Ok(block) => {
                    assert_eq!(block.offset() % align, 0);
                    assert_eq!(block.offset() % granularity, 0);
                    assert_eq!(Some(block.size()), model.granted(size));
                    assert!(arena.owns(&block));
                    model.add(block.offset(), block.size());
                    high_water = high_water.max(block.offset() + block.size());
                    live.push(block);
                }
                Err(error) => {
                    assert!(matches!(error, Error::OutOfSpace { .. }), "{error}");
                    if model.gaps().len() <= LAST_LOOK as usize {
                        assert!(!model.could_hold(size, align), "refused {size} at {align}");
                    }
                }
            },
            Step::Free(which) if !live.is_empty() => {
                let block = live.swap_remove(which % live.len());
                model.remove(block.offset(), block.size());
                arena.free(block).unwrap();
            }
            Step::FreeAgain(which) if !live.is_empty() => {
                let block = live.swap_remove(which % live.len());
                model.remove(block.offset(), block.size());
                let again = copy(&block);
                arena.free(block).unwrap();
                assert!(matches!(arena.free(again), Err(Error::UnknownBlock { .. })));
            }
            Step::Free(_) | Step::FreeAgain(_) => {}
            Step::Reset => {
                arena.reset();
                model.used.clear();
                high_water = 0;
                for block in live.drain(..) {
                    assert!(matches!(arena.free(block), Err(Error::UnknownBlock { .. })));
                }
            }
        }
        model.compare(&arena);
        arena.check();
        assert_eq!(arena.high_water(), high_water);
    }
    for block in live {
        arena.free(block).unwrap();
    }
    arena.check();
    assert_eq!(spans(&arena), [(0, capacity, true)]);
}

const LONG: usize = if cfg!(miri) { 12 } else { 120 };

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(if cfg!(miri) { 3 } else { 400 })
    })]

    #[test]
    fn small_arenas_agree_with_the_model(
        granules in 1u64..300, granularity in prop::sample::select(vec![1u64, 16, 256]),
        steps in steps(12, LONG),
    ) {
        run(granules * granularity + granularity / 2, granularity, steps);
    }

    #[test]
    fn large_arenas_agree_with_the_model(
        capacity in magnitudes(52), granularity in 0u32..13, steps in steps(50, LONG),
    ) {
        let granularity = 1 << granularity;
        run(capacity.max(granularity), granularity, steps);
    }

    #[test]
    fn crowded_arenas_agree_with_the_model(sizes in steps(9, LONG)) {
        run(2000, 1, sizes);
    }
}
