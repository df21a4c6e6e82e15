//! Writing a safetensors file.

use std::cmp::Reverse;
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Map, Value, json};
use tenure_tensor::{DType, Layout, TensorDyn};

use super::{LONGEST, METADATA, WORDS};
use crate::flat::{self, Elements};
use crate::order::Order;
use crate::whole::{self, Existing};
use crate::{Error, Format, Result};

/// Where tensors begin is a multiple of this: a page, on every machine that has small ones.
const PAGE: usize = 4096;

/// What is saved besides the tensors, and how.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
#[must_use = "options do nothing until save() is given them"]
pub struct Save {
    /// Names and values that the file has besides.
    pub metadata: Vec<(String, String)>,
}

/// Saves tensors as a file, which is there when this returns, whole and on the disk, or is what it
/// was before. Says how many bytes it has.
///
/// The first tensor begins at a page of the file. The format allows no gaps, so tensors are in the
/// order of the largest power of two that divides their bytes: each begins at a multiple of its
/// own, and what is a multiple of 64 bytes, as weights nearly always are, can be used by anybody
/// without a copy.
///
/// ```
/// use tenure_files::{open, safetensors};
/// use tenure_tensor::Tensor;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model.safetensors");
/// let (bias, weight) = (Tensor::<f32>::from_slice(&[0.5], &[1])?, Tensor::<f32>::from_slice(&[1.0; 32], &[4, 8])?);
/// safetensors::save(&path, &[("bias", bias.to_dyn()), ("weight", weight.to_dyn())], &Default::default())?;
/// let file = open(&path)?;
/// assert_eq!(file.entry("weight")?.offset(), 4096);
/// assert_eq!(file.tensor("bias")?.typed::<f32>()?.map_read()?.as_slice(), [0.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::NoSuchType`] for types that the format does not have (integers of 4 bits), names that
/// are there twice or mean something else, if a tensor cannot be read, and what the system says:
/// no space, no such folder.
pub fn save(path: impl AsRef<Path>, tensors: &[(&str, TensorDyn)], how: &Save) -> Result<u64> {
    let path = path.as_ref();
    let order = in_order(tensors)?;
    let head = head(&order, how)?;
    whole::write_durably(path, Existing::Replace, |out| {
        out.write_all(&head)?;
        for Placed { tensor, .. } in &order {
            Elements::hold(flat::together(tensor)?)?.write(out, Order::Little)?;
        }
        Ok::<(), Error>(())
    })
    .map_err(|error| error.at(path))
}

/// A tensor and how it will lie in the file.
struct Placed<'a> {
    name: &'a str,
    tensor: &'a TensorDyn,
    layout: Layout,
}

/// The tensors in the order in which each begins at a multiple of what its bytes are one of.
fn in_order<'a>(tensors: &'a [(&'a str, TensorDyn)]) -> Result<Vec<Placed<'a>>> {
    let placed = |(name, tensor): &'a (&'a str, TensorDyn)| {
        Ok(Placed { name, tensor, layout: flat::layout(tensor)? })
    };
    let mut order = tensors.iter().map(placed).collect::<Result<Vec<_>>>()?;
    order.sort_by_key(|placed| placed.name);
    let twice = |pair: &&[Placed<'_>]| matches!(pair, [one, other] if one.name == other.name);
    if let Some([Placed { name, .. }, _]) = order.windows(2).find(twice) {
        return Err(Error::TwoOfOneName { name: String::from(*name) });
    }
    order.sort_by_key(|placed| Reverse(placed.layout.packed_bytes().trailing_zeros()));
    Ok(order)
}

/// Length and JSON, with spaces up to a page.
fn head(order: &[Placed<'_>], how: &Save) -> Result<Vec<u8>> {
    let mut object = Map::new();
    if !how.metadata.is_empty() {
        let pairs = how.metadata.iter().map(|(key, value)| (key.clone(), json!(value)));
        object.insert(METADATA.to_owned(), Value::Object(pairs.collect()));
    }
    let mut at = 0usize;
    for Placed { name, layout, .. } in order {
        if *name == METADATA {
            let (format, name) = (Format::Safetensors.name(), METADATA.to_owned());
            return Err(Error::from(crate::detail::ReservedName { format, name }));
        }
        let end = at.checked_add(layout.packed_bytes()).ok_or_else(too_large)?;
        let described = json!({
            "dtype": word(layout.dtype())?,
            "shape": layout.shape(),
            "data_offsets": [at, end],
        });
        object.insert(String::from(*name), described);
        at = end;
    }
    let words = serde_json::to_vec(&object).map_err(io::Error::from)?;
    let length = (8 + words.len()).next_multiple_of(PAGE) - 8;
    if length as u64 > LONGEST {
        return Err(too_large());
    }
    let mut head = (length as u64).to_le_bytes().to_vec();
    head.extend(words);
    head.resize(8 + length, b' ');
    Ok(head)
}

fn too_large() -> Error {
    let what = "is too large to be written: divide it into several".to_owned();
    Error::from(crate::detail::Damaged { format: Format::Safetensors.name(), what })
}

/// The format's word for an element type.
fn word(dtype: DType) -> Result<&'static str> {
    let instead = match dtype {
        DType::U4 => "convert to u8, which holds every value",
        DType::Complex128 => "view the elements as pairs of f64, or convert to complex64",
        _ => "convert to i8, which holds every value",
    };
    let missing = || {
        Error::from(crate::detail::NoSuchType {
            format: Format::Safetensors.name(),
            dtype,
            instead,
        })
    };
    WORDS.iter().find(|row| row.1 == dtype).map(|row| row.0).ok_or_else(missing)
}
