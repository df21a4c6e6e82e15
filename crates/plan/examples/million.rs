//! How much memory planning takes, for a program that has the schedule in memory: the peak of this
//! process after the schedule was made, and after it was planned.
//!
//! `million [BUFFERS] [layers|copies] [plan|verify|pools|reorder]`

use std::process::ExitCode;

use tenure_plan::{
    BufferSpec, Lane, MemoryPool, Options, Packer, PlannerMode, Reorder, Schedule, Step, plan,
    pools, reorder, verify,
};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let count = arguments.next().map_or(1_000_000, |word| word.parse().expect("a number"));
    let copies = arguments.next().is_some_and(|word| word == "copies");
    let what = arguments.next().unwrap_or_else(|| "plan".into());
    let before = peak();
    let schedule = schedule(count, copies);
    let with_schedule = peak();
    let options = Options { work: 20_000, ..Options::default() };
    let made = || plan(&schedule, PlannerMode::Arena, Packer::Best, &options).expect("a plan");
    let bytes = match what.as_str() {
        "plan" => made().bytes,
        "verify" => {
            let made = made();
            verify(&schedule, &made).expect("a plan that holds");
            made.bytes
        }
        "pools" => {
            let pool = |name: &str, device, bytes| MemoryPool { name: name.into(), device, bytes };
            let one = |device| [pool("SRAM", device, Some(1 << 20)), pool("DRAM", device, None)];
            let memory: Vec<MemoryPool> = (0..2).flat_map(one).collect();
            pools(&schedule, &memory, &options).expect("room in DRAM").plan.bytes
        }
        "reorder" => reorder(&schedule, Reorder::default(), &options).expect("an order").peak,
        _ => return ExitCode::FAILURE,
    };
    let all = peak();
    println!("{count} buffers, {what}: {bytes} bytes");
    println!("the schedule: {} B a buffer", (with_schedule - before) / count);
    println!("the planner: {} B a buffer", (all - with_schedule) / count);
    println!("the process: {} MiB", all >> 20);
    ExitCode::SUCCESS
}

/// Layers one after the other; with copies, every other one is a copy, on two devices in turn.
fn schedule(count: usize, copies: bool) -> Schedule {
    let mut schedule =
        Schedule { buffers: Vec::with_capacity(count), steps: Vec::with_capacity(count) };
    for index in 0..count {
        let bytes = 64 * (1 + (index as u64).wrapping_mul(2_654_435_761) % 4096);
        let device = if copies { (index / 1000 % 2) as u32 } else { 0 };
        let lane = if copies && index % 2 == 1 { Lane::Copy } else { Lane::Compute };
        let buffer = BufferSpec { device, ..BufferSpec::new(format!("b{index}"), bytes) };
        schedule.buffers.push(buffer);
        let mut reads: Vec<usize> = index.checked_sub(1).into_iter().collect();
        if index % 5 == 0 {
            reads.extend(index.checked_sub(2 + index * 7 % 200));
        }
        schedule.steps.push(Step { device, lane, ..Step::new("", reads, [index]) });
    }
    schedule
}

/// The most memory that this process has had, in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<usize>().ok());
    kibibytes.unwrap_or(0) << 10
}
