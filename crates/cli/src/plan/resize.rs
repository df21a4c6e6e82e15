//! A schedule that has changed, and the plan that was made before.

use std::path::Path;
use std::str::FromStr;

use tenure::plan::{Packer, Plan, PlannerMode, Replanned, Schedule, plan, replan};

use super::Problem;
use super::progress::Search;
use super::size::Size;

/// A plan that takes no more than this much above the smallest is kept.
const TOLERANCE: f64 = 0.1;
/// How many names of buffers a refusal gives.
const NAMED: usize = 8;

/// Another size for a buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resize {
    name: String,
    bytes: u64,
}

impl FromStr for Resize {
    type Err = String;

    fn from_str(word: &str) -> Result<Resize, String> {
        // Names may have an equals sign, sizes not.
        match word.rsplit_once('=') {
            Some((name, bytes)) if !name.is_empty() => {
                let Size(bytes) = bytes.parse()?;
                Ok(Resize { name: name.to_owned(), bytes })
            }
            _ => Err("another size is NAME=BYTES, like hidden=2M".to_owned()),
        }
    }
}

/// The schedule with other sizes.
pub(super) fn resized(schedule: &Schedule, changes: &[Resize]) -> Result<Schedule, Problem> {
    let mut schedule = schedule.clone();
    for Resize { name, bytes } in changes {
        let Some(spec) = schedule.buffers.iter_mut().find(|spec| spec.name == *name) else {
            let names = schedule.buffers.iter().take(NAMED).map(|spec| spec.name.clone());
            let more = schedule.buffers.len().saturating_sub(NAMED);
            return Err(Problem::NoBuffer { name: name.clone(), has: names.collect(), more });
        };
        spec.bytes = *bytes;
    }
    schedule.validate().map_err(tenure::plan::PlanError::from)?;
    Ok(schedule)
}

/// A plan for `changed` that keeps to the saved one, or to one for the schedule before the change.
pub(super) fn kept(
    before: &Schedule,
    changed: &Schedule,
    saved: Option<(&Path, Plan)>,
    search: &Search,
) -> Result<Replanned, Problem> {
    let old = match saved {
        Some((path, plan)) => fitting(path, plan, before)?,
        None => search.run(|options| plan(before, PlannerMode::Arena, Packer::Best, options))?,
    };
    Ok(search.run(|options| replan(changed, &old, TOLERANCE, options))?)
}

/// A plan that was saved.
pub(super) fn load(path: &Path) -> Result<Plan, Problem> {
    let wrong = |cause| Problem::Schedule { path: path.to_owned(), cause };
    Plan::from_json(&super::input::text(path)?).map_err(wrong)
}

fn fitting(path: &Path, plan: Plan, schedule: &Schedule) -> Result<Plan, Problem> {
    let (has, wants) = (plan.placements.len(), schedule.buffers.len());
    if has != wants {
        return Err(Problem::OtherPlan { path: path.to_owned(), has, wants });
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_the_last_equals_sign() {
        let resize = Resize { name: "a=b".into(), bytes: 2 << 20 };
        assert_eq!("a=b=2M".parse(), Ok(resize));
        assert!("hidden".parse::<Resize>().unwrap_err().contains("NAME=BYTES"));
        assert!("=1".parse::<Resize>().unwrap_err().contains("NAME=BYTES"));
        assert!("a=much".parse::<Resize>().unwrap_err().contains("\"much\""));
    }
}
