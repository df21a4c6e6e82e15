//! Schedules that make no sense are refused by name; those that do survive being saved.

mod common;

use common::random::{Dice, Wish, schedule};
use common::replay::run;
use proptest::prelude::*;
use tenure_layout::DType;
use tenure_plan::{
    BufferSpec, Lane, Lifetimes, Options, Packer, Placement, Plan, PlannerMode, Reason, Schedule,
    ScheduleError, Step, VerifyError, View, explain, plan, verify,
};

fn buffer(name: &str, bytes: u64) -> BufferSpec {
    BufferSpec::new(name, bytes)
}

fn error(buffers: Vec<BufferSpec>, steps: Vec<Step>) -> ScheduleError {
    Schedule { buffers, steps }.validate().unwrap_err()
}

fn view(name: &str, bytes: u64, base: usize, offset: u64) -> BufferSpec {
    BufferSpec { view_of: Some(View { buffer: base, offset }), ..buffer(name, bytes) }
}

fn arena(schedule: &Schedule) -> Plan {
    let made = plan(schedule, PlannerMode::Arena, Packer::Best, &Options::default()).unwrap();
    assert_eq!(verify(schedule, &made), Ok(()));
    made
}

#[test]
fn faults_are_named() {
    use ScheduleError as E;
    let a = || buffer("a", 64);
    let write = |b: usize| Step::new("write", [], [b]);
    let text = |e: ScheduleError| e.to_string();
    assert!(matches!(error(vec![a(), a()], vec![]), E::SameName { first: 0, second: 1, .. }));
    assert!(matches!(
        error(vec![a()], vec![write(1)]),
        E::NoSuchBuffer { buffer: 1, buffers: 1, .. }
    ));
    let bad = BufferSpec { align: 48, ..a() };
    assert!(text(error(vec![bad], vec![])).contains("\"a\" is aligned to 48"));
    assert!(matches!(error(vec![buffer("a", u64::MAX)], vec![]), E::TooLarge { .. }));
    assert!(matches!(error(vec![buffer("a", u64::MAX / 2)], vec![]), E::TooLarge { .. }));
    let half = u64::MAX / 4;
    let two = vec![buffer("a", half), buffer("b", half), buffer("c", 2)];
    assert!(matches!(error(two, vec![]), E::TooLarge { .. }));
    let cycle = vec![view("a", 64, 1, 0), view("b", 64, 2, 0), view("c", 64, 0, 0)];
    assert!(matches!(error(cycle, vec![]), E::ViewCycle { .. }));
    assert!(matches!(error(vec![view("a", 64, 0, 0)], vec![]), E::ViewCycle { .. }));
    assert!(matches!(error(vec![view("a", 1, 9, 0)], vec![]), E::NoSuchBase { other: 9, .. }));
    let hint = BufferSpec { in_place: vec![7], ..a() };
    assert!(matches!(error(vec![hint], vec![]), E::NoSuchBase { other: 7, .. }));
    assert!(matches!(error(vec![a(), view("v", 60, 0, 5)], vec![]), E::ViewOutside { .. }));
    assert!(matches!(error(vec![a(), view("v", 6, 0, u64::MAX)], vec![]), E::ViewOutside { .. }));
    let far = BufferSpec { device: 3, ..view("v", 8, 0, 0) };
    assert!(matches!(error(vec![a(), far], vec![]), E::ViewDevice { .. }));
    let read = Step::new("read", [0], []);
    assert!(text(error(vec![a()], vec![read.clone(), write(0)])).contains("\"read\" reads \"a\""));
    let add = Step::new("add", [0], [0]);
    assert!(matches!(error(vec![a()], vec![add]), E::ReadBeforeWrite { .. }));
    let part = vec![a(), view("v", 32, 0, 0)];
    assert!(matches!(error(part, vec![write(1), read.clone()]), E::ReadBeforeWrite { .. }));
    let input = BufferSpec { input: true, ..a() };
    assert!(matches!(error(vec![input.clone()], vec![write(0)]), E::WrittenInput { .. }));
    let behind = vec![input, view("v", 8, 0, 0)];
    assert!(matches!(error(behind, vec![write(1)]), E::WrittenInput { .. }));
    let many = (0..65).map(|device| Step { device, ..Step::new("far", [], []) }).collect();
    assert!(matches!(error(vec![], many), E::TooManyLanes { .. }));
}

