//! What is told about a file: the JSON, and the text that says the same.

use serde::Serialize;
use tenure::files::{Entry, TensorFile};

use super::statistics::Statistics;
use crate::page::{DIM, Mark, PLAIN, Page, columns};
use crate::units;

/// Columns of the longest name; longer ones push the rest of their line.
const LONGEST: usize = 48;
/// Characters of the longest value that is shown.
const LONGEST_VALUE: usize = 200;

/// What `tenure inspect --json` prints. Fields are added, never renamed or removed.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    path: String,
    format: &'static str,
    /// Bytes of the file, or of all files of a folder.
    bytes: u64,
    /// The files, in the order of `shard`.
    files: Vec<String>,
    /// What else the file says.
    metadata: serde_json::Map<String, serde_json::Value>,
    pub(super) tensors: Vec<Row>,
    /// Members that are no tensors.
    refused: Vec<Refused>,
}

/// One tensor.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    name: String,
    dtype: String,
    /// Elements per dimension, also where they are in blocks.
    shape: Vec<usize>,
    /// Bytes in memory.
    bytes: usize,
    /// Where its bytes begin in its file.
    offset: u64,
    /// Which of the files.
    shard: usize,
    /// Why it is copied when it is used; `null` if it is used where it lies.
    copied: Option<&'static str>,
    /// With `--stats`; `null` for types that are only stored.
    pub(super) stats: Option<Statistics>,
}

#[derive(Debug, Serialize)]
struct Refused {
    name: String,
    why: String,
}

impl Report {
    pub(super) fn new(file: &TensorFile, entries: &[&Entry]) -> Report {
        let metadata = file.metadata().iter();
        let refused = file.refused().iter();
        Report {
            path: file.path().display().to_string(),
            format: file.format().name(),
            bytes: file.size(),
            files: file.paths().map(|path| path.display().to_string()).collect(),
            metadata: metadata.map(|(key, value)| (key.clone(), value.clone().into())).collect(),
            tensors: entries.iter().map(|entry| Row::new(entry)).collect(),
            refused: refused
                .map(|one| Refused { name: one.name.clone(), why: one.why.clone() })
                .collect(),
        }
    }
}

impl Row {
    fn new(entry: &Entry) -> Row {
        Row {
            name: entry.name().to_owned(),
            dtype: entry.elements().name().to_owned(),
            shape: entry.shape().to_vec(),
            bytes: entry.bytes(),
            offset: entry.offset(),
            shard: entry.shard(),
            copied: entry.copied(),
            stats: None,
        }
    }
}

/// The report, set for so many columns.
pub(super) fn page(report: &Report, metadata: bool, stats: bool, width: usize) -> String {
    let mut page = Page::new(width);
    let total: u64 = report.tensors.iter().map(|row| row.bytes as u64).sum();
    let files = match report.files.len() {
        1 => String::new(),
        several => format!(" in {several} files"),
    };
    let remark = format!("{}, {}{files}", report.format, units::bytes(report.bytes));
    page.heading(&report.path, &remark);
    table(&mut page, &report.tensors, stats);
    let count = report.tensors.len();
    page.row(Mark::Blank, &[], DIM, &format!("{count} tensors, {}", units::bytes(total)));
    if metadata {
        page.heading("Metadata", "");
        let widest = report.metadata.keys().map(|key| columns(key)).max().unwrap_or(0);
        for (key, value) in &report.metadata {
            let value: String =
                value.as_str().unwrap_or_default().chars().take(LONGEST_VALUE).collect();
            page.row(Mark::Blank, &[(key, widest.min(LONGEST) + 2)], PLAIN, &value);
        }
    }
    if !report.refused.is_empty() {
        page.heading("No tensors", "");
        for Refused { name, why } in &report.refused {
            page.row(Mark::No, &[(name, columns(name) + 2)], DIM, why);
        }
    }
    page.into_text()
}

fn table(page: &mut Page, rows: &[Row], stats: bool) {
    let mut cells = vec![["name", "type", "shape", "bytes", "offset"].map(String::from)];
    for row in rows {
        let shape = row.shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let size = units::bytes(row.bytes as u64);
        let (name, dtype) = (row.name.clone(), row.dtype.clone());
        cells.push([name, dtype, format!("[{shape}]"), size, row.offset.to_string()]);
    }
    let widest = |column: usize| {
        let texts = cells.iter().filter_map(|row| row.get(column));
        texts.map(|text| columns(text)).max().unwrap_or(0).min(LONGEST)
    };
    let widths = [0, 1, 2, 3, 4].map(widest);
    for (index, [name, dtype, shape, bytes, offset]) in cells.iter().enumerate() {
        let [wide_name, wide_dtype, wide_shape, wide_bytes, wide_offset] = widths;
        let (bytes, offset) = (format!("{bytes:>wide_bytes$}"), format!("{offset:>wide_offset$}"));
        let line = [
            (name.as_str(), wide_name + 2),
            (dtype, wide_dtype + 2),
            (shape, wide_shape + 2),
            (&bytes, wide_bytes + 2),
        ];
        let style = if index == 0 { DIM } else { PLAIN };
        page.row(Mark::Blank, &line, style, &offset);
        let row = index.checked_sub(1).and_then(|index| rows.get(index));
        let Some(row) = row else { continue };
        if let Some(why) = row.copied {
            page.row(Mark::Blank, &[("", 2)], DIM, &format!("copied when used: {why}"));
        }
        if stats {
            page.row(Mark::Blank, &[("", 2)], DIM, &words(row.stats.as_ref()));
        }
    }
}

/// What elements are like, in words.
fn words(stats: Option<&Statistics>) -> String {
    let Some(stats) = stats else { return "its elements are only stored".to_owned() };
    let number = |name: &str, value: Option<f64>| match value {
        Some(value) => format!("{name} {}", short(value)),
        None => format!("{name} -"),
    };
    let mut words = vec![
        number("min", stats.min),
        number("max", stats.max),
        number("mean", stats.mean),
        format!("{} NaN", stats.nan),
    ];
    if stats.infinite > 0 {
        words.push(format!("{} infinite", stats.infinite));
    }
    words.join(", ")
}

/// A number with about six digits: `-0.0123`, `3`, `1.7e38`.
fn short(value: f64) -> String {
    let size = value.abs();
    let usual = size == 0.0 || (1e-4..1e7).contains(&size);
    if !usual {
        return format!("{value:.3e}");
    }
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let texts = [0.0, -0.5, 3.0, 1234567.25, 3.4e38, -2e-7].map(short);
        assert_eq!(texts, ["0", "-0.5", "3", "1234567.25", "3.400e38", "-2.000e-7"]);
    }
}
