//! Camera frames to model inputs, beside the best crates for each part of it.

use std::process::ExitCode;

use tenure_benches::{Bench, Error, Unit, per_call, touched};

mod frames;
mod ours;
mod separate;

use frames::{Task, tasks};

fn main() -> ExitCode {
    tenure_benches::run(rows)
}

fn rows(bench: &mut Bench) -> Result<(), Error> {
    for task in tasks() {
        let Some(row) = bench.row(task.name, Unit::Nanoseconds) else { continue };
        let frame = task.frame();
        let mut ours = ours::Ours::new(&task, &frame)?;
        let mut separate = separate::Separate::new(&task, &frame);
        let (from, mut to) = (touched(task.bytes_moved() / 2), touched(task.bytes_moved() / 2));
        row.target(task.target_ratio)
            .ours(per_call(|| ours.run()))
            .rival("yuv + fast_image_resize", per_call(|| separate.run()))
            .limit(per_call(|| to.copy_from_slice(&from)))
            .measure();
    }
    Ok(())
}
