//! Plans become memory: every mode and packer, on random schedules, with every byte looked at.

use proptest::prelude::*;
use tenure_memory::{Allocator, Buffer, Request, TensorMemory, kind};
use tenure_plan::{
    BufferSpec, Lane, Options, Packer, Placement, Plan, PlannerMode, Schedule, Step, View, plan,
};
use tenure_tensor::realize::{RealizeError, ReplayError, realize, realize_in, replay};
use tenure_tensor::{DType, DynTensor, Tensor, TensorDyn};

fn heap() -> &'static dyn Allocator {
    kind::allocator(TensorMemory::Mem).unwrap()
}

/// Lazy buffers for a schedule. Views are slices of their bases, or lazy buffers of their own.
fn buffers(schedule: &Schedule, slices: bool) -> Vec<Buffer> {
    let mut all: Vec<Buffer> = vec![];
    for spec in &schedule.buffers {
        let bytes = spec.bytes as usize;
        all.push(match spec.view_of {
            Some(View { buffer, offset }) if slices || offset % 256 != 0 => {
                all[buffer].slice(offset as usize..offset as usize + bytes).unwrap()
            }
            _ => {
                let request = Request::new(bytes).unwrap().with_name(Some(&spec.name));
                Buffer::lazy_in(std::sync::Arc::new(Heap), &request)
            }
        });
    }
    all
}

struct Heap;

impl Allocator for Heap {
    fn memory(&self) -> TensorMemory {
        TensorMemory::Mem
    }

    fn allocate(&self, request: &Request<'_>) -> tenure_memory::Result<tenure_memory::RawBuffer> {
        heap().allocate(request)
    }
}

/// A schedule from numbers: every step writes something new from some of what exists.
fn schedule(numbers: &[(u8, u8, u8, u16)], levels: bool, lanes: bool) -> Schedule {
    let mut schedule = Schedule {
        buffers: vec![BufferSpec { input: true, ..BufferSpec::new("input", 300) }],
        steps: vec![],
    };
    let mut readable = vec![0];
    for (n, &(first, second, flags, bytes)) in numbers.iter().enumerate() {
        let pick = |number: u8| readable[number as usize % readable.len()];
        let reads =
            if flags & 1 == 0 { vec![pick(first)] } else { vec![pick(first), pick(second)] };
        let mut spec = BufferSpec::new(format!("t{n}"), u64::from(bytes) + 1);
        if flags & 2 != 0 {
            spec.bytes = schedule.buffers[reads[0]].bytes;
            spec.in_place = reads.clone();
        }
        spec.output = flags & 0x70 == 0x70;
        let bytes = spec.bytes;
        let written = schedule.buffers.len();
        schedule.buffers.push(spec);
        let mut step = Step::new(format!("step{n}"), reads, [written]);
        if lanes && flags & 8 != 0 {
            step.lane = Lane::Copy;
        }
        if levels {
            step.level = Some(n as u32);
        }
        schedule.steps.push(step);
        readable.push(written);
        if flags & 4 != 0 && bytes > 1 {
            let offset = if flags & 0x80 != 0 { bytes / 2 / 256 * 256 } else { bytes / 2 };
            let view = BufferSpec {
                view_of: Some(View { buffer: written, offset }),
                ..BufferSpec::new(format!("v{n}"), bytes - offset)
            };
            readable.push(schedule.buffers.len());
            schedule.buffers.push(view);
        }
    }
    if levels {
        concurrent(&mut schedule);
    }
    schedule
}

/// Gives neighbours the same level where neither needs the other.
fn concurrent(schedule: &mut Schedule) {
    let base = |schedule: &Schedule, mut buffer: usize| {
        while let Some(view) = schedule.buffers[buffer].view_of {
            buffer = view.buffer;
        }
        buffer
    };
    let mut level = 0;
    let mut written: Vec<usize> = vec![];
    for index in 0..schedule.steps.len() {
        let reads: Vec<usize> =
            schedule.steps[index].reads.iter().map(|&read| base(schedule, read)).collect();
        if index % 3 == 0 || reads.iter().any(|read| written.contains(read)) {
            level += 1;
            written.clear();
        }
        written.extend(schedule.steps[index].writes.clone());
        schedule.steps[index].level = Some(level);
    }
}

