//! One picture, from file to file.

use std::path::Path;

use tenure::image::ImageProcessor;

use super::recipe::Recipe;
use super::report::{self, Done, Explained};
use super::target::{self, Ending};
use super::{Options, Problem, source};
use crate::failure::Failure;
use crate::output;

/// Converts one picture, and tells.
pub(super) fn run(options: &Options, recipe: &Recipe<'_>) -> Result<(), Failure> {
    if options.ending.is_some() {
        let (option, for_what) = ("--as", "folders; a file's name tells it");
        return Err(Problem::OptionFor { option, for_what }.into());
    }
    if options.output.is_dir() {
        let (input, output) = (options.input.clone(), options.output.clone());
        return Err(Problem::IntoFolder { input, output }.into());
    }
    let ending = Ending::of(&options.output)?;
    let processor = recipe.processor(options.how.threads.map(usize::from))?;
    if options.explain {
        let report = explain(options, recipe, &processor, ending)?;
        return if options.json {
            output::json(&report)
        } else {
            output::text(&report::explained(&report, output::width()))
        };
    }
    let done = convert(options, recipe, &processor, &options.input, &options.output, ending)?;
    if options.json {
        output::json(&done)
    } else {
        output::text(&report::done(&done, output::width()))
    }
}

/// Converts one file into another.
pub(super) fn convert(
    options: &Options,
    recipe: &Recipe<'_>,
    processor: &ImageProcessor,
    input: &Path,
    output: &Path,
    ending: Ending,
) -> Result<Done, Problem> {
    let source = source::read(input, options.from)?;
    let (convert, target) = recipe.prepare(&source, ending)?;
    let engine = processor.engine(&source, &target, &convert)?;
    let placement = processor.convert(&source, &target, &convert)?;
    let bytes = target::write(output, ending, &target, options.quality)?;
    Ok(Done::new((input, &source), (output, &target), bytes, engine, &placement))
}

fn explain(
    options: &Options,
    recipe: &Recipe<'_>,
    processor: &ImageProcessor,
    ending: Ending,
) -> Result<Explained, Problem> {
    let source = source::read(&options.input, options.from)?;
    let (convert, target) = recipe.prepare(&source, ending)?;
    let tried = processor.explain(&source, &target, &convert)?;
    let others = recipe.others(processor)?.explain(&source, &target, &convert)?;
    Ok(Explained::new((&options.input, &source), (&options.output, &target), tried, others))
}
