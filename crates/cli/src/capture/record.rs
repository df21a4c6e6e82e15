//! From camera to files: what is asked for is negotiated, frames are taken and written, and a
//! report says what came of it.

use std::time::Duration;

use tenure::camera::{Camera, FourCc, Frame, Stream, Wanted};

use super::Options;
use super::folder::Folder;
use super::frames::{self, Sorts};
use super::problem::Problem;
use super::progress::Progress;
use super::report::{self, Report};
use super::wish::Format;
use crate::failure::Failure;
use crate::output;

/// Captures, writes and tells.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let mut camera = Camera::open(&options.device).map_err(Problem::from)?;
    let mode = camera.negotiate(wanted(options)).map_err(Problem::from)?;
    let sorts = Sorts::of(mode.pixels, mode.fourcc, options.only)?;
    let folder = Folder::prepare(&options.output, options.frames, &sorts.endings(), options.force)?;
    let mut stream = camera.stream().map_err(Problem::from)?;
    // A reader that went away does not keep the frames from their files.
    let told = if options.json {
        Ok(())
    } else {
        output::text(&report::beginning(&camera, stream.mode(), output::width()))
    };

    let progress = Progress::new();
    let mut memory = None;
    let mut skipped = 0;
    let (written, problem) = frames::write(options.frames, &folder, sorts, |index| {
        while skipped < options.skip {
            taken(&mut stream, options.timeout)?;
            skipped += 1;
        }
        let frame = taken(&mut stream, options.timeout)?;
        memory.get_or_insert(frame.memory());
        progress.show(index + 1, options.frames);
        Ok(frame)
    });
    drop(progress);
    if let Some(why) = problem {
        return Err(midway(why, written.len(), options.frames).into());
    }

    told?;
    let report = Report::new(&camera, &stream, memory, &written, &folder);
    if options.json {
        output::json(&report)
    } else {
        output::text(&report::ending(&report, output::width()))
    }
}

/// The next frame, which must come in this time.
fn taken(stream: &mut Stream, within: Duration) -> Result<Frame, Problem> {
    stream.next(within)?.ok_or(Problem::NoFrame { within })
}

fn midway(why: Problem, done: usize, wanted: u32) -> Problem {
    if done == 0 { why } else { Problem::Midway { done, wanted, why: Box::new(why) } }
}

fn wanted(options: &Options) -> Wanted {
    let mut wanted = match options.format {
        None => Wanted::any(),
        Some(Format::Pixels(pixels)) => Wanted::pixels(pixels),
        Some(Format::Code(letters)) => Wanted::fourcc(FourCc::new(&letters)),
    };
    if let Some(size) = options.size {
        wanted = wanted.size(size.width, size.height);
    }
    if let Some(fps) = options.fps {
        wanted = wanted.fps(fps);
    }
    wanted
}
