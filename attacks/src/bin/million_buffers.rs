//! A schedule of a million buffers, with copies between two devices: the planner takes memory of its
//! own for each, and that is bounded.
#![forbid(unsafe_code)]

use tenure::plan::{BufferSpec, Lane, Options, Packer, PlannerMode, Schedule, Step, plan, verify};
use tenure_attacks::peak_memory;

const BUFFERS: usize = 1_000_000;
/// Bytes for each: the 250 that are promised, and what the allocator adds to them.
const MOST: u64 = 300;

fn schedule() -> Schedule {
    let mut schedule =
        Schedule { buffers: Vec::with_capacity(BUFFERS), steps: Vec::with_capacity(BUFFERS) };
    for index in 0..BUFFERS {
        let bytes = 64 * (1 + index as u64 * 2_654_435_761 % 4096);
        let device = (index / 1000 % 2) as u32;
        let lane = if index % 2 == 1 { Lane::Copy } else { Lane::Compute };
        let spec = BufferSpec { device, ..BufferSpec::new(format!("b{index}"), bytes) };
        schedule.buffers.push(spec);
        let mut reads: Vec<usize> = index.checked_sub(1).into_iter().collect();
        if index % 5 == 0 {
            reads.extend(index.checked_sub(2 + index * 7 % 200));
        }
        schedule.steps.push(Step { device, lane, ..Step::new("", reads, [index]) });
    }
    schedule
}

fn main() {
    let schedule = schedule();
    let before = peak_memory();
    let options = Options { work: 20_000, ..Options::default() };
    let made = plan(&schedule, PlannerMode::Arena, Packer::Best, &options).expect("a plan");
    verify(&schedule, &made).expect("a plan that holds");
    let each = (peak_memory() - before) / BUFFERS as u64;
    assert!(each <= MOST, "{each} bytes a buffer, at most {MOST}");
}
