//! Schedules at the edges of numbers: what is refused by name, and what is planned all the same.

use std::sync::atomic::AtomicBool;

use tenure_plan::{
    BufferSpec, Bytes, Capacity, Dynamic, Fit, Item, MAX_TOTAL, MemoryPool, Options, Packer, Plan,
    PlannerMode, Problem, Reorder, Schedule, Step, capacity, fit, plan, pools, reorder, replan,
    verify,
};

fn options() -> Options<'static> {
    Options { work: 2000, ..Options::default() }
}

fn chain(sizes: &[u64]) -> Schedule {
    let mut schedule = Schedule::default();
    for (index, &bytes) in sizes.iter().enumerate() {
        schedule
            .buffers
            .push(BufferSpec { align: 1, ..BufferSpec::new(format!("b{index}"), bytes) });
        let reads: Vec<usize> = index.checked_sub(1).into_iter().collect();
        schedule.steps.push(Step::new(format!("s{index}"), reads, [index]));
    }
    schedule
}

/// Everything that can be asked about a schedule; the plan of the best packer.
fn ask(schedule: &Schedule) -> Plan {
    let memory = [
        MemoryPool { name: "fast".into(), device: 0, bytes: Some(1 << 20) },
        MemoryPool { name: "slow".into(), device: 0, bytes: None },
    ];
    for mode in PlannerMode::ALL {
        for packer in Packer::ALL {
            let made = plan(schedule, mode, packer, &options()).unwrap();
            assert_eq!(verify(schedule, &made), Ok(()), "{mode} {packer}");
        }
    }
    let made = plan(schedule, PlannerMode::Arena, Packer::Best, &options()).unwrap();
    for room in [0, 1, made.bytes.saturating_sub(1), made.bytes, u64::MAX] {
        match capacity(schedule, room, &options()).unwrap() {
            Capacity::Fits(fits) => assert!(fits.bytes <= room),
            Capacity::Impossible(why) => assert!(why.bytes > room && !why.too_many.is_empty()),
            Capacity::Unknown { best, .. } => assert!(best.bytes > room),
        }
    }
    assert_eq!(verify(schedule, &pools(schedule, &memory, &options()).unwrap().plan), Ok(()));
    let again = replan(schedule, &made, 0.0, &options()).unwrap();
    assert_eq!((again.moved, again.plan.bytes), (0, made.bytes));
    let order = reorder(schedule, Reorder::default(), &options()).unwrap();
    assert!(order.peak <= order.peak_before);
    made
}

#[test]
fn nothing_at_all() {
    assert_eq!(ask(&Schedule::default()).bytes, 0);
    assert_eq!(ask(&chain(&[0, 0, 0])).bytes, 0);
}

#[test]
fn as_large_as_can_be_counted() {
    let third = MAX_TOTAL / 4;
    assert_eq!(ask(&chain(&[third, third - 1, third])).bytes, 2 * third - 1);
    // Two bytes of each are for its alignment.
    assert_eq!(ask(&chain(&[1, MAX_TOTAL - 8, 1])).bytes, MAX_TOTAL - 7);
    for sizes in [[u64::MAX, 1], [MAX_TOTAL, 1], [1 << 63, 1 << 63]] {
        let error = plan(&chain(&sizes), PlannerMode::Arena, Packer::Best, &options()).unwrap_err();
        assert!(error.to_string().contains("\"b"), "{error}");
    }
}

#[test]
fn an_old_plan_that_is_absurd_does_no_harm() {
    let schedule = chain(&[64, 32, 64]);
    let good = plan(&schedule, PlannerMode::Arena, Packer::Best, &options()).unwrap();
    for offset in [u64::MAX, u64::MAX - 63, MAX_TOTAL, 1 << 62] {
        let mut old = good.clone();
        for placement in &mut old.placements {
            *placement = tenure_plan::Placement::At { arena: 7, offset };
        }
        old.placements[1] = tenure_plan::Placement::At { arena: 0, offset };
        let new = replan(&schedule, &old, 0.0, &options()).unwrap();
        assert_eq!(verify(&schedule, &new.plan), Ok(()));
        assert_eq!(new.plan.bytes, good.bytes);
        old.placements.clear();
        assert_eq!(
            verify(&schedule, &replan(&schedule, &old, 0.0, &options()).unwrap().plan),
            Ok(())
        );
    }
}

#[test]
fn sizes_that_grow_out_of_numbers_are_errors() {
    let schedule = chain(&[8, 8, 8]);
    for (base, per, max) in [(u64::MAX, 1, 1), (0, u64::MAX, 2), (1, 1 << 60, 1 << 10)] {
        let dynamic = Dynamic {
            schedule: schedule.clone(),
            variable: "n".into(),
            min: 0,
            max,
            bytes: vec![(1, Bytes::Affine { base, per })],
            offsets: vec![],
        };
        let error = dynamic.at(max).map(|at| at.validate());
        assert!(matches!(error, Err(_) | Ok(Err(_))), "{base} {per} {max}");
    }
}

#[test]
fn capacities_and_obstacles_of_many() {
    // All at once, each a little larger: as few of the largest as are too many.
    let items = (0..100_000u64).map(|index| Item { lower: 0, upper: 1, size: 1 + index, align: 1 });
    let problem = Problem::new(items.collect()).unwrap();
    let Fit::Impossible(why) = fit(&problem, 1_000_000, &options()) else { panic!("too small") };
    assert_eq!(why.items.len(), 11);
    assert!(why.at_once && why.bytes > 1_000_000 && why.least == 100_000 * 100_001 / 2);
}

#[test]
fn a_packer_that_takes_long_hears_the_stop() {
    // Sizes and lifetimes so mixed that every item has gaps to look at.
    let item = |n: u64| Item {
        lower: n * 7919 % 900,
        upper: n * 7919 % 900 + 1 + n % 97,
        size: 64 + n * 31 % 4096,
        align: 1,
    };
    let problem = Problem::new((0..20_000).map(item).collect()).unwrap();
    let stop = AtomicBool::new(true);
    let stopped = Options { stop: Some(&stop), ..Options::default() };
    let packed = Packer::GreedySize.pack(&problem, &stopped);
    let (replayed, whole) = (
        Packer::Tlsf.pack(&problem, &Options::default()),
        Packer::GreedySize.pack(&problem, &Options::default()),
    );
    assert_eq!(packed.bytes, replayed.bytes);
    assert_ne!(whole.bytes, replayed.bytes);
}
