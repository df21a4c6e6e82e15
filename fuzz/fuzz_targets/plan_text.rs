//! Lifetimes as CSV, schedules and plans as JSON: whatever the text, reading it is an answer, and
//! what was read survives being written. Small ones are planned in every mode.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure_plan::{Options, Packer, Plan, PlannerMode, Schedule, Table, plan, verify};

/// Larger ones would spend the time in the planner, not in the readers.
const SMALL: usize = 24;

fuzz_target!(|text: &str| {
    if let Ok(table) = Table::from_csv(text) {
        let again = Table::from_csv(&table.to_csv());
        // Names with odd spaces may become equal, which is an error, not another table.
        if let Ok(again) = again {
            assert_eq!(again.problem, table.problem);
            assert_eq!(again.offsets, table.offsets);
        }
        if table.names.len() <= SMALL {
            planned(&table.to_schedule());
        }
    }
    if let Ok(schedule) = Schedule::from_json(text) {
        let again = Schedule::from_json(&schedule.to_json().unwrap()).unwrap();
        assert_eq!(again, schedule);
        if schedule.buffers.len() <= SMALL && schedule.steps.len() <= 4 * SMALL {
            planned(&schedule);
        }
        if let Ok(plan) = Plan::from_json(text) {
            let _ = verify(&schedule, &plan);
        }
    }
});

fn planned(schedule: &Schedule) {
    let options = Options { work: 200, ..Options::default() };
    for mode in PlannerMode::ALL {
        for packer in Packer::ALL {
            if let Ok(plan) = plan(schedule, mode, packer, &options) {
                verify(schedule, &plan).unwrap();
                let text = plan.to_json().unwrap();
                assert_eq!(Plan::from_json(&text).unwrap(), plan);
            }
        }
    }
}
