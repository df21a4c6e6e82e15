//! Camera frames to model inputs, beside the best crates for each part of it, edgefirst-image and
//! OpenCV.

use std::cell::RefCell;
use std::process::ExitCode;
use std::time::Instant;

use tenure_benches::{
    Bench, Error, Program, Python, Unit, per_call, per_call_on_the_wall, per_cold_call, touched,
};

mod frames;
mod gl;
mod ours;
mod separate;

use frames::{Task, tasks};

fn main() -> ExitCode {
    tenure_benches::run(rows)
}

/// Bytes that are written to put everything else out of the caches.
const TRASH: usize = 64 << 20;
/// How much faster two threads must be.
const TWO_THREADS: f64 = 1.8;
/// Names the program made of `benches/vs_images/edgefirst`, which is no part of the workspace: built
/// together with it, `fast_image_resize` would have threads.
const EDGEFIRST: &str = "TENURE_EDGEFIRST";

fn rows(bench: &mut Bench) -> Result<(), Error> {
    let opencv = Python::of_others("benches/vs_images/opencv.py");
    let edgefirst = Program::named_by(EDGEFIRST, "edgefirst-image").map(|program| {
        // A driver in software is refused otherwise.
        program.with("RAYON_NUM_THREADS", "1").with("EDGEFIRST_ALLOW_SOFTWARE_GL", "1")
    });
    let asked: Vec<Task> = bench.words().iter().filter_map(|word| Task::asked(word)).collect();
    let trash = RefCell::new(touched(TRASH));
    for task in tasks().into_iter().chain(asked) {
        let Some(row) = bench.row(&task.name, Unit::Nanoseconds) else { continue };
        let frame = task.frame();
        let mut ours = ours::Ours::new(&task, &frame, 1)?;
        let mut separate = separate::Separate::new(&task, &frame);
        let (from, mut to) = (touched(task.bytes_moved() / 2), touched(task.bytes_moved() / 2));
        let mut row = row.target(task.target_ratio);
        row = if task.cold {
            row.ours(per_cold_call(&trash, || ours.run()))
                .rival("yuv + fast_image_resize", per_cold_call(&trash, || separate.run()))
        } else {
            row.ours(per_call(|| ours.run()))
                .rival("yuv + fast_image_resize", per_call(|| separate.run()))
        };
        if let Some(edgefirst) = edgefirst.as_ref().filter(|_| task.for_plain_rivals()) {
            let question = format!("cpu plain {}", task.question());
            row = row.rival("edgefirst-image", move || edgefirst.ask(&question));
        }
        if task.for_opencv() {
            let (opencv, question) = (&opencv, task.question());
            row = row.rival("OpenCV", move || opencv.ask(&question));
        }
        let mut copy = || to.copy_from_slice(&from);
        match task.cold {
            true => row.limit(per_cold_call(&trash, copy)).measure(),
            false => row.limit(per_call(&mut copy)).measure(),
        }
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
    gl::rows(bench, edgefirst.as_ref())
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
