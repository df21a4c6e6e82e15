//! What can be wrong with a table.

use crate::ProblemError;

/// Why a text is no table of lifetimes. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CsvError {
    /// There is no header.
    #[error("the text is empty; it should begin with a line like id,lower,upper,size")]
    Empty,
    /// The header lacks a column.
    #[error("line {line}: no column {column}; there must be id, lower, upper and size")]
    NoColumn {
        /// Line of the header.
        line: usize,
        /// The column.
        column: &'static str,
    },
    /// The header has two columns of one meaning.
    #[error("line {line}: two columns for {column}")]
    SameColumn {
        /// Line of the header.
        line: usize,
        /// The column.
        column: &'static str,
    },
    /// A line is too short or too long.
    #[error("line {line}: {fields} fields, but the header has {columns}")]
    Fields {
        /// The line.
        line: usize,
        /// How many fields it has.
        fields: usize,
        /// How many it should have.
        columns: usize,
    },
    /// A field is no number, or one that is too large.
    #[error("line {line}, column {column}: {text:?} is no whole number from 0 to {max}", max = u64::MAX)]
    Number {
        /// The line.
        line: usize,
        /// The column.
        column: &'static str,
        /// What is there, cut after 40 characters.
        text: String,
    },
    /// A lifetime is over before it begins.
    #[error("line {line}: alive in {lower}..{upper}, which is empty; upper must be above lower")]
    Lifetime {
        /// The line.
        line: usize,
        /// The first time.
        lower: u64,
        /// The time after the last.
        upper: u64,
    },
    /// Alignments must be powers of two.
    #[error("line {line}, column alignment: {align} is not a power of two")]
    Align {
        /// The line.
        line: usize,
        /// What is there.
        align: u64,
    },
    /// Two lines have one id.
    #[error("line {line}: the id {id:?} is that of line {first} as well")]
    SameId {
        /// The line.
        line: usize,
        /// The line that has it as well.
        first: usize,
        /// The id.
        id: String,
    },
    /// The items are too many or too large together.
    #[error(transparent)]
    Problem(#[from] ProblemError),
}

impl CsvError {
    /// What sort of error it is.
    pub fn kind(&self) -> tenure_layout::ErrorKind {
        tenure_layout::ErrorKind::Invalid
    }
}
