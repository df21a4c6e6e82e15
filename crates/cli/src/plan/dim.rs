//! A dimension that a model leaves open, and the values it can have.

use std::str::FromStr;

/// A name with a value or a range of values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dim {
    pub(super) name: String,
    /// The smallest value.
    pub(super) min: u64,
    /// The largest value, itself among them.
    pub(super) max: u64,
}

impl FromStr for Dim {
    type Err = String;

    fn from_str(word: &str) -> Result<Dim, String> {
        let wrong = || "a dimension is NAME=VALUE or NAME=MIN..MAX, like batch=1..8".to_owned();
        let (name, values) = word.rsplit_once('=').ok_or_else(wrong)?;
        let (min, max) = values.split_once("..").unwrap_or((values, values));
        let number = |word: &str| word.parse::<u64>().map_err(|_| wrong());
        let (min, max) = (number(min)?, number(max)?);
        if name.is_empty() {
            return Err(wrong());
        }
        if min > max {
            return Err(format!("{min} is more than {max}; a range is MIN..MAX, like 1..8"));
        }
        Ok(Dim { name: name.to_owned(), min, max })
    }
}

impl Dim {
    pub(super) fn is_range(&self) -> bool {
        self.min < self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_ranges() {
        let dim = |min, max| Ok(Dim { name: "n".into(), min, max });
        assert_eq!("n=4".parse(), dim(4, 4));
        assert_eq!("n=1..8".parse(), dim(1, 8));
        assert_eq!("n=1..8".parse::<Dim>().map(|dim| dim.is_range()), Ok(true));
        for word in ["", "n", "n=", "=1", "n=x", "n=1..", "n=..8", "n=-1", "n=1.5"] {
            assert!(word.parse::<Dim>().unwrap_err().contains("batch=1..8"), "{word}");
        }
        assert!("n=8..1".parse::<Dim>().unwrap_err().contains("8 is more than 1"));
    }
}
