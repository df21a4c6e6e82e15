//! `gguf`: the format of llama.cpp, versions 2 and 3.
//!
//! After a head of keys with values come the names, shapes and offsets of tensors, and then the
//! tensors. Quantised types are blocks of bytes here ([`crate::Blocks`]): which they are and how
//! large is known, what is in them is the business of whoever computes with them.

mod types;
mod value;

#[cfg(test)]
mod tests;

use std::io::Read;

use crate::order::Order;
use crate::source::{self, Source, Stream};
use crate::{Catalogue, Entry, Error, Format, Result};
use value::Scalar;

/// What every file begins with.
pub(crate) const MAGIC: &[u8] = b"GGUF";
/// What offsets are multiples of unless the file says otherwise.
const ALIGNMENT: u64 = 32;
/// The key that says otherwise.
const ALIGNMENT_KEY: &str = "general.alignment";
/// More keys than this no file has.
const MOST_KEYS: u64 = 1 << 16;
/// More tensors than this no file has.
const MOST_TENSORS: u64 = 1 << 20;
/// The longest name or key.
const LONGEST_NAME: u64 = u16::MAX as u64;
/// More dimensions than this no tensor of the format has.
const MOST_DIMENSIONS: u32 = 4;
/// Bytes of the shortest description of a tensor: name, dimensions, type, offset.
const SHORTEST: u64 = 8 + 4 + 4 + 8;

pub(crate) fn read(source: &(impl Source + ?Sized)) -> Result<Catalogue> {
    let mut head = Head(Stream::new(source, 0, source.size()));
    if head.bytes::<4>()? != MAGIC {
        return Err(damaged("does not begin as one"));
    }
    let version = head.u32()?;
    if version.swap_bytes() <= 3 {
        return Err(damaged("is big-endian: convert it to little-endian, the usual order"));
    }
    if !(2..=3).contains(&version) {
        return Err(damaged(&format!("has version {version}: 2 and 3 are known")));
    }
    let (tensors, keys) = (head.u64()?, head.u64()?);
    let room = head.0.rest() / SHORTEST;
    if tensors > MOST_TENSORS.min(room) {
        return Err(damaged(&format!(
            "has {tensors} tensors: there is room for {room}, and at most {MOST_TENSORS} are read"
        )));
    }
    let (metadata, alignment) = head.metadata(keys)?;
    let described = (0..tensors).map(|_| head.tensor()).collect::<Result<Vec<_>>>()?;
    let start = head.0.position().checked_next_multiple_of(alignment);
    let start = start.filter(|_| !described.is_empty()).unwrap_or(head.0.position());
    let entries = place(described, start, alignment, source.size())?;
    Ok(Catalogue { format: Format::Gguf, entries, metadata, refused: vec![] })
}

/// What the head says of one tensor.
struct Described {
    name: String,
    shape: Vec<usize>,
    kind: u32,
    offset: u64,
}

/// Every tensor where its offset says, no two in one place.
fn place(described: Vec<Described>, start: u64, alignment: u64, size: u64) -> Result<Vec<Entry>> {
    let mut entries = Vec::with_capacity(described.len());
    for Described { name, shape, kind, offset } in described {
        let wrong = |what: &str| damaged(&format!("has tensor `{name}` {what}"));
        let elements = types::elements(kind)
            .ok_or_else(|| wrong(&format!("of type {kind}: {}", types::known())))?;
        if !offset.is_multiple_of(alignment) {
            return Err(wrong(&format!("at byte {offset}, no multiple of {alignment}")));
        }
        let at = start.checked_add(offset).ok_or_else(|| wrong("beyond every file's end"))?;
        let words = format!("{elements} {shape:?}");
        let entry = Entry::new(name.clone(), elements, shape, at)
            .ok_or_else(|| wrong(&format!("of {words}, which is no whole number of bytes")))?
            .in_order(Order::Little);
        let end = entry.end().ok_or_else(|| wrong("beyond every file's end"))?;
        if end > size {
            return Err(wrong(&format!("at bytes {at}..{end}, and is {size} bytes long")));
        }
        entries.push(entry);
    }
    entries.sort_by_key(|entry| (entry.offset, entry.end()));
    let meet = |pair: &&[Entry]| matches!(pair, [one, other] if one.end() > Some(other.offset));
    match entries.windows(2).find(meet) {
        Some([one, other]) => {
            let (one, other) = (&one.name, &other.name);
            Err(damaged(&format!("has tensors `{one}` and `{other}` in the same bytes")))
        }
        _ => Ok(entries),
    }
}

/// The head, from its beginning to its end.
struct Head<'a, S: ?Sized>(Stream<'a, S>);

impl<S: Source + ?Sized> Head<'_, S> {
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        if self.0.rest() < N as u64 {
            return Err(damaged("is cut off in its head"));
        }
        let at = self.0.position();
        self.0.read_exact(&mut bytes).map_err(|cause| Error::Read { at, cause })?;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.bytes()?))
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.bytes()?))
    }

    /// Text of at most so many bytes.
    fn text(&mut self, longest: u64) -> Result<String> {
        let length = self.u64()?;
        if length > longest.min(self.0.rest()) {
            return Err(damaged(&format!("has text of {length} bytes in its head")));
        }
        let at = self.0.position();
        let length = usize::try_from(length).unwrap_or(0);
        let mut bytes = source::zeros(length).map_err(|cause| Error::Read { at, cause })?;
        self.0.read_exact(&mut bytes).map_err(|cause| Error::Read { at, cause })?;
        String::from_utf8(bytes).map_err(|_| damaged("has text that is no UTF-8 in its head"))
    }

    /// All keys with their values in words, and what offsets are multiples of.
    fn metadata(&mut self, keys: u64) -> Result<(Vec<(String, String)>, u64)> {
        if keys > MOST_KEYS {
            return Err(damaged(&format!("has {keys} keys: at most {MOST_KEYS} are read")));
        }
        let (mut metadata, mut alignment) = (vec![], ALIGNMENT);
        for _ in 0..keys {
            let key = self.text(LONGEST_NAME)?;
            let kind = self.u32()?;
            let value = value::read(self, kind)?;
            if key == ALIGNMENT_KEY {
                alignment = match value {
                    Scalar::U32(said) if said.is_power_of_two() && said >= 8 => said.into(),
                    other => {
                        return Err(damaged(&format!(
                            "has {ALIGNMENT_KEY} {other}: a power of two from 8 on is one"
                        )));
                    }
                };
            }
            metadata.push((key, value.into_text()));
        }
        Ok((metadata, alignment))
    }

    fn tensor(&mut self) -> Result<Described> {
        let name = self.text(LONGEST_NAME)?;
        let dimensions = self.u32()?;
        if dimensions > MOST_DIMENSIONS {
            return Err(damaged(&format!(
                "has tensor `{name}` of {dimensions} dimensions: at most {MOST_DIMENSIONS} are \
                 possible"
            )));
        }
        let extent = |extent: Result<u64>| {
            let too_large = || damaged(&format!("has tensor `{name}` that is too large"));
            extent.and_then(|extent| usize::try_from(extent).map_err(|_| too_large()))
        };
        let mut shape = (0..dimensions).map(|_| extent(self.u64())).collect::<Result<Vec<_>>>()?;
        // The first is the fastest.
        shape.reverse();
        let (kind, offset) = (self.u32()?, self.u64()?);
        Ok(Described { name, shape, kind, offset })
    }
}

fn damaged(what: &str) -> Error {
    Error::from(crate::detail::Damaged { format: Format::Gguf.name(), what: what.to_owned() })
}
