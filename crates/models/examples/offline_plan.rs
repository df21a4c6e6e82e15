//! Plans a TFLite model and writes the plan into a copy: `offline_plan IN.tflite OUT.tflite`.

use std::error::Error;

use tenure_models::tflite::{offline_offsets, read, write_offline_plan};
use tenure_plan::{Options, Packer, PlannerMode, plan, verify};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(from), Some(to)) = (arguments.next(), arguments.next()) else {
        return Err("offline_plan IN.tflite OUT.tflite".into());
    };
    let bytes = std::fs::read(from)?;
    let graph = read(&bytes)?;
    let schedule = graph.arena_schedule();
    let plan = plan(&schedule, PlannerMode::Arena, Packer::Best, &Options::default())?;
    verify(&schedule, &plan)?;
    let file = write_offline_plan(&bytes, &offline_offsets(&graph, &plan))?;
    std::fs::write(to, file)?;
    println!("{} bytes, bound {}, minimal: {}", plan.bytes, plan.lower_bound, plan.optimal);
    Ok(())
}
