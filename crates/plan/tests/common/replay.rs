//! A machine that runs a schedule in memory placed by a plan, in any order that its lanes, levels
//! and data allow, and looks whether every read finds what was written.

use std::collections::HashMap;

use tenure_plan::{Plan, Schedule};

use super::random::{Dice, conflict, root};

/// Which steps must be done before which, by brute force: in order on one lane, or by data.
pub fn before(schedule: &Schedule) -> Vec<Vec<bool>> {
    let steps = &schedule.steps;
    let n = steps.len();
    let mut edge = vec![vec![false; n]; n];
    for b in 0..n {
        for a in 0..b {
            let lane = (steps[a].device, steps[a].lane) == (steps[b].device, steps[b].lane);
            let later = steps[a].level.is_none() || steps[a].level < steps[b].level;
            edge[a][b] = (lane && later) || conflict(schedule, &steps[a], &steps[b]);
        }
    }
    for k in 0..n {
        for a in 0..n {
            if edge[a][k] {
                for b in 0..n {
                    edge[a][b] |= edge[k][b];
                }
            }
        }
    }
    edge
}

/// Where a byte of a buffer is: in an arena, or in memory of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Byte {
    Arena(usize, usize),
    Own(usize, usize),
}

fn bytes(schedule: &Schedule, plan: &Plan, buffer: usize) -> Vec<Byte> {
    let length = schedule.buffers[buffer].bytes as usize;
    match plan.place(buffer) {
        Some((arena, offset)) => {
            (0..length).map(|at| Byte::Arena(arena, offset as usize + at)).collect()
        }
        None => {
            let (root, offset) = root(schedule, buffer);
            (0..length).map(|at| Byte::Own(root, offset + at)).collect()
        }
    }
}

/// Runs the schedule once in an order that `seed` picks. A step scribbles over what it will
/// write, then reads, then writes; between, steps that do not wait for it may do their part.
pub fn run(schedule: &Schedule, plan: &Plan, seed: u64) -> Result<(), String> {
    let dice = &mut Dice(seed);
    let expected = expected(schedule);
    let order = before(schedule);
    let n = schedule.steps.len();
    let mut memory: HashMap<Byte, u64> = HashMap::new();
    for buffer in 0..schedule.buffers.len() {
        if plan.place(buffer).is_none() {
            for (at, byte) in bytes(schedule, plan, buffer).into_iter().enumerate() {
                let (root, offset) = root(schedule, buffer);
                memory.insert(byte, initial(root, offset + at));
            }
        }
    }
    let mut stage = vec![0u8; n];
    loop {
        let ready: Vec<usize> = (0..n)
            .filter(|&step| stage[step] < 3 && (0..n).all(|a| !order[a][step] || stage[a] == 3))
            .collect();
        if ready.is_empty() {
            return Ok(());
        }
        let step = ready[dice.below(ready.len())];
        let this = &schedule.steps[step];
        match stage[step] {
            0 => {
                // In place, what is read is what will be written: not before it was read.
                let shared = |write: usize, read: usize| {
                    schedule.buffers[write].in_place.contains(&read)
                        && plan.place(read).is_some()
                        && plan.place(write) == plan.place(read)
                        || root(schedule, write).0 == root(schedule, read).0
                };
                for &write in &this.writes {
                    if !this.reads.iter().any(|&read| shared(write, read)) {
                        for byte in bytes(schedule, plan, write) {
                            memory.insert(byte, u64::MAX);
                        }
                    }
                }
            }
            1 => {
                for &read in &this.reads {
                    for (at, byte) in bytes(schedule, plan, read).into_iter().enumerate() {
                        let (found, wanted) = (memory.get(&byte), expected[step][&read][at]);
                        if found != Some(&wanted) {
                            let name = &schedule.buffers[read].name;
                            return Err(format!(
                                "{} reads byte {at} of {name} at {byte:?}: {found:x?}, not {wanted:x}",
                                this.name
                            ));
                        }
                    }
                }
            }
            _ => {
                for &write in &this.writes {
                    for (at, byte) in bytes(schedule, plan, write).into_iter().enumerate() {
                        let (root, offset) = root(schedule, write);
                        memory.insert(byte, value(step, root, offset + at));
                    }
                }
            }
        }
        stage[step] += 1;
    }
}

fn initial(root: usize, at: usize) -> u64 {
    (1 << 40) | ((root as u64) << 20) | at as u64
}

fn value(step: usize, root: usize, at: usize) -> u64 {
    (2 << 40) | ((step as u64) << 50) | ((root as u64) << 20) | at as u64
}

/// What each step should read, from running one step after the other in memory of their own.
fn expected(schedule: &Schedule) -> Vec<HashMap<usize, Vec<u64>>> {
    let mut memory: HashMap<(usize, usize), u64> = HashMap::new();
    let mut all = Vec::new();
    for (index, step) in schedule.steps.iter().enumerate() {
        let mut reads = HashMap::new();
        for &read in &step.reads {
            let (root, offset) = root(schedule, read);
            let bytes = offset..offset + schedule.buffers[read].bytes as usize;
            let get = |at| memory.get(&(root, at)).copied().unwrap_or(initial(root, at));
            reads.insert(read, bytes.map(get).collect());
        }
        all.push(reads);
        for &write in &step.writes {
            let (root, offset) = root(schedule, write);
            for at in offset..offset + schedule.buffers[write].bytes as usize {
                memory.insert((root, at), value(index, root, at));
            }
        }
    }
    all
}
