//! svod's planner, and what is known of packing lifetimes.

use std::str::FromStr;

use tenure::memory::{Buffer, TensorMemory, kind};
use tenure::plan::{
    BufferSpec, DEFAULT_ALIGN, Options, Packer, Placement, Plan, PlannerMode, Reason, Schedule,
    Step, View, explain, plan, verify,
};
use tenure::realize::realize;

fn chain() -> Schedule {
    let mut buffers: Vec<BufferSpec> =
        ["x", "a", "b", "c", "y"].iter().map(|name| BufferSpec::new(*name, 1000)).collect();
    (buffers[0].input, buffers[4].output) = (true, true);
    let steps = (0..4).map(|n| Step::new(format!("step{n}"), [n], [n + 1])).collect();
    Schedule { buffers, steps }
}

fn made(schedule: &Schedule, mode: PlannerMode) -> Plan {
    let made = plan(schedule, mode, Packer::default(), &Options::default()).unwrap();
    assert_eq!(verify(schedule, &made), Ok(()));
    made
}

fn lazy(schedule: &Schedule) -> Vec<Buffer> {
    let heap = kind::allocator(TensorMemory::Mem).unwrap();
    let one = |spec: &BufferSpec| Buffer::lazy(heap, spec.bytes as usize, Some(&spec.name));
    schedule.buffers.iter().map(|spec| one(spec).unwrap()).collect()
}

/// Modes, their words (those of `SVOD_MEMORY_PLANNER` too), the default and the variable.
#[test]
fn modes() {
    assert_eq!(PlannerMode::default(), PlannerMode::Arena);
    assert_eq!(Packer::default(), Packer::Best);
    assert_eq!(tenure::plan::MODE_VARIABLE, "TENURE_PLANNER");
    let words = [
        ("disabled", PlannerMode::Disabled),
        ("off", PlannerMode::Disabled),
        ("none", PlannerMode::Disabled),
        ("remap", PlannerMode::Remap),
        ("pool", PlannerMode::Remap),
        ("arena", PlannerMode::Arena),
        ("tlsf", PlannerMode::Arena),
    ];
    for (word, mode) in words {
        assert_eq!(PlannerMode::from_str(word), Ok(mode));
        assert_eq!(PlannerMode::try_from(word.to_uppercase().as_str()), Ok(mode));
        let error = PlannerMode::from_str("sometimes").unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}

/// "Disabled short-circuits the planner and emits no replacements. Each Buffer keeps its original
/// allocation and is freed by lazy Drop."
#[test]
fn disabled() {
    let schedule = chain();
    let plan = made(&schedule, PlannerMode::Disabled);
    assert!(plan.arenas.is_empty());
    assert!(plan.placements.iter().all(|place| matches!(place, Placement::Excluded(_))));
    let mut buffers = lazy(&schedule);
    assert!(realize(&schedule, &plan, &buffers).unwrap().is_empty());
    assert!(!buffers.iter().any(Buffer::is_placed));
    buffers[1].ensure().unwrap();
    assert!(!buffers[3].is_placed());
    let weak = buffers[1].identity().weak();
    drop(buffers.remove(1));
    assert!(weak.upgrade().is_none());
}

/// "Remap groups buffers by (device, dtype, rounded_size) and lets disjoint-lifetime buffers share
/// an underlying allocation."
#[test]
fn remap() {
    assert_eq!(DEFAULT_ALIGN, 256);
    let shared = |change: &dyn Fn(&mut BufferSpec)| {
        let mut schedule = chain();
        change(&mut schedule.buffers[3]);
        let plan = made(&schedule, PlannerMode::Remap);
        assert_ne!(plan.place(1), plan.place(2), "they live at the same time");
        plan.place(1) == plan.place(3)
    };
    assert!(shared(&|_| {}) && shared(&|spec| spec.bytes = 769));
    assert!(!shared(&|spec| spec.bytes = 768));
    assert!(!shared(&|spec| spec.device = 1));
    assert!(!shared(&|spec| spec.dtype = tenure::DType::F32));
}

/// "Arena packs all plannable buffers into one per-device arena and rewrites each logical buffer as
/// a view into it."
#[test]
fn arena() {
    let schedule = chain();
    let plan = made(&schedule, PlannerMode::Arena);
    assert_eq!((plan.arenas.len(), plan.packer), (1, Some(Packer::Best)));
    let buffers = lazy(&schedule);
    let arenas = realize(&schedule, &plan, &buffers).unwrap();
    let home = arenas[0].identity().id();
    let inside = |buffer: &Buffer| buffer.place().is_some_and(|place| place.allocation == home);
    assert!(buffers[1..4].iter().all(inside));
    assert!(!buffers[0].is_placed() && !buffers[4].is_placed());
}

/// What is left out of a plan, and why: inputs, outputs, what is allocated, on disk, written in part
/// or never used, and what shares bytes with one of these.
#[test]
fn exclusions() {
    let mut schedule = chain();
    let mut add = |spec: BufferSpec| {
        schedule.buffers.push(spec);
        schedule.buffers.len() - 1
    };
    let kept = add(BufferSpec { allocated: true, ..BufferSpec::new("kept", 8) });
    let disk = add(BufferSpec { disk: true, ..BufferSpec::new("disk", 8) });
    let gated = add(BufferSpec { partial: true, ..BufferSpec::new("gated", 8) });
    let idle = add(BufferSpec::new("idle", 8));
    let view = View { buffer: 0, offset: 0 };
    let seen = add(BufferSpec { view_of: Some(view), ..BufferSpec::new("seen", 8) });
    schedule.steps[0].reads.extend([disk, seen]);
    schedule.steps[1].writes.extend([kept, gated]);
    let plan = made(&schedule, PlannerMode::Arena);
    let why = |buffer: usize| plan.placements[buffer];
    let reasons = [
        (0, Reason::Input),
        (4, Reason::Output),
        (kept, Reason::Allocated),
        (disk, Reason::Disk),
        (gated, Reason::Partial),
        (idle, Reason::NeverUsed),
        (seen, Reason::Aliased(0)),
    ];
    for (buffer, reason) in reasons {
        assert_eq!(why(buffer), Placement::Excluded(reason));
    }
    assert_eq!(explain(&schedule).unwrap()[disk].to_string(), "is on disk: its bytes are a file's");
}

/// "Liveness is measured in execution levels: reuse is strictly cross-level."
#[test]
fn levels() {
    let mut schedule = chain();
    for (index, step) in schedule.steps.iter_mut().enumerate() {
        step.level = Some(index as u32 / 2);
    }
    schedule.steps[1].reads = vec![0];
    schedule.steps[3].reads = vec![1, 2];
    let plan = made(&schedule, PlannerMode::Arena);
    assert_ne!(plan.place(1), plan.place(2), "written at one level");
}

/// "Lower bound: the largest sum of sizes alive at one time", and "optimal" is said when proven.
#[test]
fn bound() {
    let plan = made(&chain(), PlannerMode::Arena);
    assert_eq!((plan.bytes, plan.lower_bound, plan.optimal), (2048, 2048, true));
    let tlsf = tenure::plan::plan(&chain(), PlannerMode::Arena, Packer::Tlsf, &Options::default());
    assert!(tlsf.unwrap().bytes >= plan.lower_bound);
}
