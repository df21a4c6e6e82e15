//! Every plan of every mode, run: each read finds what was written, in every order that lanes,
//! levels and data allow.

mod common;

use common::random::{Wish, root, schedule};
use common::replay::{before, run};
use proptest::prelude::*;
use tenure_plan::{Options, Packer, PlannerMode, Schedule, plan, verify};

fn options() -> Options<'static> {
    Options { work: 2000, ..Options::default() }
}

fn check(schedule: &Schedule, seed: u64) -> Result<(), TestCaseError> {
    prop_assert_eq!(schedule.validate(), Ok(()));
    let mut sizes = Vec::new();
    for mode in PlannerMode::ALL {
        for packer in Packer::ALL {
            if mode != PlannerMode::Arena && packer != Packer::Best {
                continue;
            }
            let plan = plan(schedule, mode, packer, &options()).unwrap();
            prop_assert_eq!(verify(schedule, &plan), Ok(()), "{} {}", mode, packer);
            for turn in 0..3 {
                prop_assert_eq!(run(schedule, &plan, seed ^ turn), Ok(()), "{} {}", mode, packer);
            }
            prop_assert_eq!(plan.packer.is_some(), mode == PlannerMode::Arena);
            sizes.push((plan.bytes, plan.lower_bound));
            nothing_waits_for_memory(schedule, &plan)?;
        }
    }
    let (disabled, remap) = (sizes[0].0, sizes[1].0);
    let best = sizes.last().unwrap().0;
    prop_assert!(remap <= disabled && best <= disabled);
    let bound = sizes[0].1;
    for (bytes, lower_bound) in sizes {
        prop_assert!(bound <= bytes && bound <= lower_bound);
    }
    Ok(())
}

/// Buffers that share bytes are ordered by what was there before the plan.
fn nothing_waits_for_memory(
    schedule: &Schedule,
    plan: &tenure_plan::Plan,
) -> Result<(), TestCaseError> {
    let order = before(schedule);
    let steps = |buffer: usize| -> Vec<usize> {
        let touches = |step: &tenure_plan::Step| {
            step.reads.iter().chain(&step.writes).any(|&other| root(schedule, other).0 == buffer)
        };
        (0..schedule.steps.len()).filter(|&step| touches(&schedule.steps[step])).collect()
    };
    let roots = (0..schedule.buffers.len()).filter(|&b| schedule.buffers[b].view_of.is_none());
    let placed: Vec<_> = roots.filter_map(|b| Some((b, plan.place(b)?))).collect();
    for &(a, (arena, start)) in &placed {
        for &(b, (other, from)) in &placed {
            let (length, size) = (schedule.buffers[a].bytes, schedule.buffers[b].bytes);
            if a >= b || arena != other || start >= from + size || from >= start + length {
                continue;
            }
            let (a, b) = (steps(a), steps(b));
            let follows = |x: &[usize], y: &[usize]| {
                x.iter().all(|&x| y.iter().all(|&y| x == y || order[x][y]))
            };
            prop_assert!(follows(&a, &b) || follows(&b, &a));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1500) })]

    #[test]
    fn one_lane(seed: u64, buffers in 1usize..14, steps in 0usize..16) {
        let wish = Wish { seed, buffers, steps, views: true, flags: true, in_place: true, ..Wish::default() };
        check(&schedule(wish), seed)?;
    }

    #[test]
    fn levels(seed: u64, buffers in 1usize..14, steps in 0usize..16) {
        let wish = Wish { seed, buffers, steps, levels: true, views: true, in_place: true, ..Wish::default() };
        check(&schedule(wish), seed)?;
    }

    #[test]
    fn lanes(seed: u64, buffers in 1usize..14, steps in 0usize..16) {
        let wish = Wish { seed, buffers, steps, lanes: true, in_place: true, flags: true, ..Wish::default() };
        check(&schedule(wish), seed)?;
    }

    #[test]
    fn everything(seed: u64, buffers in 1usize..14, steps in 0usize..18) {
        let wish = Wish { seed, buffers, steps, levels: true, lanes: true, views: true, flags: true, in_place: true };
        check(&schedule(wish), seed)?;
    }
}