fn every_plan(schedule: &Schedule) -> Vec<Plan> {
    let options = Options { work: 2000, ..Options::default() };
    let make = |mode, packer| plan(schedule, mode, packer, &options).unwrap();
    let arenas = Packer::ALL.into_iter().map(|packer| make(PlannerMode::Arena, packer));
    let others = [PlannerMode::Disabled, PlannerMode::Remap].map(|mode| make(mode, Packer::Best));
    others.into_iter().chain(arenas).collect()
}

fn runs(schedule: &Schedule) {
    for plan in every_plan(schedule) {
        tenure_plan::verify(schedule, &plan).unwrap();
        // Nothing is placed in a base either, where nothing is touched.
        let off = plan.mode == PlannerMode::Disabled;
        for slices in [true, off] {
            let buffers = buffers(schedule, slices);
            let arenas = realize_in(schedule, &plan, &buffers, |_| Ok(heap())).unwrap();
            let sum = arenas.iter().map(|arena| arena.len() as u64).sum::<u64>();
            let expected = if off { 0 } else { plan.bytes };
            assert_eq!(sum, expected);
            for (index, buffer) in buffers.iter().enumerate() {
                if let Some((arena, offset)) = plan.place(index) {
                    let home = arenas[arena].place().unwrap();
                    let place = buffer.place().unwrap();
                    assert_eq!(place.allocation, home.allocation);
                    assert_eq!(place.range.start, home.range.start + offset as usize);
                } else {
                    assert!(!slices || !buffer.is_placed(), "what is left out is not touched");
                }
            }
            replay(schedule, &buffers)
                .unwrap_or_else(|error| panic!("{:?} {:?}: {error:?}", plan.mode, plan.packer));
            // Twice is as good as once.
            replay(schedule, &buffers).unwrap();
        }
    }
}

fn numbers() -> impl Strategy<Value = Vec<(u8, u8, u8, u16)>> {
    let most = if cfg!(miri) { 6 } else { 24 };
    proptest::collection::vec((any::<u8>(), any::<u8>(), any::<u8>(), 0..2000u16), 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 96 }))]

    #[test]
    fn every_mode_runs(numbers in numbers()) {
        runs(&schedule(&numbers, false, false));
    }

    #[test]
    fn every_mode_runs_with_copies(numbers in numbers()) {
        runs(&schedule(&numbers, false, true));
    }

    #[test]
    fn every_mode_runs_in_levels(numbers in numbers()) {
        runs(&schedule(&numbers, true, false));
    }
}

fn chain() -> Schedule {
    let sizes = [("x", 64), ("a", 4096), ("b", 2048), ("c", 4096), ("y", 64)];
    let mut buffers: Vec<BufferSpec> =
        sizes.iter().map(|&(name, bytes)| BufferSpec::new(name, bytes)).collect();
    buffers[0].input = true;
    buffers[4].output = true;
    let steps = (0..4).map(|n| Step::new(format!("step{n}"), [n], [n + 1])).collect();
    Schedule { buffers, steps }
}

fn arena(schedule: &Schedule) -> Plan {
    plan(schedule, PlannerMode::Arena, Packer::Best, &Options::default()).unwrap()
}

