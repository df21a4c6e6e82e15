//! The head of a safetensors file: a JSON object with one key for each tensor.
//!
//! Read by hand and not with the crate `safetensors`, which the tests compare with: that one takes
//! the last of two tensors of one name, puts all of the JSON into a tree before it looks at it,
//! and wants the whole file as one slice, of which it takes text; a mapped file may change.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use tenure_layout::MAX_RANK;

use super::{LONGEST, METADATA, OPAQUE, WORDS, elements};
use crate::order::Order;
use crate::source::{self, Source};
use crate::{Catalogue, Entry, Error, Format, Result};

/// More metadata than this is none: a table of strings, not of data.
const MOST_METADATA: usize = 1 << 16;

pub(crate) fn read(source: &(impl Source + ?Sized)) -> Result<Catalogue> {
    let too_short = || damaged("is too short for the length of its head");
    let length = source::bytes(source, 0, 8)?.ok_or_else(too_short)?;
    let length = u64::from_le_bytes(length.try_into().map_err(|_| too_short())?);
    if length > LONGEST {
        return Err(damaged(&format!(
            "has a head of {length} bytes: at most {LONGEST} are allowed"
        )));
    }
    let Some(words) = source::bytes(source, 8, length)? else {
        let size = source.size();
        return Err(damaged(&format!("has a head of {length} bytes and is {size} bytes long")));
    };
    let Head { tensors, metadata } = parse(&words)?;
    let start = 8 + length;
    let entries = place(tensors, start, source.size() - start)?;
    Ok(Catalogue { format: Format::Safetensors, entries, metadata, refused: vec![] })
}

/// What the JSON says.
#[derive(Debug, Default)]
struct Head {
    tensors: Vec<(String, Described)>,
    metadata: Vec<(String, String)>,
}

/// What it says of one tensor.
#[derive(Debug, Deserialize)]
struct Described {
    dtype: String,
    shape: Shape,
    data_offsets: (u64, u64),
}

fn parse(words: &[u8]) -> Result<Head> {
    if words.first() != Some(&b'{') {
        return Err(damaged("has a head that does not begin with `{`"));
    }
    let words = std::str::from_utf8(words).map_err(|_| damaged("has a head that is no UTF-8"))?;
    serde_json::from_str(words)
        .map_err(|wrong| damaged(&format!("has a head that makes no sense: {wrong}")))
}

/// Every tensor where its offsets say, which must follow each other to the end of the file.
fn place(mut tensors: Vec<(String, Described)>, start: u64, size: u64) -> Result<Vec<Entry>> {
    tensors.sort_unstable_by(|(name, one), (other_name, other)| {
        (one.data_offsets, name).cmp(&(other.data_offsets, other_name))
    });
    let (mut entries, mut at) = (Vec::with_capacity(tensors.len()), 0);
    for (name, Described { dtype, shape: Shape(shape), data_offsets: (begin, end) }) in tensors {
        if end < begin || end > size {
            return Err(damaged(&format!(
                "has tensor `{name}` at bytes {begin}..{end} of {size} bytes of tensors"
            )));
        }
        if begin != at {
            let what = if begin < at {
                "shares bytes with the one before it"
            } else {
                "has bytes \
                of no tensor before it"
            };
            return Err(damaged(&format!(
                "has tensor `{name}` at bytes {begin}..{end}, which {what}"
            )));
        }
        let elements = elements(&dtype).ok_or_else(|| unknown(&name, &dtype))?;
        let entry = Entry::new(name, elements, shape, start + begin);
        let entry = entry.ok_or_else(|| {
            damaged(&format!(
                "has a tensor at bytes {begin}..{end} whose shape has no such elements as {dtype}"
            ))
        })?;
        let entry = entry.in_order(Order::Little);
        if entry.bytes() as u64 != end - begin {
            let (name, shape, bytes) = (&entry.name, &entry.shape, end - begin);
            return Err(damaged(&format!(
                "has {bytes} bytes for tensor `{name}`, {dtype} {shape:?}"
            )));
        }
        at = end;
        entries.push(entry);
    }
    if at == size {
        Ok(entries)
    } else {
        Err(damaged(&format!("has {} bytes after its last tensor", size - at)))
    }
}

fn unknown(name: &str, dtype: &str) -> Error {
    let words = WORDS.iter().map(|row| row.0).chain(OPAQUE.iter().map(|row| row.0));
    let words = words.collect::<Vec<_>>().join(", ");
    damaged(&format!("has tensor `{name}` of type `{dtype}`: known are {words}"))
}

pub(super) fn damaged(what: &str) -> Error {
    Error::from(crate::detail::Damaged {
        format: Format::Safetensors.name(),
        what: what.to_owned(),
    })
}

impl<'de> Deserialize<'de> for Head {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Head, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Head;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with one key for each tensor")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Head, A::Error> {
                let mut head = Head::default();
                let mut described = false;
                while let Some(key) = map.next_key::<String>()? {
                    if key != METADATA {
                        head.tensors.push((key, map.next_value()?));
                    } else if std::mem::replace(&mut described, true) {
                        return Err(A::Error::duplicate_field(METADATA));
                    } else {
                        head.metadata = map.next_value_seed(Metadata)?;
                    }
                }
                Ok(head)
            }
        }
        from.deserialize_map(Keys)
    }
}

/// A bounded object of strings.
struct Metadata;

impl<'de> DeserializeSeed<'de> for Metadata {
    type Value = Vec<(String, String)>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Metadata {
    type Value = Vec<(String, String)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of strings")
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(vec![])
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(vec![])
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_map(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut all: Self::Value = vec![];
        while let Some(pair) = map.next_entry()? {
            if all.len() == MOST_METADATA {
                return Err(A::Error::custom("more than 65536 keys of metadata"));
            }
            all.push(pair);
        }
        Ok(all)
    }
}

/// A bounded list of numbers.
#[derive(Debug)]
struct Shape(Vec<usize>);

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Shape, D::Error> {
        struct Numbers;
        impl<'de> Visitor<'de> for Numbers {
            type Value = Shape;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "at most {MAX_RANK} numbers")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Shape, A::Error> {
                let mut shape = vec![];
                while let Some(extent) = list.next_element()? {
                    if shape.len() == MAX_RANK {
                        return Err(A::Error::invalid_length(MAX_RANK + 1, &self));
                    }
                    shape.push(extent);
                }
                Ok(Shape(shape))
            }
        }
        from.deserialize_seq(Numbers)
    }
}
