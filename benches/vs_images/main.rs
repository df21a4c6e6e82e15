//! Camera frames to model inputs, beside the best crates for each part of it and OpenCV.

use std::process::ExitCode;
use std::time::Instant;

use tenure_benches::{Bench, Error, Python, Unit, per_call, per_call_on_the_wall, touched};

mod frames;
mod ours;
mod separate;

use frames::{Task, tasks};

fn main() -> ExitCode {
    tenure_benches::run(rows)
}

/// How much faster two threads must be.
const TWO_THREADS: f64 = 1.8;

fn rows(bench: &mut Bench) -> Result<(), Error> {
    let opencv = Python::of_others("benches/vs_images/opencv.py");
    for task in tasks() {
        let Some(row) = bench.row(task.name, Unit::Nanoseconds) else { continue };
        let frame = task.frame();
        let mut ours = ours::Ours::new(&task, &frame, 1)?;
        let mut separate = separate::Separate::new(&task, &frame);
        let (from, mut to) = (touched(task.bytes_moved() / 2), touched(task.bytes_moved() / 2));
        let row = row
            .target(task.target_ratio)
            .ours(per_call(|| ours.run()))
            .rival("yuv + fast_image_resize", per_call(|| separate.run()));
        let row = match task.for_opencv() {
            Some(question) => row.rival("OpenCV", {
                let opencv = &opencv;
                move || opencv.ask(&question)
            }),
            None => row,
        };
        row.limit(per_call(|| to.copy_from_slice(&from))).measure();
    }
    if std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1) {
        for task in tasks().iter().filter(|task| task.for_threads()) {
            let name = format!("{}, two threads", task.name);
            let Some(row) = bench.row(&name, Unit::Nanoseconds) else { continue };
            let frame = task.frame();
            let mut two = ours::Ours::new(task, &frame, 2)?;
            let mut one = ours::Ours::new(task, &frame, 1)?;
            let mut apart = [ours::Ours::new(task, &frame, 1)?, ours::Ours::new(task, &frame, 1)?];
            row.target(1.0 / TWO_THREADS)
                .fastest()
                .ours(per_call_on_the_wall(|| two.run()))
                .rival("one thread", per_call_on_the_wall(|| one.run()))
                .limit(|| side_by_side(&mut apart))
                .measure();
        }
    }
    Ok(())
}

/// Pictures that each of two threads makes alone, without a word to the other.
const PICTURES: u32 = 16;

/// Nanoseconds for one picture of many if two threads make whole ones: what the second processor is
/// worth at the moment, which on a shared host is at times much less than the first.
fn side_by_side(apart: &mut [ours::Ours; 2]) -> f64 {
    let start = Instant::now();
    std::thread::scope(|scope| {
        for ours in &mut *apart {
            scope.spawn(|| {
                for _ in 0..PICTURES {
                    ours.run();
                }
            });
        }
    });
    start.elapsed().as_nanos() as f64 / f64::from(PICTURES * apart.len() as u32)
}
