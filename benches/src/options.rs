//! The command line of a benchmark.

use std::path::PathBuf;

use crate::error::Failure;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// A smoke run: that the rows run at all, no verdict about speed.
    pub(crate) quick: bool,
    /// Where to write the numbers for other programs.
    pub(crate) json: Option<PathBuf>,
    /// Rows are chosen if one of these is in their name; all if there are none.
    pub(crate) words: Vec<String>,
}

impl Options {
    pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, Failure> {
        let mut options = Self::default();
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                // `cargo bench` says this to everyone.
                "--bench" => {}
                "--quick" => options.quick = true,
                "--json" => options.json = Some(arguments.next().ok_or(Failure::NoFile)?.into()),
                option if option.starts_with('-') => {
                    return Err(Failure::Option { option: argument });
                }
                _ => options.words.push(argument),
            }
        }
        Ok(options)
    }

    pub(crate) fn chooses(&self, row: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| row.contains(word.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, Failure> {
        Options::parse(line.split_whitespace().map(String::from))
    }

    #[test]
    fn arguments_are_understood_in_any_order() {
        let options = parse("tlsf --json out.json --quick --bench map").unwrap();
        assert_eq!(options.json, Some("out.json".into()));
        assert!(options.quick);
        assert!(options.chooses("heap map") && options.chooses("tlsf pair"));
        assert!(!options.chooses("shm"));
        assert!(parse("--bench").unwrap().chooses("anything"));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        assert_eq!(parse("--json").unwrap_err().to_string(), Failure::NoFile.to_string());
        assert!(parse("--fast").unwrap_err().to_string().contains("--fast"));
    }
}
