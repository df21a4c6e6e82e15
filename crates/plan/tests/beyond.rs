//! Capacities, pools, other orders, plans that stay, sizes that depend on a number.

mod common;

use common::random::{Dice, Wish, conflict, root, schedule};
use common::replay::run;
use proptest::prelude::*;
use tenure_plan::{
    BufferSpec, Bytes, Capacity, Dynamic, Item, MemoryPool, Options, Packer, Placement, Plan,
    PlannerMode, PoolsError, Problem, Reorder, Schedule, SizeError, Step, View, capacity, minimise,
    plan, pools, reorder, replan, verify,
};

fn options() -> Options<'static> {
    Options { work: 5000, ..Options::default() }
}

fn best(schedule: &Schedule) -> Plan {
    plan(schedule, PlannerMode::Arena, Packer::Best, &options()).unwrap()
}

fn pool(name: &str, device: u32, bytes: Option<u64>) -> MemoryPool {
    MemoryPool { name: name.to_owned(), device, bytes }
}

/// The steps that touch each root; `None` for what is not placed.
fn uses(schedule: &Schedule, plan: &Plan) -> Vec<Option<Vec<usize>>> {
    let touches = |buffer: usize| {
        plan.place(buffer).filter(|_| schedule.buffers[buffer].view_of.is_none())?;
        let meets = |step: &Step| {
            step.reads.iter().chain(&step.writes).any(|&other| root(schedule, other).0 == buffer)
        };
        Some((0..schedule.steps.len()).filter(|&s| meets(&schedule.steps[s])).collect())
    };
    (0..schedule.buffers.len()).map(touches).collect()
}

/// What is in use at once at most if steps run in `order`, counted step by step.
fn peak(schedule: &Schedule, uses: &[Option<Vec<usize>>], order: &[usize]) -> u64 {
    let at = |step: usize| order.iter().position(|&other| other == step).unwrap();
    let lives: Vec<(usize, usize, u64)> = (0..uses.len())
        .filter_map(|buffer| {
            let steps = uses[buffer].as_ref()?;
            let spec = &schedule.buffers[buffer];
            let first = steps.iter().map(|&step| at(step)).min()?;
            let last = steps.iter().map(|&step| at(step)).max()?;
            Some((first, last, spec.bytes.next_multiple_of(spec.align)))
        })
        .collect();
    let live = |time| lives.iter().filter(|l| l.0 <= time && time <= l.1).map(|l| l.2).sum();
    (0..order.len()).map(live).max().unwrap_or(0)
}

/// All orders that data allows, with their peak; the lowest.
fn lowest(schedule: &Schedule, uses: &[Option<Vec<usize>>], order: &mut Vec<usize>) -> u64 {
    let steps = &schedule.steps;
    if order.len() == steps.len() {
        return peak(schedule, uses, order);
    }
    let mut least = u64::MAX;
    for next in 0..steps.len() {
        let waits = |&before: &usize| {
            !order.contains(&before) && conflict(schedule, &steps[before], &steps[next])
        };
        if !order.contains(&next) && !(0..next).any(|before| waits(&before)) {
            order.push(next);
            least = least.min(lowest(schedule, uses, order));
            order.pop();
        }
    }
    least
}

#[test]
fn a_shortage_names_the_step() {
    let buffers = (0..4).map(|i| BufferSpec::new(format!("b{i}"), 256 << i)).collect();
    let steps = vec![
        Step::new("small", [], [0, 1]),
        Step::new("large", [0], [2, 3]),
        Step::new("end", [2], []),
    ];
    let schedule = Schedule { buffers, steps };
    let Capacity::Impossible(why) = capacity(&schedule, 1000, &options()).unwrap() else {
        panic!("does not fit")
    };
    assert_eq!((why.bytes, why.step, why.buffers), (256 + 1024 + 2048, Some(1), vec![3, 2, 0]));
    // The largest alone is too much; with more room, it takes two.
    assert_eq!(why.too_many, [3]);
    let Capacity::Impossible(why) = capacity(&schedule, 2500, &options()).unwrap() else {
        panic!("does not fit")
    };
    assert_eq!(why.too_many, [3, 2]);
}

