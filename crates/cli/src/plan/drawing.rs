//! The plans as something to look at.

use std::path::Path;

use tenure::plan::draw::{Drawing, DrawnPlan, Tenant};
use tenure::plan::{Lifetimes, PlanError, PlannerMode, Schedule};

use super::Problem;
use super::compare::{How, Made, Results};

/// Plans with more pieces of memory than this show them without names.
const NAMED: usize = 16;

/// All plans side by side.
pub(super) fn drawing(
    file: &Path,
    schedule: &Schedule,
    results: &Results,
) -> Result<Drawing, Problem> {
    let lifetimes = Lifetimes::new(schedule).map_err(PlanError::from)?;
    let plans = results.made.iter().enumerate().map(|(index, made)| DrawnPlan {
        winner: index == results.winner,
        ..drawn(made, &lifetimes)
    });
    Ok(Drawing {
        title: file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        names: schedule.buffers.iter().map(|spec| spec.name.clone()).collect(),
        // Steps of one level have one time, which then has no single name.
        steps: if schedule.steps.iter().any(|step| step.level.is_some()) {
            vec![]
        } else {
            schedule.steps.iter().map(|step| step.name.clone()).collect()
        },
        first: 0,
        last: lifetimes.times,
        plans: plans.collect(),
    })
}

/// Memory of its own for every buffer: what a plan that places nothing comes to.
fn each_alone(drawn: &mut DrawnPlan, lifetimes: &Lifetimes) {
    for (index, tenant) in lifetimes.tenants.iter().enumerate() {
        drawn.add_arena(String::new(), tenant.bytes.next_multiple_of(tenant.align));
        drawn.add_tenant(Tenant {
            buffer: tenant.buffer as u32,
            arena: index as u32,
            lower: tenant.lower,
            upper: tenant.upper,
            size: tenant.bytes,
            offset: 0,
        });
    }
}

fn drawn(made: &Made, lifetimes: &Lifetimes) -> DrawnPlan {
    let plan = &made.plan;
    let packer = plan.packer.map(|packer| format!(" {packer}")).unwrap_or_default();
    let mut drawn = DrawnPlan {
        label: format!("{}{packer}", made.mode()),
        bytes: plan.bytes,
        bound: plan.lower_bound,
        optimal: plan.optimal,
        ..DrawnPlan::default()
    };
    let named = plan.arenas.len() <= NAMED;
    for (index, arena) in plan.arenas.iter().enumerate() {
        let label = match &made.how {
            How::Pools(uses) => uses.get(index).map(|used| used.name.clone()).unwrap_or_default(),
            _ => format!("device {}, {}", arena.device, arena.lane),
        };
        drawn.add_arena(if named { label } else { String::new() }, arena.bytes);
    }
    if plan.mode == PlannerMode::Disabled {
        each_alone(&mut drawn, lifetimes);
    }
    for tenant in &lifetimes.tenants {
        if let Some((arena, offset)) = plan.place(tenant.buffer) {
            drawn.add_tenant(Tenant {
                buffer: tenant.buffer as u32,
                arena: arena as u32,
                lower: tenant.lower,
                upper: tenant.upper,
                size: tenant.bytes,
                offset,
            });
        }
    }
    drawn
}