#[test]
fn levels_are_checked() {
    use ScheduleError as E;
    let at = |level, step: Step| Step { level: Some(level), ..step };
    let buffers = || vec![buffer("a", 64), view("low", 32, 0, 0), view("high", 32, 0, 32)];
    let write = |b: usize| Step::new(format!("write{b}"), [], [b]);
    let read = |b: usize| Step::new(format!("read{b}"), [b], []);
    assert!(matches!(
        error(buffers(), vec![at(0, write(0)), read(0)]),
        E::MixedLevels { has: false, .. }
    ));
    assert!(matches!(
        error(buffers(), vec![write(0), at(0, read(0))]),
        E::MixedLevels { has: true, .. }
    ));
    assert!(matches!(
        error(buffers(), vec![at(2, write(0)), at(1, read(0))]),
        E::LevelOrder { level: 1, before: 2, .. }
    ));
    for pair in [[write(0), read(1)], [write(1), read(0)], [write(1), write(0)]] {
        let steps = pair.map(|step| at(4, step)).to_vec();
        assert!(matches!(error(buffers(), steps), E::LevelConflict { level: 4, .. }));
    }
    let halves = vec![at(0, write(1)), at(0, write(2)), at(7, read(0)), at(7, read(0))];
    let schedule = Schedule { buffers: buffers(), steps: halves };
    assert_eq!(schedule.validate(), Ok(()));
    assert_eq!(Lifetimes::new(&schedule).unwrap().lifetime(2), Some(0..2));
}

#[test]
fn everybody_left_out_has_a_reason() {
    let mut buffers: Vec<_> = ["in", "out", "have", "part", "disk"].map(|n| buffer(n, 8)).to_vec();
    buffers[0].input = true;
    buffers[1].output = true;
    buffers[2].allocated = true;
    buffers[3].partial = true;
    buffers[4].disk = true;
    buffers.push(buffer("idle", 8));
    buffers.push(view("of in", 4, 0, 4));
    buffers.push(buffer("base", 8));
    buffers.push(BufferSpec { output: true, ..view("shown", 4, 7, 4) });
    buffers.push(buffer("plain", 8));
    buffers.push(view("of plain", 4, 9, 4));
    let steps = vec![Step::new("s", [0, 2, 3, 4, 6], [1, 7, 9]), Step::new("t", [10, 8], [])];
    let schedule = Schedule { buffers, steps };
    let made = arena(&schedule);
    let reasons = [
        Reason::Input,
        Reason::Output,
        Reason::Allocated,
        Reason::Partial,
        Reason::Disk,
        Reason::NeverUsed,
        Reason::Aliased(0),
        Reason::Aliased(8),
        Reason::Output,
    ];
    for (index, reason) in reasons.into_iter().enumerate() {
        assert_eq!(made.placements[index], Placement::Excluded(reason));
    }
    assert_eq!(made.place(9), Some((0, 0)));
    assert_eq!(made.place(10), Some((0, 4)));
    let why: Vec<String> = explain(&schedule).unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(why[7], "shares bytes with \"shown\", which is an output");
    assert_eq!(why[10], "is a view and counts with \"plain\"");
    assert!(why[4].starts_with("is on disk") && why[5].starts_with("is never used"));
}

#[test]
fn in_place_chains_share_one_place() {
    let relu = |name: &str, from| BufferSpec { in_place: vec![from], ..buffer(name, 4096) };
    let buffers = vec![buffer("a", 4096), relu("b", 0), relu("c", 1), relu("d", 2)];
    let steps = vec![
        Step::new("make", [], [0]),
        Step::new("1", [0], [1]),
        Step::new("2", [1], [2]),
        Step::new("3", [2], [3]),
    ];
    let mut schedule = Schedule { buffers, steps };
    for mode in [PlannerMode::Remap, PlannerMode::Arena] {
        let made = plan(&schedule, mode, Packer::Best, &Options::default()).unwrap();
        assert_eq!((made.bytes, made.optimal), (4096, true));
        assert_eq!(verify(&schedule, &made), Ok(()));
    }
    // Who is read later does not give its bytes away, nor does another type when remapped.
    schedule.steps[3].reads.push(1);
    assert_eq!(arena(&schedule).bytes, 2 * 4096);
    schedule.steps[3].reads.pop();
    schedule.buffers[1].dtype = DType::F32;
    let made = plan(&schedule, PlannerMode::Remap, Packer::Best, &Options::default()).unwrap();
    assert_eq!((made.bytes, made.arenas.len()), (2 * 4096, 2));
}

#[test]
fn in_place_is_not_for_views_of_either() {
    // The step would write a part of what it takes over, or read it twice in two ways.
    let mut buffers = vec![buffer("a", 256), buffer("b", 256), view("part", 64, 0, 0)];
    buffers[1].in_place = vec![0];
    let make = Step::new("make", [], [0]);
    let written = Step::new("use", [0], [2, 1]);
    let last = Step::new("look", [1], []);
    let read = Step::new("use", [0, 2], [1]);
    for step in [written, read] {
        let steps = vec![make.clone(), step, last.clone()];
        let schedule = Schedule { buffers: buffers.clone(), steps };
        let mut made = arena(&schedule);
        assert_eq!(made.bytes, 512);
        made.placements[1] = made.placements[0];
        assert!(matches!(verify(&schedule, &made), Err(VerifyError::Overlap { .. })));
    }
}

#[test]
fn matching_moves_a_choice_to_serve_both() {
    let mut buffers: Vec<_> = ["a", "b", "c", "d"].map(|name| buffer(name, 256)).to_vec();
    buffers[2].in_place = vec![0, 1];
    buffers[3].in_place = vec![0];
    let steps = vec![Step::new("make", [], [0, 1]), Step::new("use", [0, 1], [2, 3])];
    assert_eq!(arena(&Schedule { buffers, steps }).bytes, 512);
}

