//! Reading an array: what [`super::write`] writes, and what numpy writes of numbers that it keeps
//! in the order of their indices (versions 1 to 3). Nothing is allocated before the header agrees
//! with the number of bytes that are there.

use tenure_tensor::{DType, DynTensor, TensorDyn, TensorMemory};

use crate::order::{Order, reverse};
use crate::source::{self, Source};
use crate::{Catalogue, Elements, Entry, Error, Format, Result};

mod header;

#[cfg(test)]
mod tests;

use header::Header;

/// What every file begins with, before its version.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";
/// A header longer than this is none of a tensor's.
const LONGEST: usize = 1 << 16;
/// Bytes in which a header ends: magic word, version, length, words.
pub(crate) const LONGEST_HEAD: u64 = 12 + LONGEST as u64;

/// Reads the bytes of an npy file into a tensor in the memory named, or the best there is.
///
/// ```
/// use tenure_files::npy;
/// use tenure_tensor::Tensor;
/// let t = Tensor::<f32>::from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
/// let mut file = vec![];
/// npy::write(&mut file, &t)?;
/// let back = npy::read(&file, None)?.typed::<f32>()?;
/// assert_eq!((back.shape(), back.map_read()?.as_slice()[4]), (&[2, 3][..], 5.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Damaged`] if it is no npy file, is cut off, or has an array that tensors are not:
/// structures, text, Fortran's order of indices. And if no memory serves.
pub fn read(bytes: &[u8], memory: Option<TensorMemory>) -> Result<TensorDyn> {
    let (words, elements) = parts(bytes)?;
    let header = Header::parse(words)?;
    if header.fortran {
        return Err(damaged("is in Fortran's order: save numpy.ascontiguousarray(a)"));
    }
    let (dtype, order) = dtype(&header.descr)?;
    let size = dtype.size().unwrap_or(0);
    let count = header.shape.iter().try_fold(size, |bytes, &extent| bytes.checked_mul(extent));
    if count != Some(elements.len()) {
        let (have, shape) = (elements.len(), &header.shape);
        return Err(damaged(&format!("has {have} bytes of elements for {dtype} {shape:?}")));
    }
    let tensor = TensorDyn::new(&header.shape, dtype, memory, None)?;
    if !elements.is_empty() {
        let mut guard = tensor.map()?;
        guard.as_mut_slice().copy_from_slice(elements);
        reverse(guard.as_mut_slice(), order.reversed(dtype));
    }
    Ok(tensor)
}

/// What is in a file.
pub(crate) fn catalogue(source: &(impl Source + ?Sized)) -> Result<Catalogue> {
    let size = source.size();
    let head = source::bytes(source, 0, size.min(LONGEST_HEAD))?.unwrap_or_default();
    let entries = vec![entry(String::from("data"), &head, size)?];
    Ok(Catalogue { format: Format::Npy, entries, metadata: vec![], refused: vec![] })
}

/// The array of a file of `size` bytes that begins with `head`.
pub(crate) fn entry(name: String, head: &[u8], size: u64) -> Result<Entry> {
    let (words, rest) = parts(head)?;
    let Header { descr, fortran, mut shape } = Header::parse(words)?;
    let offset = (head.len() - rest.len()) as u64;
    let (elements, order) = elements(&descr)?;
    // Blocks have no order but that of their bytes.
    let turned = fortran && shape.iter().filter(|extent| **extent > 1).count() > 1;
    if turned && matches!(elements, Elements::Blocks(_)) {
        return Err(damaged("is in Fortran's order: save numpy.ascontiguousarray(a)"));
    }
    if turned {
        shape.reverse();
    }
    let have = size.saturating_sub(offset);
    let disagree =
        |shape: &[usize]| damaged(&format!("has {have} bytes of elements for {descr} {shape:?}"));
    let entry = Entry::new(name, elements, shape.clone(), offset);
    let mut entry = entry.ok_or_else(|| disagree(&shape))?.in_order(order);
    if entry.bytes() as u64 != have {
        return Err(disagree(&entry.shape));
    }
    if turned {
        entry.shape.reverse();
        entry.fortran = true;
    }
    Ok(entry)
}

