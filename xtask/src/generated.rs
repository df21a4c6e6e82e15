//! Files that are generated and checked in: either write them, or check that they are current.

use std::fs;
use std::path::PathBuf;

use crate::{Failure, Outcome, c_header, cargo, cli_reference, unsafe_table};

/// A file as it should be.
pub(crate) struct Page {
    /// From the root of the repository.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    /// The chore that writes it.
    pub(crate) chore: &'static str,
}

/// Makes a page from the sources of the repository.
pub(crate) type Generator = fn() -> Outcome<Page>;

/// Every generator there is.
pub(crate) const ALL: &[Generator] = &[unsafe_table::page, cli_reference::page, c_header::page];

/// Writes the pages that are not current.
pub(crate) fn write(generators: &[Generator]) -> Outcome {
    for generator in generators {
        let page = generator()?;
        let path = cargo::root()?.join(&page.path);
        if fs::read_to_string(&path).is_ok_and(|old| old == page.text) {
            println!("{}: current", page.path.display());
            continue;
        }
        let failed = |error| Failure::new(format!("{}: {error}", page.path.display()));
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        fs::write(&path, &page.text).map_err(failed)?;
        println!("{}: written", page.path.display());
    }
    Ok(())
}

/// Fails, and says where, if a page is not current.
pub(crate) fn check(generators: &[Generator]) -> Outcome {
    let mut problems = Vec::new();
    for generator in generators {
        let page = match generator() {
            Ok(page) => page,
            Err(failure) => {
                problems.push(failure.to_string());
                continue;
            }
        };
        let name = page.path.display();
        match fs::read_to_string(cargo::root()?.join(&page.path)) {
            Ok(old) => match first_difference(&old, &page.text) {
                None => println!("{name}: current"),
                Some(line) => problems.push(format!(
                    "{name}: not current, first at line {line}; run `cargo xtask {}`",
                    page.chore
                )),
            },
            Err(error) => {
                problems.push(format!("{name}: {error}; `cargo xtask {}` writes it", page.chore))
            }
        }
    }
    Failure::unless_empty("generated files", &problems)
}

/// The number of the first line that differs.
fn first_difference(old: &str, new: &str) -> Option<usize> {
    if old == new {
        return None;
    }
    let same = old.lines().zip(new.lines()).take_while(|(old, new)| old == new).count();
    Some(same + 1)
}

#[cfg(test)]
mod tests {
    use super::first_difference;

    #[test]
    fn differences_are_found_by_line() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), Some(2));
        assert_eq!(first_difference("a\n", "a\nb\n"), Some(2));
        assert_eq!(first_difference("a", "a\n"), Some(2));
    }
}
