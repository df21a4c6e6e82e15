//! What each mode does, and what it leaves alone.

use tenure_layout::DType;
use tenure_plan::{
    Arena, BufferSpec, Lane, Options, Packer, Placement, Plan, PlannerMode, Reason, Schedule, Step,
    VerifyError, View, plan, verify,
};

fn made(schedule: &Schedule, mode: PlannerMode) -> Plan {
    let made = plan(schedule, mode, Packer::default(), &Options::default()).unwrap();
    assert_eq!(verify(schedule, &made), Ok(()), "{mode}");
    made
}

/// x → a → b → c → y, with a view of `b`, where all of `sizes` are those of a, b and c.
fn chain(sizes: [u64; 3]) -> Schedule {
    let mut buffers = vec![BufferSpec { input: true, ..BufferSpec::new("x", 64) }];
    buffers.extend(["a", "b", "c"].iter().zip(sizes).map(|(n, size)| BufferSpec::new(*n, size)));
    buffers.push(BufferSpec { output: true, ..BufferSpec::new("y", 64) });
    let view = View { buffer: 2, offset: 16 };
    buffers.push(BufferSpec { view_of: Some(view), ..BufferSpec::new("v", 8) });
    let steps = (0..4).map(|n| Step::new(format!("step{n}"), [n], [n + 1])).collect();
    Schedule { buffers, steps }
}

#[test]
fn disabled_places_nothing() {
    let schedule = chain([1000, 2000, 1000]);
    let plan = made(&schedule, PlannerMode::Disabled);
    assert_eq!((plan.arenas.len(), plan.packer), (0, None));
    assert!((0..6).all(|buffer| plan.place(buffer).is_none()));
    let why = |reason| Placement::Excluded(reason);
    let off = why(Reason::Disabled);
    assert_eq!(plan.placements, [why(Reason::Input), off, off, off, why(Reason::Output), off]);
    // What the buffers take on their own, each rounded up to its alignment.
    assert_eq!(plan.bytes, 1024 + 2048 + 1024);
    assert_eq!(plan.lower_bound, made(&schedule, PlannerMode::Arena).bytes);
    let json = plan.to_json().unwrap();
    assert_eq!(Plan::from_json(&json).unwrap(), plan);
    assert!(json.contains("disabled"), "{json}");
    assert_eq!(Reason::Disabled.to_string(), "has memory of its own: the planner is disabled");
}

#[test]
fn a_disabled_plan_that_places_or_lies_is_found() {
    let schedule = chain([1000, 2000, 1000]);
    let right = made(&schedule, PlannerMode::Disabled);
    let mut places = right.clone();
    places.placements[1] = Placement::At { arena: 0, offset: 0 };
    assert!(matches!(verify(&schedule, &places), Err(VerifyError::Placed { .. })));
    let arena =
        Arena { device: 0, lane: Lane::Compute, bytes: 0, align: 1, lower_bound: 0, optimal: true };
    let wrong = [
        Plan { arenas: vec![arena], ..right.clone() },
        Plan { bytes: right.bytes - 1, ..right.clone() },
    ];
    for wrong in wrong {
        assert!(matches!(verify(&schedule, &wrong), Err(VerifyError::Claim { .. })), "{wrong:?}");
    }
}

#[test]
fn remap_shares_by_device_type_and_rounded_size() {
    let shares = |change: &dyn Fn(&mut BufferSpec)| {
        let mut schedule = chain([1000, 5000, 900]);
        change(&mut schedule.buffers[3]);
        let plan = made(&schedule, PlannerMode::Remap);
        plan.place(1) == plan.place(3)
    };
    // 1000 and 900 bytes are 1024 of them, rounded.
    assert!(shares(&|_| {}));
    assert!(!shares(&|spec| spec.bytes = 700));
    assert!(!shares(&|spec| spec.dtype = DType::F32));
    assert!(!shares(&|spec| spec.device = 1));
    // Rounded to what it is aligned to.
    assert!(!shares(&|spec| spec.align = 64));
    assert!(shares(&|spec| (spec.bytes, spec.align) = (1023, 64)));
}

#[test]
fn arenas_are_one_for_each_device_and_copy_lane() {
    let mut schedule = chain([1000, 2000, 1000]);
    schedule.steps[1].lane = Lane::Copy;
    schedule.buffers[3].device = 1;
    schedule.steps[2].device = 1;
    let plan = made(&schedule, PlannerMode::Arena);
    let mut keys: Vec<_> = plan.arenas.iter().map(|arena| (arena.device, arena.lane)).collect();
    let all = keys.len();
    keys.dedup();
    assert_eq!((keys.len(), plan.packer), (all, Some(Packer::Best)));
    assert!(keys.contains(&(0, Lane::Copy)), "{keys:?}");
    // All buffers of a device and lane are in its arena, whatever their types.
    let mut schedule = chain([1000, 2000, 1000]);
    schedule.buffers[2].dtype = DType::F32;
    assert_eq!(made(&schedule, PlannerMode::Arena).arenas.len(), 1);
}
