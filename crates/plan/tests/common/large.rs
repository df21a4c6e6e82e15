//! Schedules of very many buffers, the same in every run.

use tenure_plan::{BufferSpec, Item, Lane, Schedule, Step, View};

/// Numbers that look random.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

pub fn kilobytes(random: u64) -> u64 {
    64 * (1 + random % 4096)
}

/// Sizes whose offsets do not fit into four bytes, whatever they are counted in.
pub fn gigabytes(random: u64) -> u64 {
    (random << 9) | 257
}

/// Layers one after the other, every fifth with a connection to one long before it.
pub fn layers(count: usize, sized: impl Fn(u64) -> u64) -> Schedule {
    let mut schedule = Schedule::default();
    let mut state = 7;
    for index in 0..count {
        let bytes = sized(random(&mut state));
        schedule.buffers.push(BufferSpec::new(format!("b{index}"), bytes));
        let mut reads: Vec<usize> = index.checked_sub(1).into_iter().collect();
        if index % 5 == 0 {
            reads.extend(index.checked_sub(2 + (random(&mut state) % 200) as usize));
        }
        schedule.steps.push(Step::new("", reads, [index]));
    }
    schedule
}

/// The same where every third may take the bytes of the one before.
pub fn in_place(count: usize) -> Schedule {
    let mut schedule = layers(count, kilobytes);
    for index in (3..count).step_by(3) {
        schedule.buffers[index].bytes = schedule.buffers[index - 1].bytes;
        schedule.buffers[index].in_place = vec![index - 1];
    }
    schedule
}

/// The same with a level for each step.
pub fn levels(count: usize) -> Schedule {
    let mut schedule = layers(count, kilobytes);
    for (level, step) in (0u32..).zip(&mut schedule.steps) {
        step.level = Some(level);
    }
    schedule
}

/// Two devices in turn, a thousand layers each, and every other layer a copy: nearly every buffer
/// is touched by two queues, and held for both.
pub fn copies(count: usize) -> Schedule {
    let mut schedule = layers(count, kilobytes);
    for index in 0..count {
        let device = (index / 1000 % 2) as u32;
        schedule.buffers[index].device = device;
        schedule.steps[index].device = device;
        schedule.steps[index].lane = if index % 2 == 0 { Lane::Compute } else { Lane::Copy };
    }
    schedule
}

/// The same where every third buffer is a view of the one before it, which is read through it,
/// and `crowd` others are views of the first.
pub fn views(count: usize, crowd: usize) -> Schedule {
    let mut schedule = copies(count);
    for index in 2..count {
        let base = if index <= crowd { 0 } else { index - 1 };
        if index % 3 == 2 || index <= crowd {
            let bytes = schedule.buffers[base].bytes / 2;
            schedule.buffers[index].bytes = bytes;
            schedule.buffers[index].device = schedule.buffers[base].device;
            let offset = index as u64 % (bytes + 1);
            schedule.buffers[index].view_of = Some(View { buffer: base, offset });
            schedule.steps[index].writes.clear();
            schedule.steps[index].reads.push(index);
        }
    }
    schedule
}

/// Steps in two rows that have nothing to do with each other, a step of one after a step of the
/// other, each buffer read by several.
pub fn rows(count: usize) -> Schedule {
    let mut schedule = Schedule::default();
    let mut state = 11;
    for index in 0..count {
        let bytes = kilobytes(random(&mut state));
        schedule.buffers.push(BufferSpec::new(format!("b{index}"), bytes));
        let reads: Vec<usize> =
            [2, 4, 6].iter().filter_map(|far| index.checked_sub(*far)).collect();
        schedule.steps.push(Step::new("", reads, [index]));
    }
    schedule
}

/// Lifetimes in no order, with thousands alive at once.
pub fn crowd(count: usize) -> Vec<Item> {
    let mut state = 3;
    let item = |_| {
        let lower = random(&mut state) % (count as u64 / 4);
        let upper = lower + 1 + random(&mut state) % 500;
        Item { lower, upper, size: kilobytes(random(&mut state)), align: 64 }
    };
    (0..count).map(item).collect()
}
