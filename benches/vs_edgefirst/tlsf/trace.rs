//! What the arenas are asked: made up from a seed, so that it is the same in every run.

/// Frees the block in a slot, if there is one, and puts another in its place.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub(crate) slot: usize,
    /// Bytes of the new block; none if zero.
    pub(crate) size: u64,
}

pub(crate) struct Trace {
    /// How many blocks there can be at a time.
    pub(crate) slots: usize,
    pub(crate) steps: Vec<Step>,
}

#[derive(Clone, Copy)]
pub(crate) enum Sizes {
    /// From 256 B to 16 MiB, each magnitude as often as the others.
    Mixed,
    /// Images and layers of a vision pipeline: few sizes, each many times.
    Tensors,
}

/// Height, width and bytes per pixel: camera images, network inputs, feature maps, outputs.
const TENSORS: [(u64, u64, u64); 12] = [
    (480, 640, 3),
    (1080, 1920, 3),
    (1080, 1920, 1),
    (2160, 3840, 2),
    (640, 640, 3),
    (240, 320, 4),
    (80, 80, 256),
    (40, 40, 512),
    (20, 20, 1024),
    (1, 1000, 4),
    (84, 8400, 4),
    (224, 224, 12),
];

impl Trace {
    /// Fills all slots and then replaces the block of a random slot, again and again.
    pub(crate) fn replacing(seed: u64, sizes: Sizes, slots: usize, steps: usize) -> Self {
        let mut random = Random::new(seed);
        let fill = 0..slots;
        let replaced: Vec<usize> = (0..steps).map(|_| random.below(slots)).collect();
        let steps = fill.chain(replaced).map(|slot| Step { slot, size: random.size(sizes) });
        Self { slots, steps: steps.collect() }
    }

    /// Blocks come and go, while their number wanders between a quarter of the slots and all.
    pub(crate) fn wandering(seed: u64, sizes: Sizes, slots: usize, steps: usize) -> Self {
        let mut random = Random::new(seed);
        let mut empty: Vec<usize> = (0..slots).rev().collect();
        let mut taken: Vec<usize> = Vec::new();
        let mut target = slots;
        let mut step = |number: usize| {
            if number.is_multiple_of(2 * slots) {
                target = slots / 4 + random.below(slots - slots / 4);
            }
            let more = if taken.len() < target { random.unit() < 0.6 } else { random.unit() < 0.4 };
            if more && let Some(slot) = empty.pop() {
                taken.push(slot);
                return Some(Step { slot, size: random.size(sizes) });
            }
            if taken.is_empty() {
                return None;
            }
            let slot = taken.swap_remove(random.below(taken.len()));
            empty.push(slot);
            Some(Step { slot, size: 0 })
        };
        Self { slots, steps: (0..steps).filter_map(&mut step).collect() }
    }

    /// The most bytes that are live at a time.
    pub(crate) fn most_live(&self) -> u64 {
        let mut slots = vec![0; self.slots];
        let (mut live, mut most) = (0, 0);
        for step in &self.steps {
            if let Some(slot) = slots.get_mut(step.slot) {
                live = live - std::mem::replace(slot, step.size) + step.size;
                most = most.max(live);
            }
        }
        most
    }
}

/// xorshift64*: plenty for traces.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, end: usize) -> usize {
        (((self.next() >> 32) * end as u64) >> 32) as usize
    }

    /// In `0.0..1.0`.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn size(&mut self, sizes: Sizes) -> u64 {
        match sizes {
            Sizes::Mixed => (256.0 * 65536f64.powf(self.unit())) as u64,
            Sizes::Tensors => {
                let (height, width, pixel) = TENSORS[self.below(TENSORS.len())];
                height * width * pixel
            }
        }
    }
}
