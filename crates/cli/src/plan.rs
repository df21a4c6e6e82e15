//! `tenure plan`: which buffers of a model can share memory, and how little is enough.
//!
//! `input` reads what is planned, `source` is what it depends on, `compare` plans it in every mode,
//! `pools` and `resize` as else it was asked for; `show` and `report` tell what came out, `drawing`
//! makes the picture.

mod compare;
mod dim;
mod drawing;
mod input;
mod options;
mod pools;
mod problem;
mod progress;
mod report;
mod resize;
mod show;
mod size;
mod source;

use std::io::Write;
use std::path::Path;

use tenure::files::whole;
use tenure::plan::{Plan, Schedule};

use crate::failure::Failure;
use crate::output;
use compare::{How, Results};
pub(crate) use options::{ABOUT, Options};
pub(crate) use problem::Problem;
pub(crate) use size::Size;
use source::Source;

/// Plans, writes what was asked for, and prints.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let mut source = input::read(&options.file, &options.dim)?;
    one_lane(&source, options)?;
    // Before the search listens to Ctrl-C: until then it ends the program.
    let saved = options.keep.as_deref().map(resize::load).transpose()?;
    let mut search = progress::Search::new(options);
    let mut cut_short = false;
    let reordered = if options.reorder {
        let better = compare::reordered(&source.schedule, &search)?;
        cut_short = search.was_stopped() && !better.optimal;
        source = Source::fixed(better.schedule.clone())?;
        Some(better)
    } else {
        None
    };
    // A second schedule only where there is one: of many buffers it takes more than planning them.
    let mut before = None;
    if !options.resize.is_empty() {
        let resized = Source::fixed(resize::resized(&source.schedule, &options.resize)?)?;
        before = Some(std::mem::replace(&mut source, resized).schedule);
    }
    let modes = compare::Wanted::new(&options.mode, &options.packer)?;
    let mut results = compare::compare(&source, &modes, &search)?;
    let alone = compare::alone(&source, &search)?;
    if options.keep.is_some() || !options.resize.is_empty() {
        let saved = options.keep.as_deref().zip(saved);
        results.add(&search, || {
            let before = before.as_ref().unwrap_or(&source.schedule);
            let kept = resize::kept(before, &source.schedule, saved, &search)?;
            Ok((kept.plan, How::Kept { moved: kept.moved, anew: kept.anew }))
        })?;
    }
    let mut refused = None;
    if !options.pool.is_empty() {
        let filled = results.add(&search, || {
            let (plan, uses) = pools::fill(&source.schedule, &options.pool, &search)?;
            Ok((plan, How::Pools(uses)))
        });
        refused = filled.err();
    }
    let fits = match options.capacity {
        Some(Size(bytes)) => Some(compare::fits(&source.schedule, bytes, &search)?),
        None => None,
    };
    if let Some(path) = &options.write_offline_plan {
        write(path, input::with_offline_plan(&options.file, &search)?)?;
    }
    search.done();
    let schedule = &source.schedule;
    let best = fits.as_ref().and_then(compare::Fits::plan).or(results.winner());
    write_files(options, schedule, &results, best)?;
    if options.json {
        output::json(&report::rows(&results))?;
    } else {
        let page = show::Page {
            file: &options.file,
            source: &source,
            alone,
            results: &results,
            reordered: reordered.as_ref(),
            fits: fits.as_ref(),
            explain: options.explain,
        };
        output::text(&page.text()?)?;
    }
    if let Some(refused) = refused {
        return Err(refused.into());
    }
    match fits {
        Some(fits) if fits.is_unknown() && search.was_stopped() => {
            Err(Problem::Stopped(fits.words(schedule)).into())
        }
        Some(fits) if !fits.is_certain_to_fit() => {
            Err(Problem::DoesNotFit(fits.words(schedule)).into())
        }
        _ if cut_short || results.is_cut_short() => {
            let words = "these are the best plans so far, and not proven to be minimal";
            Err(Problem::Stopped(words.to_owned()).into())
        }
        _ => Ok(()),
    }
}

/// Writes the files that were asked for.
fn write_files(
    options: &Options,
    schedule: &Schedule,
    results: &Results,
    best: Option<&Plan>,
) -> Result<(), Failure> {
    if let (Some(path), Some(plan)) = (&options.save, best) {
        write(path, plan.to_json().map_err(Problem::Json)?)?;
    }
    if let (Some(path), Some(plan)) = (&options.csv, best) {
        write(path, report::csv(schedule, plan)?)?;
    }
    if options.html.is_some() || options.svg.is_some() {
        let drawing = drawing::drawing(&options.file, schedule, results)?;
        if let Some(path) = &options.html {
            write(path, drawing.html())?;
        }
        if let Some(path) = &options.svg {
            write(path, drawing.svg())?;
        }
    }
    Ok(())
}

/// Refuses what is right for the largest number only.
fn one_lane(source: &Source, options: &Options) -> Result<(), Problem> {
    let asked = [
        ("--reorder", options.reorder),
        ("--capacity", options.capacity.is_some()),
        ("--pool", !options.pool.is_empty()),
        ("--keep", options.keep.is_some()),
        ("--resize", !options.resize.is_empty()),
    ];
    match asked.iter().find(|(_, asked)| *asked && !source.is_one_lane()) {
        Some(&(option, _)) => Err(Problem::SeveralLanes { option }),
        None => Ok(()),
    }
}

/// Writes a file whole or not at all.
fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
    let written = whole::write(path, whole::Existing::Replace, |out| out.write_all(bytes.as_ref()));
    written.map_err(|cause| Problem::Write { path: path.to_owned(), cause })?;
    Ok(())
}