#[test]
fn a_shortage_of_several_arenas_counts_all() {
    // A large buffer on another device leaves too little for the two of this one.
    let mut buffers: Vec<_> = (0..4).map(|i| BufferSpec::new(format!("b{i}"), 1024)).collect();
    (buffers[0].device, buffers[0].bytes) = (1, 4096);
    buffers[3].bytes = 256;
    let steps = vec![
        Step { device: 1, ..Step::new("far", [], [0]) },
        Step::new("near", [], [1, 2, 3]),
        Step::new("end", [1, 2, 3], []),
    ];
    let schedule = Schedule { buffers, steps };
    let all = 4096 + 2 * 1024 + 256;
    assert!(matches!(capacity(&schedule, all, &options()).unwrap(), Capacity::Fits(_)));
    let Capacity::Impossible(why) = capacity(&schedule, all - 1, &options()).unwrap() else {
        panic!("does not fit")
    };
    assert_eq!((why.bytes, why.step, why.buffers, why.too_many), (all, Some(0), vec![0], vec![0]));
}

#[test]
fn pools_that_are_full_say_so() {
    let schedule = Schedule {
        buffers: vec![BufferSpec::new("a", 1024), BufferSpec::new("b", 1024)],
        steps: vec![Step::new("s", [], [0, 1])],
    };
    let fast = pool("fast", 0, Some(1024));
    let error = pools(&schedule, std::slice::from_ref(&fast), &options()).unwrap_err();
    assert!(matches!(error, PoolsError::Full { ref pool, .. } if pool == "fast"));
    assert!(matches!(
        pools(&schedule, &[pool("far", 1, None)], &options()),
        Err(PoolsError::NoPool { device: 0, .. })
    ));
    let two = [fast, pool("slow", 0, Some(1024))];
    assert_eq!(pools(&schedule, &two, &options()).unwrap().traffic, [1024, 1024]);
}

#[test]
fn one_size_that_grows_moves_little() {
    let mut schedule = Schedule::default();
    for index in 0..40usize {
        schedule.buffers.push(BufferSpec::new(format!("b{index}"), 256 * (1 + index as u64 % 7)));
        let reads = index.checked_sub(1).into_iter().chain(index.checked_sub(3));
        schedule.steps.push(Step::new("s", reads.collect::<Vec<_>>(), [index]));
    }
    let old = best(&schedule);
    let same = replan(&schedule, &old, 0.0, &options()).unwrap();
    assert_eq!((same.moved, same.anew), (0, false));
    schedule.buffers[20].bytes += 512;
    let new = replan(&schedule, &old, 0.5, &options()).unwrap();
    assert_eq!(verify(&schedule, &new.plan), Ok(()));
    assert!(!new.anew && new.moved <= 4, "{}", new.moved);
}

#[test]
fn sizes_are_refused_by_name() {
    let schedule =
        Schedule { buffers: vec![BufferSpec::new("a", 8)], steps: vec![Step::new("s", [], [0])] };
    let bytes = vec![(0, Bytes::Affine { base: 1, per: u64::MAX })];
    let variable = "batch".to_owned();
    let mut dynamic = Dynamic { schedule, variable, min: 0, max: 2, bytes, offsets: vec![] };
    assert!(matches!(dynamic.at(2), Err(SizeError::Overflow { n: 2, .. })));
    assert!(matches!(dynamic.at(3), Err(SizeError::OutOfRange { max: 2, .. })));
    dynamic.bytes = vec![(1, Bytes::Fixed(1))];
    assert!(matches!(dynamic.at(0), Err(SizeError::NoSuchBuffer { buffer: 1 })));
    dynamic.bytes.clear();
    dynamic.offsets = vec![(0, Bytes::Fixed(1))];
    assert!(matches!(dynamic.at(0), Err(SizeError::NoSuchBuffer { buffer: 0 })));
}

