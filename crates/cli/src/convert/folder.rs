//! Every picture of a folder into another folder, several at one time. One that cannot be
//! converted does not keep the others from it; at the end they are all named.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde::Serialize;
use tenure::DType;
use tenure::image::ImageProcessor;

use super::recipe::Recipe;
use super::report::Done;
use super::target::Ending;
use super::{Options, Problem, one};
use crate::failure::Failure;
use crate::page::{DIM, Mark, PLAIN, Page};
use crate::progress::Progress;
use crate::{input, output};

/// What `tenure convert --json` prints of a folder. Fields are added, never renamed or removed.
#[derive(Debug, Serialize)]
struct Report {
    /// The folder that was written into.
    folder: String,
    /// The pictures that were converted, by name.
    pictures: Vec<Done>,
    /// Those that were not.
    failed: Vec<Failed>,
}

/// A picture that was not converted.
#[derive(Debug, Serialize)]
struct Failed {
    path: String,
    reason: String,
}

/// A file to read and the file to write.
type Pair = (PathBuf, PathBuf);

/// Converts all of them, and tells.
pub(super) fn run(options: &Options, recipe: &Recipe<'_>) -> Result<(), Failure> {
    for (given, option) in [(options.from.is_some(), "--from"), (options.explain, "--explain")] {
        if given {
            return Err(Problem::OptionFor { option, for_what: "one picture" }.into());
        }
    }
    let bytes = recipe.dtype == DType::U8;
    let ending = options.ending.unwrap_or(if bytes { Ending::Png } else { Ending::Npy });
    ending.check(recipe.dtype)?;
    let pairs = pairs(&options.input, &options.output, ending)?;
    let failed = |cause: std::io::Error| Problem::Write {
        path: options.output.clone(),
        cause: cause.into(),
    };
    fs::create_dir_all(&options.output).map_err(failed)?;

    let processor = recipe.processor(Some(1))?;
    let results = convert_all(options, recipe, &processor, &pairs, ending);
    let mut report =
        Report { folder: options.output.display().to_string(), pictures: vec![], failed: vec![] };
    for ((input, _), result) in pairs.iter().zip(results) {
        match result {
            Ok(done) => report.pictures.push(done),
            Err(problem) => {
                let (path, reason) = (input.display().to_string(), problem.to_string());
                report.failed.push(Failed { path, reason });
            }
        }
    }
    if options.json {
        output::json(&report)?;
    } else {
        output::text(&text(&report, pairs.len(), ending, output::width()))?;
    }
    match report.failed.first() {
        None => Ok(()),
        Some(first) => {
            let (failed, all, first) = (report.failed.len(), pairs.len(), first.reason.clone());
            Err(Problem::SomeFailed { failed, all, first }.into())
        }
    }
}

/// Converts the pictures, each on one of several threads; answers are in their order.
fn convert_all(
    options: &Options,
    recipe: &Recipe<'_>,
    processor: &ImageProcessor,
    pairs: &[Pair],
    ending: Ending,
) -> Vec<Result<Done, Problem>> {
    let here = || thread::available_parallelism().map_or(1, usize::from);
    let threads = options.how.threads.map_or_else(here, usize::from).clamp(1, pairs.len().max(1));
    let progress = Progress::new(pairs.len());
    let next = AtomicUsize::new(0);
    let results = Mutex::new(BTreeMap::new());
    let work = || {
        while let Some((at, (input, output))) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            pairs.get(at).map(|pair| (at, pair))
        } {
            let result = one::convert(options, recipe, processor, input, output, ending);
            if let Ok(mut results) = results.lock() {
                results.insert(at, result);
            }
            progress.step();
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // With fewer it takes longer.
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    results.into_inner().map(BTreeMap::into_values).into_iter().flatten().collect()
}

/// The pictures of a folder by name, and the files that they become.
fn pairs(from: &Path, to: &Path, ending: Ending) -> Result<Vec<Pair>, Problem> {
    let failed = |cause| Problem::Read { path: from.to_owned(), cause };
    let picture = |path: &Path| matches!(Ending::of(path), Ok(Ending::Png | Ending::Jpg));
    let names = input::files_of(from, picture).map_err(failed)?;
    if names.is_empty() {
        return Err(Problem::NoPictures(from.to_owned()));
    }
    let mut taken = BTreeMap::new();
    for input in names {
        let name = input.file_stem().unwrap_or_default().to_string_lossy();
        let output = to.join(format!("{name}.{}", ending.name()));
        if let Some(first) = taken.insert(output.clone(), input.clone()) {
            let word = |path: &Path| path.display().to_string();
            let (first, second, name) = (word(&first), word(&input), word(&output));
            return Err(Problem::Collision { first, second, name });
        }
    }
    Ok(taken.into_iter().map(|(output, input)| (input, output)).collect())
}

fn text(report: &Report, all: usize, ending: Ending, width: usize) -> String {
    let mut page = Page::new(width);
    let (done, folder) = (report.pictures.len(), &report.folder);
    let words = format!("{done} of {all} pictures converted to {} files", ending.name());
    page.row(Mark::of(done == all), &[], PLAIN, &format!("{folder}: {words}"));
    for failed in &report.failed {
        page.row(Mark::No, &[], DIM, &failed.reason);
    }
    if done > 0 {
        let words = "where each picture lies in its file, and the way back: say --json";
        page.row(Mark::Blank, &[], DIM, words);
    }
    page.into_text()
}
