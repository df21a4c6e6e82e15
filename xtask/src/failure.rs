//! What went wrong, in words for the person at the terminal.

use std::fmt;

/// The result of a chore.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// A message; whoever reads it knows what to do next.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Succeeds if `problems` is empty, else fails with all of them below `title`.
    pub(crate) fn unless_empty(title: &str, problems: &[String]) -> Outcome {
        if problems.is_empty() {
            return Ok(());
        }
        Err(Self(format!("{title}\n  - {}", problems.join("\n  - "))))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_problem_is_no_failure() {
        Failure::unless_empty("title", &[]).unwrap();
    }

    #[test]
    fn every_problem_is_told() {
        let problems = ["first".to_owned(), "second".to_owned()];
        let failure = Failure::unless_empty("title", &problems).unwrap_err();
        assert_eq!(failure.to_string(), "title\n  - first\n  - second");
    }
}