#[test]
fn a_wrong_plan_is_found_when_it_runs() {
    let schedule = chain();
    let mut wrong = arena(&schedule);
    // Two that live at the same time, at the same place.
    wrong.placements[2] = wrong.placements[1];
    let buffers = buffers(&schedule, true);
    realize(&schedule, &wrong, &buffers).unwrap();
    // A step that reads and writes the same bytes is in place, which is found at the next one.
    let mut longer = schedule.clone();
    longer.steps[2].reads.push(1);
    match replay(&longer, &buffers).unwrap_err() {
        ReplayError::Overwritten(found) => {
            assert_eq!((found.step.as_str(), found.who.buffer.as_str()), ("step2", "a"));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn steps_at_once_are_refused_what_overlaps() {
    let mut schedule = chain();
    schedule.steps = vec![
        Step { level: Some(0), ..Step::new("both", [0], [1]) },
        Step { level: Some(0), ..Step::new("at once", [0], [2]) },
    ];
    schedule.buffers.truncate(3);
    let mut wrong = arena(&schedule);
    wrong.placements[2] = wrong.placements[1];
    let buffers = buffers(&schedule, true);
    realize(&schedule, &wrong, &buffers).unwrap();
    match replay(&schedule, &buffers).unwrap_err() {
        ReplayError::Refused(refused) => {
            assert_eq!((refused.step.as_str(), refused.who.buffer.as_str()), ("at once", "b"));
            assert!(refused.source.is_busy());
        }
        other => panic!("{other}"),
    }
}

#[test]
fn what_does_not_belong_together_is_refused_before_anything_is_placed() {
    let schedule = chain();
    let plan = arena(&schedule);
    let free = |buffers: &[Buffer]| buffers.iter().filter(|buffer| buffer.is_placed()).count();
    let refused = |plan: &Plan, buffers: &[Buffer]| {
        let before = free(buffers);
        let error = realize_in(&schedule, plan, buffers, |_| Ok(heap())).unwrap_err();
        assert_eq!(free(buffers), before, "{error}");
        error
    };
    let whole = buffers(&schedule, true);
    let error = refused(&plan, &whole[1..]);
    let RealizeError::Count(count) = &error else { panic!("{error}") };
    assert_eq!((count.given, count.expected), (4, 5), "{error}");

    let mut short = whole.clone();
    short[3] = Buffer::lazy(heap(), 4095, None).unwrap();
    let words = refused(&plan, &short).to_string();
    assert_eq!(words, "the tensor for buffer \"c\" has 4095 bytes, the schedule says 4096");

    let mut twice = whole.clone();
    twice[3] = twice[1].clone();
    assert!(
        refused(&plan, &twice).to_string().contains("tensor \"a\" for buffer \"c\" is given twice")
    );

    let mut touched = whole.clone();
    touched[3] = Buffer::lazy(heap(), 4096, None).unwrap();
    touched[3].ensure().unwrap();
    assert!(refused(&plan, &touched).to_string().contains("\"c\" has its bytes already"));

    let mut outside = plan.clone();
    outside.placements[3] = Placement::At { arena: 0, offset: 1 << 20 };
    assert!(refused(&outside, &whole).to_string().contains("into arena 0"));
    outside.placements[3] = Placement::At { arena: 7, offset: 0 };
    assert!(refused(&outside, &whole).to_string().contains("into arena 7"));

    let mut absurd = plan.clone();
    absurd.arenas[0].bytes = u64::MAX;
    let error = refused(&absurd, &whole);
    assert!(matches!(&error, RealizeError::Arena(arena) if arena.arena == 0), "{error}");
    assert!(error.memory().is_some() && error.to_string().contains("tensor \"b\" for"), "{error}");
    realize(&schedule, &plan, &whole).unwrap();
}

#[test]
#[cfg(all(linux_like, not(miri)))]
fn arenas_are_in_any_memory() {
    let schedule = chain();
    let plan = arena(&schedule);
    let shm = kind::allocator(TensorMemory::Shm).unwrap();
    let buffers = buffers(&schedule, true);
    let view = buffers[1].slice(16..32).unwrap();
    let arenas = realize_in(&schedule, &plan, &buffers, |_| Ok(shm)).unwrap();
    assert_eq!(buffers[1].memory(), TensorMemory::Shm);
    assert!(view.is_placed() && view.aliases(&buffers[3]));
    replay(&schedule, &buffers).unwrap();
    // The arena stays while somebody is in it.
    let weak = arenas[0].identity().weak();
    drop((arenas, buffers));
    assert!(weak.upgrade().is_some());
    drop(view);
    assert!(weak.upgrade().is_none());
}

/// A lazy tensor for each buffer of a schedule, called as no buffer is.
fn tensors(schedule: &Schedule) -> Vec<TensorDyn> {
    let lazy = |spec: &BufferSpec| {
        let name = format!("tensor {}", spec.name);
        lazy_in(Heap, spec.bytes as usize, Some(&name))
    };
    schedule.buffers.iter().map(lazy).collect()
}

fn lazy_in(allocator: impl Allocator + 'static, bytes: usize, name: Option<&str>) -> TensorDyn {
    let allocator = std::sync::Arc::new(allocator);
    let shape = [bytes];
    let tensor = TensorDyn::builder(&shape, DType::U8).allocator(&allocator).name(name);
    tensor.lazy().build().unwrap()
}

#[test]
fn tensors_of_any_kind_are_realized() {
    let schedule = chain();
    let plan = arena(&schedule);
    let dynamic = tensors(&schedule);
    let view = dynamic[1].slice(0, 16..32).unwrap();
    let arenas = realize(&schedule, &plan, &dynamic).unwrap();
    assert_eq!((arenas.len(), arenas[0].len()), (1, 6144));
    assert_eq!(dynamic[1].buffer().place().unwrap().allocation, arenas[0].identity().id());
    assert!(view.aliases(&dynamic[3]) && !dynamic[0].buffer().is_placed());
    replay(&schedule, &dynamic).unwrap();
    // By reference, and with a type.
    let typed: Vec<Tensor<u8>> = tensors(&schedule).iter().map(|t| t.typed().unwrap()).collect();
    let references: Vec<&Tensor<u8>> = typed.iter().collect();
    realize(&schedule, &plan, &references).unwrap();
    assert!(typed[1].aliases(&typed[3]));
}

#[test]
fn a_disabled_plan_touches_nothing() {
    let schedule = chain();
    let off = plan(&schedule, PlannerMode::Disabled, Packer::Best, &Options::default()).unwrap();
    let tensors = tensors(&schedule);
    let arenas = realize_in(&schedule, &off, &tensors, |_| panic!("nothing is allocated"));
    assert!(arenas.unwrap().is_empty());
    assert!(tensors.iter().all(|tensor| !tensor.buffer().is_placed()));
    replay(&schedule, &tensors).unwrap();
    // Each has memory of its own, for as long as it lives.
    let ids = tensors.iter().map(|tensor| tensor.buffer().place().unwrap().allocation);
    assert_eq!(ids.collect::<std::collections::HashSet<_>>().len(), 5);
    let weak = tensors[2].buffer_identity().weak();
    let mut tensors = tensors;
    drop(tensors.remove(2));
    assert!(weak.upgrade().is_none());
}

#[test]
fn errors_name_the_tensor_and_the_buffer() {
    let schedule = chain();
    let plan = arena(&schedule);
    let with = |change: &dyn Fn(&mut Vec<TensorDyn>)| {
        let mut all = tensors(&schedule);
        change(&mut all);
        realize(&schedule, &plan, &all).unwrap_err().to_string()
    };
    let other = |bytes, name| lazy_in(Heap, bytes, name);
    assert_eq!(
        with(&|all| all[3] = other(7, Some("mine"))),
        "tensor \"mine\" for buffer \"c\" has 7 bytes, the schedule says 4096"
    );
    let words = with(&|all| drop(all[2].map().unwrap()));
    assert!(
        words.starts_with("tensor \"tensor b\" for buffer \"b\" has its bytes already"),
        "{words}"
    );
    let words = with(&|all| {
        struct Other;
        impl Allocator for Other {
            fn memory(&self) -> TensorMemory {
                TensorMemory::Shm
            }
            fn allocate(&self, _: &Request<'_>) -> tenure_memory::Result<tenure_memory::RawBuffer> {
                unreachable!()
            }
        }
        all[3] = lazy_in(Other, 4096, Some("shared"));
    });
    assert_eq!(
        words,
        "arena 0 is for tensor \"tensor a\" for buffer \"a\" in mem and tensor \"shared\" for buffer \
         \"c\" in shm: say which memory it is to be in"
    );
}