#[test]
fn a_beam_untangles_what_is_too_large_to_solve() {
    // Branches that are made all at once and reduced later: one at a time needs far less.
    let mut schedule = Schedule::default();
    let branches = 100;
    for index in 0..branches {
        schedule.buffers.push(BufferSpec::new(format!("wide{index}"), 4096));
        schedule.steps.push(Step::new("make", [], [index]));
    }
    for index in 0..branches {
        schedule.buffers.push(BufferSpec::new(format!("thin{index}"), 256));
        schedule.steps.push(Step::new("reduce", [index], [branches + index]));
    }
    let sums: Vec<usize> = (branches..2 * branches).collect();
    schedule.buffers.push(BufferSpec::new("sum", 256));
    schedule.steps.push(Step::new("add", sums, [2 * branches]));
    let better = reorder(&schedule, Reorder::default(), &options()).unwrap();
    assert_eq!(better.peak_before, 100 * 4096 + 256);
    assert!(better.peak <= 4096 + 100 * 256, "{}", better.peak);
    assert_eq!(better.schedule.validate(), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn capacities_agree_with_plans(seed: u64, steps in 0usize..12, less in 0u64..40) {
        let wish = Wish { seed, buffers: 10, steps, lanes: seed % 3 == 0, in_place: seed % 2 == 0, ..Wish::default() };
        let schedule = schedule(wish);
        let made = best(&schedule);
        match capacity(&schedule, made.bytes, &options()).unwrap() {
            Capacity::Fits(fits) => {
                prop_assert!(fits.bytes <= made.bytes);
                prop_assert_eq!(verify(&schedule, &fits), Ok(()));
            }
            Capacity::Unknown { best, .. } => prop_assert!(!made.optimal || best.bytes > made.bytes),
            Capacity::Impossible(_) => prop_assert!(false, "there is a plan"),
        }
        let room = made.bytes.saturating_sub(less + 1);
        match capacity(&schedule, room, &options()).unwrap() {
            Capacity::Fits(fits) => prop_assert!(!made.optimal || made.bytes == 0, "{}", fits.bytes),
            Capacity::Unknown { .. } => prop_assert!(!made.optimal),
            Capacity::Impossible(why) => prop_assert!(why.bytes > room && why.bytes <= made.bytes),
        }
    }

    #[test]
    fn pools_hold_what_they_can(seed: u64, steps in 1usize..30, room in 0u64..120, levels: bool) {
        let wish = Wish { seed, buffers: 24, steps, levels, lanes: seed % 2 == 0, views: true, flags: true, in_place: true };
        let schedule = schedule(wish);
        let memory = [pool("fast0", 0, Some(room)), pool("fast1", 1, Some(room)), pool("slow0", 0, None), pool("slow1", 1, None)];
        let placed = pools(&schedule, &memory, &options()).unwrap();
        prop_assert_eq!(verify(&schedule, &placed.plan), Ok(()));
        prop_assert_eq!(run(&schedule, &placed.plan, seed), Ok(()));
        for (arena, pool) in placed.plan.arenas.iter().zip(&memory) {
            prop_assert!(arena.bytes <= pool.bytes.unwrap_or(u64::MAX));
        }
        let again = pools(&schedule, &memory, &options()).unwrap();
        prop_assert_eq!(&again, &placed);
        // With room for everything nothing is slow.
        let wide = memory.clone().map(|pool| MemoryPool { bytes: pool.bytes.map(|_| 1 << 20), ..pool });
        let fast = pools(&schedule, &wide, &options()).unwrap();
        prop_assert_eq!(&fast.traffic[2..], &[0, 0]);
        prop_assert_eq!(fast.traffic.iter().sum::<u64>(), placed.traffic.iter().sum::<u64>());
        // With some room, the busiest buffer that fits alone is not left out for nothing.
        prop_assert!(placed.traffic[0] <= fast.traffic[0] && placed.traffic[1] <= fast.traffic[1]);
    }

    /// Against all choices of who is fast.
    #[test]
    fn pools_choose_well(lives in proptest::collection::vec((0usize..6, 1usize..5, 1u64..9, 0usize..4), 1..8), room in 1u64..20) {
        let steps = (0..12).map(|index| Step::new(format!("s{index}"), [], [])).collect();
        let mut schedule = Schedule { buffers: Vec::new(), steps };
        for (index, &(lower, life, bytes, more)) in lives.iter().enumerate() {
            schedule.buffers.push(BufferSpec { align: 1, ..BufferSpec::new(format!("b{index}"), bytes) });
            schedule.steps[lower].writes.push(index);
            schedule.steps[lower + life].reads.extend(vec![index; more + 1]);
        }
        let traffic = |index: usize| lives[index].2 * (lives[index].3 as u64 + 2);
        let mut most = 0;
        for set in 0u32..1 << lives.len() {
            let chosen: Vec<usize> = (0..lives.len()).filter(|&index| set >> index & 1 == 1).collect();
            let items = chosen.iter().map(|&index| {
                let (lower, life, size, _) = lives[index];
                Item { lower: lower as u64, upper: (lower + life) as u64 + 1, size, align: 1 }
            });
            let packing = minimise(&Problem::new(items.collect()).unwrap(), &Options::default());
            if packing.bytes <= room {
                most = most.max(chosen.into_iter().map(traffic).sum::<u64>());
            }
        }
        let memory = [pool("fast", 0, Some(room)), pool("slow", 0, None)];
        let placed = pools(&schedule, &memory, &options()).unwrap();
        prop_assert_eq!(verify(&schedule, &placed.plan), Ok(()));
        prop_assert_eq!(placed.traffic[0], most);
    }

    #[test]
    fn orders_are_the_lowest(seed: u64, steps in 1usize..8, views: bool) {
        let wish = Wish { seed, buffers: 9, steps, views, flags: true, ..Wish::default() };
        let schedule = schedule(wish);
        let uses = uses(&schedule, &best(&schedule));
        let least = lowest(&schedule, &uses, &mut Vec::new());
        let better = reorder(&schedule, Reorder::default(), &options()).unwrap();
        prop_assert_eq!(better.schedule.validate(), Ok(()));
        prop_assert_eq!(better.peak, peak(&schedule, &uses, &better.order));
        prop_assert!(better.peak <= better.peak_before && better.peak >= least);
        if better.optimal {
            prop_assert_eq!(better.peak, least);
        }
        prop_assert!(best(&better.schedule).bytes <= best(&schedule).bytes);
        let by_beam = reorder(&schedule, Reorder { states: 0, ..Reorder::default() }, &options()).unwrap();
        prop_assert!(by_beam.peak >= least && by_beam.peak <= by_beam.peak_before);
        prop_assert!(!by_beam.optimal || by_beam.peak == least);
        // What each step reads is still what it was: every conflict keeps its order.
        for (later, &b) in better.order.iter().enumerate() {
            for &a in &better.order[later..] {
                prop_assert!(a >= b || !conflict(&schedule, &schedule.steps[a], &schedule.steps[b]));
            }
        }
    }

    #[test]
    fn replanning_is_right(seed: u64, steps in 0usize..14, tolerance in 0.0f64..0.5) {
        let wish = Wish { seed, buffers: 12, steps, levels: seed % 3 == 0, lanes: seed % 2 == 0, views: true, flags: true, in_place: true };
        let mut schedule = schedule(wish);
        let mut old = best(&schedule);
        let dice = &mut Dice(seed);
        let victim = dice.below(schedule.buffers.len());
        let more = dice.next() % 40;
        schedule.buffers[victim].bytes += more;
        if schedule.validate().is_err() {
            schedule.buffers[victim].bytes -= more;
        }
        if dice.chance(20) && old.place(victim).is_some() {
            // Old plans may be anything.
            let offset = u64::MAX - dice.next() % 64;
            old.placements[victim] = Placement::At { arena: dice.below(4), offset };
        }
        let new = replan(&schedule, &old, tolerance, &options()).unwrap();
        prop_assert_eq!(verify(&schedule, &new.plan), Ok(()));
        prop_assert_eq!(run(&schedule, &new.plan, seed), Ok(()));
        let full = best(&schedule);
        prop_assert!(new.plan.bytes as f64 <= full.bytes as f64 * (1.0 + tolerance) + 0.5);
    }

    #[test]
    fn a_plan_for_the_most_holds_for_less(seed: u64, steps in 0usize..14, max in 0u64..9) {
        let wish = Wish { seed, buffers: 10, steps, lanes: seed % 2 == 0, in_place: true, flags: true, ..Wish::default() };
        let mut schedule = schedule(wish);
        let dice = &mut Dice(seed);
        let mut bytes = Vec::new();
        for index in 0..schedule.buffers.len() {
            if schedule.buffers[index].bytes > 0 && dice.chance(70) {
                bytes.push((index, Bytes::Affine { base: dice.next() % 20, per: dice.next() % 20 }));
            }
        }
        // A view of the second half of what grows, read in the end.
        schedule.buffers.push(BufferSpec { align: 1, ..BufferSpec::new("grows", 0) });
        let base = schedule.buffers.len() - 1;
        schedule.buffers.push(BufferSpec { view_of: Some(View { buffer: base, offset: 0 }), ..BufferSpec::new("half", 0) });
        schedule.steps.insert(0, Step::new("grow", [], [base]));
        schedule.steps.push(Step::new("look", [base + 1], []));
        bytes.push((base, Bytes::Affine { base: 0, per: 8 }));
        bytes.push((base + 1, Bytes::Affine { base: 0, per: 4 }));
        let offsets = vec![(base + 1, Bytes::Affine { base: 0, per: 4 })];
        let dynamic = Dynamic { schedule, variable: "n".to_owned(), min: seed % 2 * max.min(1), max, bytes, offsets };
        for mode in PlannerMode::ALL {
            let largest = dynamic.plan(mode, Packer::Best, &options()).unwrap();
            for n in dynamic.min..=max {
                let schedule = dynamic.at(n).unwrap();
                let made = dynamic.plan_at(n, &largest).unwrap();
                prop_assert_eq!(verify(&schedule, &made), Ok(()));
                prop_assert_eq!(run(&schedule, &made, seed), Ok(()));
            }
        }
    }
}
