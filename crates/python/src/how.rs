//! The keywords of conversions: what happens between the source and the destination.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use tenure::Region;
use tenure::image::{Convert, Fit, Normalize, Rotation};

use crate::colour;
use crate::fail::Answer;

/// x, y, width, height.
pub(crate) type Rectangle = (usize, usize, usize, usize);

pub(crate) fn region((x, y, width, height): Rectangle) -> Region {
    Region::new(x, y, width, height)
}

/// The values of keywords that are said together, at first as they are if nothing is said.
struct Said {
    fit: String,
    fill: [u8; 4],
    flips: (bool, bool),
    normalize: Normalize,
}

/// What the keywords say; the usual where they say nothing.
pub(crate) fn convert(words: Option<&Bound<'_, PyDict>>) -> Answer<Convert> {
    let mut how = Convert::new();
    let mut said = Said {
        fit: "stretch".to_owned(),
        fill: [114, 114, 114, 255],
        flips: (false, false),
        normalize: Normalize::NONE,
    };
    // A list of them: to read a value may run code that changes the dictionary.
    for item in words.iter().flat_map(|words| words.items()) {
        let (word, value): (Bound<'_, PyString>, Bound<'_, PyAny>) = item.extract()?;
        how = set(how, &mut said, word.to_str()?, &value)?;
    }
    let (horizontal, vertical) = said.flips;
    Ok(how.fit(fit(&said.fit, said.fill)?).flips(horizontal, vertical).normalize(said.normalize))
}

/// One keyword.
fn set(how: Convert, said: &mut Said, word: &str, value: &Bound<'_, PyAny>) -> Answer<Convert> {
    let some = || Some(value).filter(|value| !value.is_none());
    match word {
        "crop" => return Ok(how.crop(get::<Option<Rectangle>>(word, value)?.map(region))),
        "into" => return Ok(how.into(get::<Option<Rectangle>>(word, value)?.map(region))),
        "rotation" => return Ok(how.rotation(Rotation::from_degrees(get(word, value)?)?)),
        "filter" => return Ok(how.filter(get::<String>(word, value)?.parse()?)),
        "colour" => return Ok(how.colour(some().map(colour::colour).transpose()?)),
        "siting" => {
            let siting = get::<Option<String>>(word, value)?;
            return Ok(how.siting(siting.map(|word| colour::siting(&word)).transpose()?));
        }
        "fit" => said.fit = get(word, value)?,
        "fill" => said.fill = get(word, value)?,
        "flip_horizontal" => said.flips.0 = get(word, value)?,
        "flip_vertical" => said.flips.1 = get(word, value)?,
        "scale" => said.normalize.scale = get(word, value)?,
        "mean" => said.normalize.mean = get(word, value)?,
        "std" => said.normalize.std = get(word, value)?,
        "quantize" => said.normalize.quantize = get(word, value)?,
        _ => {
            let message = format!("a conversion has no argument {word}");
            return Err(PyTypeError::new_err(message).into());
        }
    }
    Ok(how)
}

/// The value of a keyword, or an exception that names it, as Python's own do.
fn get<'py, T>(word: &str, value: &Bound<'py, PyAny>) -> Answer<T>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    value.extract::<T>().map_err(|error| {
        let (py, error): (_, PyErr) = (value.py(), error.into());
        if !error.is_instance_of::<PyTypeError>(py) {
            return error.into();
        }
        PyTypeError::new_err(format!("argument '{word}': {}", error.value(py))).into()
    })
}

fn fit(word: &str, fill: [u8; 4]) -> Answer<Fit> {
    match word {
        "stretch" => Ok(Fit::Stretch),
        "letterbox" => Ok(Fit::Letterbox { fill }),
        "cover" => Ok(Fit::Cover),
        _ => {
            let message = format!("unknown fit {word:?}: stretch, letterbox and cover are known");
            Err(PyValueError::new_err(message).into())
        }
    }
}
