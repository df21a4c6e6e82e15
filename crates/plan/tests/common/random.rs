//! Schedules from a seed: valid by construction, small, and full of corners.

use tenure_layout::DType;
use tenure_plan::{BufferSpec, Lane, Schedule, Step, View};

/// A small generator of numbers.
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }
}

/// What a schedule may have.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wish {
    pub seed: u64,
    pub buffers: usize,
    pub steps: usize,
    pub levels: bool,
    pub lanes: bool,
    pub views: bool,
    pub flags: bool,
    pub in_place: bool,
}

/// Root and offset of a buffer.
pub fn root(schedule: &Schedule, buffer: usize) -> (usize, usize) {
    let (mut at, mut offset) = (buffer, 0);
    while let Some(view) = schedule.buffers[at].view_of {
        offset += view.offset as usize;
        at = view.buffer;
    }
    (at, offset)
}

/// Whether two buffers have a byte in common.
pub fn overlap(schedule: &Schedule, a: usize, b: usize) -> bool {
    let ((ra, oa), (rb, ob)) = (root(schedule, a), root(schedule, b));
    let (la, lb) = (schedule.buffers[a].bytes as usize, schedule.buffers[b].bytes as usize);
    ra == rb && oa < ob + lb && ob < oa + la
}

/// Whether one of two steps writes what the other touches.
pub fn conflict(schedule: &Schedule, a: &Step, b: &Step) -> bool {
    let meets = |xs: &[usize], ys: &[usize]| {
        xs.iter().any(|&x| ys.iter().any(|&y| overlap(schedule, x, y)))
    };
    meets(&a.writes, &b.writes) || meets(&a.writes, &b.reads) || meets(&a.reads, &b.writes)
}

pub fn schedule(wish: Wish) -> Schedule {
    let dice = &mut Dice(wish.seed);
    let mut schedule = Schedule::default();
    let sizes = [0, 1, 5, 8, 8, 16, 16, 16, 24, 40];
    for index in 0..wish.buffers.max(1) {
        let mut spec = BufferSpec::new(format!("b{index}"), sizes[dice.below(sizes.len())]);
        spec.align = [1, 2, 8, 8, 8, 16][dice.below(6)];
        spec.dtype = if dice.chance(30) { DType::F32 } else { DType::U8 };
        if wish.lanes && dice.chance(30) {
            spec.device = 1;
        }
        if wish.flags && dice.chance(25) {
            match dice.below(6) {
                0 => spec.input = true,
                1 => spec.output = true,
                2 => spec.allocated = true,
                3 => spec.partial = true,
                4 => spec.disk = true,
                _ => (spec.input, spec.output) = (true, true),
            }
        }
        if wish.views && index > 0 && dice.chance(30) {
            let base = dice.below(index);
            let room = schedule.buffers[base].bytes;
            spec.bytes = spec.bytes.min(room);
            let offset = dice.next() % (room - spec.bytes + 1);
            spec.device = schedule.buffers[base].device;
            spec.view_of = Some(View { buffer: base, offset });
        }
        if wish.in_place && index > 0 {
            for _ in 0..dice.below(4) {
                spec.in_place.push(dice.below(index));
            }
        }
        schedule.buffers.push(spec);
    }
    let count = schedule.buffers.len();
    let mut covered: Vec<Vec<bool>> =
        schedule.buffers.iter().map(|spec| vec![false; spec.bytes as usize]).collect();
    let range = |schedule: &Schedule, buffer: usize| {
        let (root, offset) = root(schedule, buffer);
        (root, offset..offset + schedule.buffers[buffer].bytes as usize)
    };
    for index in 0..count {
        let spec = &schedule.buffers[index];
        if spec.input || spec.allocated || spec.partial || spec.disk {
            let (root, range) = range(&schedule, index);
            covered[root][range].fill(true);
        }
    }
    let (mut level, mut since) = (0, 0);
    for index in 0..wish.steps {
        let mut step = Step::new(format!("s{index}"), [], []);
        if wish.lanes {
            step.device = u32::from(dice.chance(30));
            step.lane = if dice.chance(35) { Lane::Copy } else { Lane::Compute };
        }
        for _ in 0..=dice.below(3) {
            let buffer = dice.below(count);
            let (root, range) = range(&schedule, buffer);
            if covered[root][range].iter().all(|&byte| byte) {
                step.reads.push(buffer);
            }
        }
        for _ in 0..=dice.below(2) {
            // Progress is likelier if new buffers follow the order of steps.
            let near = index * count / wish.steps.max(1);
            let buffer = if dice.chance(60) { near } else { dice.below(count) };
            let (root, range) = range(&schedule, buffer);
            if !schedule.buffers[buffer].input && !schedule.buffers[root].input {
                step.writes.push(buffer);
                covered[root][range].fill(true);
            }
        }
        if wish.levels {
            let clash =
                schedule.steps[since..].iter().any(|other| conflict(&schedule, other, &step));
            if clash || dice.chance(30) {
                level += 1 + dice.below(3) as u32;
                since = index;
            }
            step.level = Some(level);
        }
        schedule.steps.push(step);
    }
    schedule
}
