//! What is told about a conversion: the JSON, and the text that says the same.

use std::path::Path;

use serde::Serialize;
use tenure::TensorDyn;
use tenure::image::{EngineKind, Explanation, Placement};

use crate::page::{Mark, PLAIN, Page};
use crate::units;

/// Columns of the first word of a row.
const WHAT: usize = 8;

/// What `tenure convert --json` prints of one picture. Fields are added, never renamed or removed.
#[derive(Debug, Serialize)]
pub(super) struct Done {
    /// What was read.
    source: Side,
    /// What was written.
    output: Side,
    /// Bytes of the file that was written.
    bytes: u64,
    /// The engine that did it.
    engine: &'static str,
    /// Where the picture is.
    placement: Place,
}

/// One side of a conversion.
#[derive(Debug, Serialize)]
struct Side {
    path: String,
    width: Option<usize>,
    height: Option<usize>,
    format: Option<&'static str>,
    dtype: &'static str,
    shape: Vec<usize>,
    /// Matrix and range, where they are known.
    colour: Option<String>,
}

/// Where the picture is in the result, and the way back. A matrix of six numbers m means
/// `x' = m[0] x + m[1] y + m[2]` and `y' = m[3] x + m[4] y + m[5]`.
#[derive(Debug, Serialize)]
struct Place {
    /// The pixels of the result that the picture covers.
    content: Rectangle,
    /// Pixels of the source for one of the result, across and down the result.
    scale: [f64; 2],
    to_source: [f64; 6],
    to_output: [f64; 6],
}

#[derive(Debug, Serialize)]
struct Rectangle {
    x: usize,
    y: usize,
    width: usize,
    height: usize,
}

/// What `tenure convert --explain --json` prints.
#[derive(Debug, Serialize)]
pub(super) struct Explained {
    source: Side,
    output: Side,
    /// The engines in the order of trying, and after them those that are not tried.
    engines: Vec<Verdict>,
}

/// What an engine says.
#[derive(Debug, Serialize)]
struct Verdict {
    engine: &'static str,
    works: bool,
    /// Whether it is tried without being asked for.
    tried: bool,
    /// What it would do, or why it cannot.
    words: String,
}

/// A file and what is in it.
type File<'a> = (&'a Path, &'a TensorDyn);

impl Side {
    fn new((path, tensor): File<'_>) -> Side {
        Side {
            path: path.display().to_string(),
            width: tensor.width(),
            height: tensor.height(),
            format: tensor.format().map(|format| format.name()),
            dtype: tensor.dtype().name(),
            shape: tensor.shape().to_vec(),
            colour: tensor.colour().map(|colour| colour.to_string()),
        }
    }

    /// In words.
    fn words(&self) -> String {
        let (width, height) = (self.width.unwrap_or(0), self.height.unwrap_or(0));
        let format = self.format.unwrap_or("");
        format!("{}: {width}x{height} {format} {} {:?}", self.path, self.dtype, self.shape)
    }
}

impl Done {
    pub(super) fn new(
        source: File<'_>,
        output: File<'_>,
        bytes: u64,
        engine: EngineKind,
        placement: &Placement,
    ) -> Done {
        let content = placement.content();
        let (across, down) = placement.scale();
        Done {
            source: Side::new(source),
            output: Side::new(output),
            bytes,
            engine: engine.name(),
            placement: Place {
                content: Rectangle {
                    x: content.x,
                    y: content.y,
                    width: content.width,
                    height: content.height,
                },
                scale: [across, down],
                // Without the negative zeros that turns make.
                to_source: placement.to_source_matrix().map(|number| number + 0.0),
                to_output: placement.to_destination_matrix().map(|number| number + 0.0),
            },
        }
    }
}

impl Explained {
    pub(super) fn new(
        source: File<'_>,
        output: File<'_>,
        tried: Vec<Explanation>,
        others: Vec<Explanation>,
    ) -> Explained {
        let verdict = |(tried, one): (bool, Explanation)| Verdict {
            engine: one.engine.name(),
            works: one.verdict.is_ok(),
            tried,
            words: one.verdict.unwrap_or_else(|reason| reason),
        };
        let tried = tried.into_iter().map(|one| (true, one));
        let all = tried.chain(others.into_iter().map(|one| (false, one)));
        Explained {
            source: Side::new(source),
            output: Side::new(output),
            engines: all.map(verdict).collect(),
        }
    }
}

/// One picture as text.
pub(super) fn done(done: &Done, width: usize) -> String {
    let mut page = Page::new(width);
    let mut row = |what, text: &str| page.row(Mark::Blank, &[(what, WHAT)], PLAIN, text);
    row("source", &done.source.words());
    row("output", &format!("{}, {}", done.output.words(), units::bytes(done.bytes)));
    row("engine", done.engine);
    let Rectangle { x, y, width, height } = done.placement.content;
    row("content", &format!("{width}x{height}+{x}+{y}"));
    let [across, down] = done.placement.scale.map(number);
    row("scale", &format!("{across} across and {down} down: pixels of the source for one here"));
    let [a, b, c, d, e, f] = done.placement.to_source;
    row("back", &format!("source x = {}", line([a, b, c])));
    row("", &format!("source y = {}", line([d, e, f])));
    page.into_text()
}

/// What the engines say, as text.
pub(super) fn explained(report: &Explained, width: usize) -> String {
    let mut page = Page::new(width);
    page.row(Mark::Blank, &[("source", WHAT)], PLAIN, &report.source.words());
    page.row(Mark::Blank, &[("output", WHAT)], PLAIN, &report.output.words());
    page.heading("Engines", "in the order of trying; nothing was written");
    for one in &report.engines {
        let only = if one.tried { "" } else { "; only with --engine" };
        let words = format!("{}{only}", one.words);
        page.row(Mark::of(one.works), &[(one.engine, WHAT + 2)], PLAIN, &words);
    }
    page.into_text()
}

/// A row of a matrix, in words: `3 x - 420`.
fn line([x, y, constant]: [f64; 3]) -> String {
    let mut words = String::new();
    for (value, name) in [(x, " x"), (y, " y"), (constant, "")] {
        if value == 0.0 {
            continue;
        }
        let sign = match (words.is_empty(), value < 0.0) {
            (true, true) => "-",
            (true, false) => "",
            (false, true) => " - ",
            (false, false) => " + ",
        };
        let factor = if value.abs() == 1.0 && !name.is_empty() {
            name.trim_start().to_owned()
        } else {
            number(value.abs()) + name
        };
        words.push_str(sign);
        words.push_str(&factor);
    }
    words
}

/// A number with as many digits as it needs, and at most six after the point.
fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_well() {
        assert_eq!(line([3.0, 0.0, -420.0]), "3 x - 420");
        assert_eq!(line([0.0, -1.5, 479.5]), "-1.5 y + 479.5");
        assert_eq!(line([0.0, -1.0, 1.0]), "-y + 1");
        assert_eq!(line([1.0 / 3.0, 0.0, 0.0]), "0.333333 x");
    }
}
