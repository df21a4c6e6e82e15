//! What is in a file: its tensors, and what else it says.

use std::fmt;
use std::str::FromStr;

use crate::source::{self, Source};
use crate::{Entry, Error, Result, gguf, npy, npz, safetensors};

/// A format of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Tensors and their names, the format of Hugging Face.
    Safetensors,
    /// Models of llama.cpp, usually quantised.
    Gguf,
    /// One array of numpy.
    Npy,
    /// Several arrays of numpy.
    Npz,
    /// Bytes without a description.
    Raw,
}

const TABLE: [(Format, &str); 5] = [
    (Format::Safetensors, "safetensors"),
    (Format::Gguf, "gguf"),
    (Format::Npy, "npy"),
    (Format::Npz, "npz"),
    (Format::Raw, "raw"),
];

impl Format {
    /// Every format.
    pub fn all() -> impl Iterator<Item = Format> {
        TABLE.iter().map(|row| row.0)
    }

    /// The word for it, which is the usual ending of its files.
    pub fn name(self) -> &'static str {
        TABLE.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    /// The format that a file begins as.
    pub(crate) fn of(first: &[u8]) -> Option<Format> {
        if first.starts_with(gguf::MAGIC) {
            Some(Format::Gguf)
        } else if first.starts_with(npy::MAGIC_WORD) {
            Some(Format::Npy)
        } else if first.starts_with(b"PK\x03\x04") || first.starts_with(b"PK\x05\x06") {
            Some(Format::Npz)
        } else if first.get(8) == Some(&b'{') {
            Some(Format::Safetensors)
        } else {
            None
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(word: &str) -> Result<Format> {
        TABLE
            .iter()
            .find(|row| row.1.eq_ignore_ascii_case(word))
            .map(|row| row.0)
            .ok_or_else(|| Error::UnknownWord { word: word.to_owned() })
    }
}

/// A member of a file that is no tensor, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its name.
    pub name: String,
    /// Why it is none.
    pub why: String,
}

/// What is in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    pub(crate) format: Format,
    pub(crate) entries: Vec<Entry>,
    pub(crate) metadata: Vec<(String, String)>,
    pub(crate) refused: Vec<Refused>,
}

impl Catalogue {
    pub(crate) fn of(source: &(impl Source + ?Sized), format: Format) -> Result<Catalogue> {
        let catalogue = match format {
            Format::Safetensors => safetensors::head::read(source)?,
            Format::Gguf => gguf::read(source)?,
            Format::Npy => npy::catalogue(source)?,
            Format::Npz => npz::read(source)?,
            Format::Raw => raw(source)?,
        };
        let mut names: Vec<&str> =
            catalogue.entries.iter().map(|entry| entry.name.as_str()).collect();
        names.sort_unstable();
        let twice = |pair: &&[&str]| matches!(pair, [one, other] if one == other);
        if let Some([name, _]) = names.windows(2).find(twice) {
            return Err(damaged(format, format!("has two tensors `{name}`")));
        }
        Ok(catalogue)
    }

    /// The format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The tensors, in the order of their bytes.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What else the file says: names and values, in its order.
    pub fn metadata(&self) -> &[(String, String)] {
        &self.metadata
    }

    /// Members that are no tensors.
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }
}

/// What is in the bytes of a file.
///
/// ```
/// use tenure_files::{Format, catalogue, npy};
/// use tenure_tensor::Tensor;
/// let mut file = vec![];
/// npy::write(&mut file, &Tensor::<f32>::from_slice(&[1.0, 2.0], &[2])?)?;
/// let found = catalogue(&file, None)?;
/// assert_eq!(found.format(), Format::Npy);
/// assert_eq!((found.entries()[0].shape(), found.entries()[0].offset()), (&[2][..], 128));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If it is of no known format, or not as its format asks for.
pub fn catalogue(bytes: &[u8], format: Option<Format>) -> Result<Catalogue> {
    let format = match format {
        Some(format) => format,
        None => detect(bytes)?,
    };
    Catalogue::of(bytes, format)
}

/// The format of a file, by what it begins with.
pub(crate) fn detect(source: &(impl Source + ?Sized)) -> Result<Format> {
    let first = source::bytes(source, 0, source.size().min(9))?.unwrap_or_default();
    Format::of(&first).ok_or_else(|| Error::UnknownFormat { begins: begins(&first) })
}

fn begins(first: &[u8]) -> String {
    let bytes = first.get(..8.min(first.len())).unwrap_or_default();
    if bytes.is_empty() { "nothing".to_owned() } else { format!("`{}`", bytes.escape_ascii()) }
}

/// All bytes as one tensor of `u8`.
fn raw(source: &(impl Source + ?Sized)) -> Result<Catalogue> {
    let too_large = || damaged(Format::Raw, "is larger than memory can be".to_owned());
    let size = usize::try_from(source.size()).map_err(|_| too_large())?;
    let elements = crate::Elements::Plain(tenure_tensor::DType::U8);
    let entry = Entry::new(String::from("data"), elements, vec![size], 0).ok_or_else(too_large)?;
    Ok(Catalogue { format: Format::Raw, entries: vec![entry], metadata: vec![], refused: vec![] })
}

pub(crate) fn damaged(format: Format, what: String) -> Error {
    Error::from(crate::detail::Damaged { format: format.name(), what })
}
