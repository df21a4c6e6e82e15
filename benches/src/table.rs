//! The numbers of a run, for the terminal and for other programs.

use std::fmt;
use std::io::{self, Write};

use serde_json::{Value, json};

/// What the numbers of a row count. Less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// Time of the processor.
    Nanoseconds,
    /// Memory.
    Bytes,
    /// Occurrences of something.
    Count,
}

impl Unit {
    /// The unit of the raw numbers.
    fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Bytes => "bytes",
            Self::Count => "count",
        }
    }

    /// The unit that `value` is best read in, and how many of ours it is.
    fn readable(self, value: f64) -> (&'static str, f64) {
        let steps: &[(&str, f64)] = match self {
            Self::Nanoseconds => &[("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0)],
            Self::Bytes => {
                &[("GiB", 1073741824.0), ("MiB", 1048576.0), ("KiB", 1024.0), ("B", 1.0)]
            }
            Self::Count => &[("", 1.0)],
        };
        steps.iter().find(|step| value >= step.1).or(steps.last()).copied().unwrap_or(("", 1.0))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) row: String,
    pub(crate) ours: f64,
    pub(crate) rivals: Vec<(&'static str, f64)>,
    /// What nobody can be better than, where that was measured.
    pub(crate) limit: Option<f64>,
    /// The largest ratio that passes.
    pub(crate) target: f64,
    pub(crate) unit: Unit,
}

impl Line {
    /// Ours by the best of the rivals. Nothing at all is as good as nothing.
    pub(crate) fn ratio(&self) -> f64 {
        let best = self.rivals.iter().map(|rival| rival.1).fold(f64::INFINITY, f64::min);
        if self.ours == best { 1.0 } else { self.ours / best }
    }

    /// Whether there is a number of ours at all.
    pub(crate) fn measured(&self) -> bool {
        self.ours.is_finite()
    }

    /// Whether the target is met. A number that is none does not pass.
    pub(crate) fn passes(&self) -> bool {
        self.ratio() <= self.target
    }
}

/// `[{"row", "ours", "rivals": {name: value}, "limit", "target", "unit"}]`
pub(crate) fn json(lines: &[Line]) -> Value {
    let line = |line: &Line| {
        let rivals: serde_json::Map<_, _> =
            line.rivals.iter().map(|(name, value)| (String::from(*name), json!(value))).collect();
        json!({
            "row": line.row,
            "ours": line.ours,
            "rivals": rivals,
            "limit": line.limit,
            "target": line.target,
            "unit": line.unit.name(),
        })
    };
    lines.iter().map(line).collect()
}

/// Every rival has a column; a row leaves those empty that it does not have.
pub(crate) fn print(lines: &[Line], verdict: bool, out: &mut dyn Write) -> io::Result<()> {
    let mut rivals: Vec<&str> = Vec::new();
    for (name, _) in lines.iter().flat_map(|line| &line.rivals) {
        if !rivals.contains(name) {
            rivals.push(name);
        }
    }
    let mut cells = vec![header(&rivals)];
    cells.extend(lines.iter().map(|line| texts(line, &rivals, verdict)));
    let columns = cells.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column| {
        let texts = cells.iter().filter_map(|texts| texts.get(column));
        texts.map(|text: &String| text.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for texts in &cells {
        for (column, (text, width)) in texts.iter().zip(&widths).enumerate() {
            // Names to the left, numbers to the right.
            match column {
                0 => write!(out, "{text:width$}")?,
                _ => write!(out, "  {text:>width$}")?,
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

fn header(rivals: &[&str]) -> Vec<String> {
    let names = ["row", "ours"].into_iter().chain(rivals.iter().copied());
    names.chain(["limit", "unit", "ratio", "target", ""]).map(String::from).collect()
}

fn texts(line: &Line, rivals: &[&str], verdict: bool) -> Vec<String> {
    let (unit, scale) = line.unit.readable(line.ours);
    let number = |value: f64| Scaled(value / scale, line.unit != Unit::Count).to_string();
    let mut texts = vec![line.row.clone(), number(line.ours)];
    texts.extend(rivals.iter().map(|name| {
        let rival = line.rivals.iter().find(|rival| rival.0 == *name);
        rival.map_or_else(String::new, |rival| number(rival.1))
    }));
    let over = if verdict && !line.passes() { "OVER" } else { "" };
    texts.extend([line.limit.map_or_else(String::new, number), unit.to_owned()]);
    texts.extend([format!("{:.3}", line.ratio()), format!("{:.3}", line.target)]);
    texts.push(over.to_owned());
    texts
}

/// A number with as many digits after the point as are of interest, none if it is whole.
struct Scaled(f64, bool);

impl fmt::Display for Scaled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self(value, false) => write!(f, "{value:.0}"),
            Self(value, true) if value < 100.0 => write!(f, "{value:.2}"),
            Self(value, true) => write!(f, "{value:.1}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(ours: f64, rivals: &[(&'static str, f64)]) -> Line {
        let (row, rivals) = (String::from("a row"), rivals.to_vec());
        Line { row, ours, rivals, limit: Some(5.0), target: 1.0, unit: Unit::Nanoseconds }
    }

    #[test]
    fn the_best_rival_counts() {
        let good = line(1.0, &[("a", 2.0), ("b", 4.0)]);
        assert_eq!(good.ratio(), 0.5);
        assert!(good.passes());
        assert!(!line(3.0, &[("a", 2.0), ("b", 4.0)]).passes());
        let without = line(f64::NAN, &[("a", 2.0)]);
        assert!(!without.passes() && !without.measured());
        assert!(line(0.0, &[("a", 0.0)]).passes());
    }

    #[test]
    fn columns_are_aligned_and_units_readable() {
        let lines = [line(1500.0, &[("a", 3000.0)]), line(20.0, &[("b", 10.0)])];
        let mut out = Vec::new();
        print(&lines, true, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let [header, first, second] = text.lines().collect::<Vec<_>>()[..] else { panic!() };
        assert!(
            header.starts_with("row     ours     a      b  limit  unit  ratio  target"),
            "{header}"
        );
        assert!(
            first.starts_with("a row   1.50  3.00          0.01    µs  0.500   1.000"),
            "{first}"
        );
        assert!(second.ends_with("2.000   1.000  OVER"), "{second}");
    }

    #[test]
    fn programs_get_raw_numbers() {
        let expected = json!([{
            "row": "a row", "ours": 1500.0, "rivals": {"a": 3000.0}, "limit": 5.0,
            "target": 1.0, "unit": "ns",
        }]);
        assert_eq!(json(&[line(1500.0, &[("a", 3000.0)])]), expected);
    }
}
