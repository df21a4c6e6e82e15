//! The table of unsafe code, `docs/unsafe.md`, and the rules that keep it short: a file with
//! unsafe code says why at its head, and every block and impl has a `SAFETY:` comment.

mod source;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cargo;
use crate::generated::Page;
use crate::{Failure, Outcome};
use source::Source;

const DOCUMENT: &str = "docs/unsafe.md";
const HEAD: &str = "\
# Unsafe code

<!-- Written by `cargo xtask unsafe-table` from the source files: change it there. -->

Unsafe code is denied for every crate. The files below are the exceptions: each opens with
`#![expect(unsafe_code, reason = \"…\")]`, and the column \"why\" is that reason. Every block and every
impl has a `// SAFETY:` comment directly before it; `cargo xtask unsafe-table` checks this. The policy is
in [CONTRIBUTING.md](../CONTRIBUTING.md#unsafe-code), an overview by crate in
[ARCHITECTURE.md](../ARCHITECTURE.md#unsafe-policy).

";
/// So many lines may lie between the end of a `SAFETY:` comment and what it is about.
const REACH: usize = 5;

struct Row {
    file: String,
    reason: String,
    blocks: usize,
    impls: usize,
}

/// The page as it should be.
pub(crate) fn page() -> Outcome<Page> {
    let root = cargo::root()?;
    let (mut rows, mut problems) = (Vec::new(), Vec::new());
    for file in files(&root)? {
        let text = fs::read_to_string(&file).map_err(|error| failed(&file, &error))?;
        let name = file.strip_prefix(&root).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        match judge(&name, &text) {
            Ok(row) => rows.extend(row),
            Err(found) => problems.extend(found),
        }
    }
    Failure::unless_empty("unsafe code that breaks the rules of CONTRIBUTING.md", &problems)?;

    Ok(Page { path: DOCUMENT.into(), text: HEAD.to_owned() + &table(&rows), chore: "unsafe-table" })
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}

/// All Rust files that the rules are for, in a fixed order.
fn files(root: &Path) -> Outcome<Vec<PathBuf>> {
    let mut folders = ["attacks", "examples", "xtask"].map(|name| root.join(name)).to_vec();
    let crates = root.join("crates");
    for entry in fs::read_dir(&crates).map_err(|error| failed(&crates, &error))? {
        folders.push(entry.map_err(|error| failed(&crates, &error))?.path().join("src"));
    }
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        if !folder.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&folder).map_err(|error| failed(&folder, &error))? {
            let path = entry.map_err(|error| failed(&folder, &error))?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The row of a file, none if there is nothing unsafe in it, or what is wrong with it.
fn judge(file: &str, text: &str) -> Result<Option<Row>, Vec<String>> {
    let source = Source::new(text);
    let uses = source.uses();
    let Some(first) = uses.first() else { return Ok(None) };

    let mut problems = Vec::new();
    let reason = source.reason();
    if reason.is_none() {
        problems.push(format!(
            "{file}:{}: unsafe code, but the file does not open with \
             `#![expect(unsafe_code, reason = \"…\")]`",
            first.line
        ));
    }
    for usage in uses.iter().filter(|usage| usage.kind.needs_comment()) {
        if !source.has_safety_comment(usage.line, REACH) {
            problems.push(format!(
                "{file}:{}: {} without a `// SAFETY:` comment in the {REACH} lines before it",
                usage.line,
                usage.kind.name()
            ));
        }
    }
    let count = |kind| uses.iter().filter(|usage| usage.kind == kind).count();
    match reason {
        Some(reason) if problems.is_empty() => Ok(Some(Row {
            file: file.to_owned(),
            reason,
            blocks: count(source::Kind::Block),
            impls: count(source::Kind::Impl),
        })),
        _ => Err(problems),
    }
}

fn table(rows: &[Row]) -> String {
    let mut text = "| file | why | blocks | impls |\n|---|---|---:|---:|\n".to_owned();
    for Row { file, reason, blocks, impls } in rows {
        let reason = reason.replace('|', "\\|");
        let _ = writeln!(text, "| `{file}` | {reason} | {blocks} | {impls} |");
    }
    let blocks: usize = rows.iter().map(|row| row.blocks).sum();
    let impls: usize = rows.iter().map(|row| row.impls).sum();
    let _ = writeln!(text, "| {} files | | {blocks} | {impls} |", rows.len());
    text
}

#[cfg(test)]
mod tests;