/// What elements are, and the order of their bytes: numbers, or blocks of what tensors do not have
/// (times, text). Objects of Python are neither, and long complex numbers would be taken for bytes.
fn elements(descr: &str) -> Result<(Elements, Order)> {
    let unknown = match dtype(descr) {
        Ok((dtype, order)) => return Ok((Elements::Plain(dtype), order)),
        Err(unknown) => unknown,
    };
    let (order, word) = descr.split_at_checked(1).unwrap_or_default();
    let (kind, size) = word.split_at_checked(1).unwrap_or_default();
    let size = size.split_once('[').map_or(size, |(size, _)| size);
    let size = match (order, size.parse::<usize>()) {
        ("<" | ">" | "|" | "=", Ok(size)) if size > 0 => size,
        _ => return Err(unknown),
    };
    let blocks = match kind {
        "c" => Err(damaged(&format!(
            "has complex elements, `{descr}`, of other parts than f32 and f64: save \
             a.astype(\"complex128\")"
        ))),
        "i" | "u" | "f" | "m" | "M" | "S" | "V" => Ok(Elements::blocks(descr, 1, size)),
        // Four bytes for a character.
        "U" => size.checked_mul(4).map(|size| Elements::blocks(descr, 1, size)).ok_or(unknown),
        _ => Err(unknown),
    };
    // As the file has them; their name says in which order.
    Ok((blocks?, Order::NATIVE))
}

/// The words of the header, and the elements.
fn parts(bytes: &[u8]) -> Result<(&str, &[u8])> {
    let cut = || damaged("is cut off in its header");
    let after = bytes.strip_prefix(MAGIC).ok_or_else(|| damaged("does not begin as one"))?;
    let (version, after) = after.split_first_chunk::<2>().ok_or_else(cut)?;
    let (length, after) = match version {
        [1, 0] => {
            let (length, after) = after.split_first_chunk::<2>().ok_or_else(cut)?;
            (usize::from(u16::from_le_bytes(*length)), after)
        }
        [2 | 3, 0] => {
            let (length, after) = after.split_first_chunk::<4>().ok_or_else(cut)?;
            (usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX), after)
        }
        [major, minor] => {
            return Err(damaged(&format!("has version {major}.{minor}: 1.0 to 3.0 are known")));
        }
    };
    if length > LONGEST {
        return Err(damaged(&format!(
            "has a header of {length} bytes: at most {LONGEST} are read"
        )));
    }
    let (words, elements) = after.split_at_checked(length).ok_or_else(cut)?;
    let words = std::str::from_utf8(words).map_err(|_| damaged("has a header that is no text"))?;
    Ok((words, elements))
}

/// The element type of numpy's word for it, and the order of its bytes.
fn dtype(descr: &str) -> Result<(DType, Order)> {
    let unknown = || {
        let known = "truth values, and integers, floats and parts of complex numbers of at most 8 \
                     bytes are known";
        damaged(&format!("has elements of `{descr}`: {known}"))
    };
    let (order, word) = descr.split_at_checked(1).ok_or_else(unknown)?;
    let order = match order {
        "<" => Order::Little,
        ">" => Order::Big,
        // Of the machine that wrote it, which nothing tells; numpy writes no such word.
        "=" => Order::NATIVE,
        "|" if word.ends_with('1') => Order::NATIVE,
        _ => return Err(unknown()),
    };
    let dtype = match word {
        "b1" => DType::Bool,
        "u1" => DType::U8,
        "i1" => DType::I8,
        "u2" => DType::U16,
        "i2" => DType::I16,
        "u4" => DType::U32,
        "i4" => DType::I32,
        "u8" => DType::U64,
        "i8" => DType::I64,
        "f2" => DType::F16,
        "f4" => DType::F32,
        "f8" => DType::F64,
        "c8" => DType::Complex64,
        "c16" => DType::Complex128,
        _ => return Err(unknown()),
    };
    Ok((dtype, order))
}

fn damaged(what: &str) -> Error {
    Error::from(crate::detail::Damaged { format: "npy", what: what.to_owned() })
}
