//! Colour descriptions and where chroma lies, in the words that the command has for them.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use tenure::TensorDyn;
use tenure::image::Siting;
use tenure::layout::{Colour, ColourMatrix, ColourRange};

use crate::fail::Answer;

const MATRICES: [(&str, ColourMatrix); 3] = [
    ("bt601", ColourMatrix::Bt601),
    ("bt709", ColourMatrix::Bt709),
    ("bt2020", ColourMatrix::Bt2020),
];

const RANGES: [(&str, ColourRange); 2] =
    [("limited", ColourRange::Limited), ("full", ColourRange::Full)];

const SITINGS: [(&str, Siting); 2] = [("centre", Siting::Centre), ("left", Siting::Left)];

/// Matrix and range.
pub(crate) type Words = (&'static str, &'static str);

/// What a word means.
fn meant<T: Copy>(what: &str, word: &str, known: &[(&str, T)]) -> Answer<T> {
    let found = known.iter().find(|row| row.0 == word).map(|row| row.1);
    found.ok_or_else(|| {
        let known: Vec<_> = known.iter().map(|row| row.0).collect();
        let message = format!("unknown {what} {word:?}: {} are known", known.join(", "));
        PyValueError::new_err(message).into()
    })
}

/// The word for what is meant. Every value that there is has one.
fn word<T: PartialEq>(value: T, known: &[(&'static str, T)]) -> &'static str {
    known.iter().find(|row| row.1 == value).map_or("", |row| row.0)
}

/// Both words of a description.
pub(crate) fn words(colour: Colour) -> Words {
    (word(colour.matrix, &MATRICES), word(colour.range, &RANGES))
}

/// The description of a pair of words.
pub(crate) fn colour(given: &Bound<'_, PyAny>) -> Answer<Colour> {
    let Ok((matrix, range)) = given.extract::<(String, String)>() else {
        let message = format!(
            "a colour is a matrix and a range, (\"bt709\", \"limited\") say, not {given:?}"
        );
        return Err(PyTypeError::new_err(message).into());
    };
    let mut colour = Colour::JPEG;
    colour.matrix = meant("matrix", &matrix, &MATRICES)?;
    colour.range = meant("range", &range, &RANGES)?;
    Ok(colour)
}

pub(crate) fn siting(word: &str) -> Answer<Siting> {
    meant("siting", word, &SITINGS)
}

/// The same tensor with this matrix, this range, or both. What is not said is that of the tensor,
/// or, if it has none, that of JPEG.
pub(crate) fn with(
    tensor: &TensorDyn,
    matrix: Option<&str>,
    range: Option<&str>,
) -> Answer<TensorDyn> {
    if matrix.is_none() && range.is_none() {
        let message = "a colour has a matrix and a range: give one of them, or both";
        return Err(PyValueError::new_err(message).into());
    }
    let mut colour = tensor.colour().unwrap_or(Colour::JPEG);
    if let Some(matrix) = matrix {
        colour.matrix = meant("matrix", matrix, &MATRICES)?;
    }
    if let Some(range) = range {
        colour.range = meant("range", range, &RANGES)?;
    }
    Ok(tensor.clone().with_colour(colour))
}