#[test]
fn copies_are_held_until_nobody_waits() {
    // Copies in turn feed compute; the second copy must not wait for the first's reader.
    let copy = |to| Step { lane: Lane::Copy, ..Step::new(format!("copy{to}"), [], [to]) };
    let buffers = (0..3).map(|i| buffer(&format!("in{i}"), 256)).collect();
    let steps = vec![
        copy(0),
        Step::new("use0", [0], []),
        copy(1),
        Step::new("use1", [1], []),
        copy(2),
        Step::new("use2", [2], []),
    ];
    let schedule = Schedule { buffers, steps };
    let made = arena(&schedule);
    assert_eq!((made.bytes, made.arenas[0].lane), (3 * 256, Lane::Copy));
    // One after the other in memory is right in time, but makes the copy lane wait.
    let mut tight = made.clone();
    tight.placements = vec![Placement::At { arena: 0, offset: 0 }; 3];
    assert!(matches!(verify(&schedule, &tight), Err(VerifyError::Unordered { .. })));
}

#[test]
fn a_million_buffers() {
    let count = 1_000_000;
    let mut schedule = Schedule::default();
    for index in 0..count {
        let mut spec = buffer(&format!("b{index}"), 64 + index as u64 % 1000);
        if index % 3 == 2 {
            spec.view_of = Some(View { buffer: index - 1, offset: 0 });
            spec.bytes = 64;
        }
        schedule.buffers.push(spec);
        let reads = if index > 0 { vec![index - 1] } else { vec![] };
        schedule.steps.push(Step::new("s", reads, [index]));
    }
    let lifetimes = Lifetimes::new(&schedule).unwrap();
    assert_eq!(lifetimes.tenants.len(), count - count / 3);
    let made = plan(&schedule, PlannerMode::Remap, Packer::Best, &Options::default()).unwrap();
    assert_eq!(verify(&schedule, &made), Ok(()));
    // A chain of views that each follow the one after.
    for index in 0..count - 1 {
        schedule.buffers[index].bytes = 8;
        schedule.buffers[index].view_of = Some(View { buffer: index + 1, offset: 0 });
    }
    schedule.buffers[count - 1] = buffer("end", 8);
    assert_eq!(Lifetimes::new(&schedule).unwrap().tenants.len(), 1);
}

#[test]
fn nothing_is_planned_to_nothing() {
    for mode in PlannerMode::ALL {
        let made = plan(&Schedule::default(), mode, Packer::Best, &Options::default()).unwrap();
        assert_eq!((made.bytes, made.optimal, made.arenas.len()), (0, true, 0));
    }
}

#[test]
fn json_faults_have_a_place() {
    let text = "{\"buffers\": [\n  {\"name\": \"a\", \"bytes\": -1}\n], \"steps\": []}";
    assert!(Schedule::from_json(text).unwrap_err().to_string().starts_with("line 2"));
    let text = r#"{"buffers": [{"name": "a", "bytes": 1, "dtype": "f33"}], "steps": []}"#;
    assert!(Schedule::from_json(text).unwrap_err().to_string().contains("bf16"));
    let text = r#"{"buffers": [], "steps": [], "step": []}"#;
    assert!(Schedule::from_json(text).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn saved_is_what_was(seed: u64, steps in 0usize..12) {
        let wish = Wish { seed, buffers: 12, steps, levels: seed % 2 == 0, lanes: true, views: true, flags: true, in_place: true };
        let schedule = schedule(wish);
        prop_assert_eq!(&Schedule::from_json(&schedule.to_json().unwrap()).unwrap(), &schedule);
        for mode in PlannerMode::ALL {
            let made = plan(&schedule, mode, Packer::GreedySize, &Options::default()).unwrap();
            prop_assert_eq!(&Plan::from_json(&made.to_json().unwrap()).unwrap(), &made);
        }
    }

    /// What the verifier lets pass runs, however it came about.
    #[test]
    fn verified_plans_run(seed: u64, steps in 0usize..12, knocks in 1usize..4) {
        let wish = Wish { seed, buffers: 9, steps, levels: seed % 3 == 0, lanes: seed % 2 == 0, views: seed % 5 < 3, flags: true, in_place: true };
        let schedule = schedule(wish);
        let mut made = plan(&schedule, PlannerMode::Arena, Packer::GreedySize, &Options::default()).unwrap();
        let dice = &mut Dice(seed);
        for _ in 0..knocks {
            let victim = dice.below(made.placements.len());
            let goal = dice.below(made.placements.len());
            if let (Some(_), Some((arena, offset))) = (made.place(victim), made.place(goal)) {
                made.placements[victim] = Placement::At { arena, offset };
            }
        }
        if verify(&schedule, &made).is_ok() {
            for turn in 0..4 {
                prop_assert_eq!(run(&schedule, &made, seed ^ turn), Ok(()));
            }
        }
    }
}
