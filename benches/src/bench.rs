//! A whole benchmark: options in, rows through, table and verdict out.

use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::error::{Error, Failure};
use crate::options::Options;
use crate::row::Row;
use crate::table::{self, Line, Unit};

/// A benchmark while it is running.
#[derive(Debug)]
pub struct Bench {
    options: Options,
    lines: Vec<Line>,
}

/// The `main` of a benchmark: runs `rows`, prints the table, and fails if a row misses its target.
pub fn run(rows: impl FnOnce(&mut Bench) -> Result<(), Error>) -> ExitCode {
    let all = || {
        let options = Options::parse(std::env::args().skip(1))?;
        let mut bench = Bench { options, lines: Vec::new() };
        rows(&mut bench)?;
        Ok::<_, Error>(bench.finish()?)
    };
    match all() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // If there is no standard error either, the exit code has to do.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

impl Bench {
    /// A row to be filled in and measured; nothing if it was not asked for.
    pub fn row<'a>(&mut self, name: &str, unit: Unit) -> Option<Row<'_, 'a>> {
        self.options.chooses(name).then(|| Row::new(self, name, unit))
    }

    /// The words that rows are chosen by, for benchmarks that make rows of them.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.options.words
    }

    /// Whether it is enough that everything runs once, and on little data.
    #[must_use]
    pub fn quick(&self) -> bool {
        self.options.quick
    }

    pub(crate) fn add(&mut self, line: Line) {
        self.lines.push(line);
    }

    /// Tells the results; true if all rows met their targets. For a quick run it is enough that
    /// they have numbers.
    fn finish(self) -> Result<bool, Failure> {
        let Self { options, lines } = self;
        let verdict = !options.quick;
        table::print(&lines, verdict, &mut io::stdout().lock())
            .map_err(|source| Failure::Print { source })?;
        if let Some(path) = options.json {
            let text = format!("{:#}\n", table::json(&lines));
            fs::write(&path, text).map_err(|source| Failure::Json { path, source })?;
        }
        Ok(lines.iter().all(if verdict { Line::passes } else { Line::measured }))
    }
}
