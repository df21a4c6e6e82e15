//! `safetensors`: tensors and their names, the format of Hugging Face.
//!
//! A file is eight bytes with the length of its head, the head in JSON, and then the tensors one
//! after the other, without gaps. What is written begins its tensors at a page of the file, so
//! that they can be mapped and used as they are; see [`save`].

pub(crate) mod head;
mod save;

#[cfg(test)]
mod tests;

pub use save::{Save, save};

use tenure_tensor::DType;

use crate::Elements;

/// The key that is no tensor.
const METADATA: &str = "__metadata__";
/// The longest head that the format allows.
const LONGEST: u64 = 100_000_000;

/// The format's words for our types.
const WORDS: [(&str, DType); 17] = [
    ("BOOL", DType::Bool),
    ("U8", DType::U8),
    ("I8", DType::I8),
    ("F8_E5M2", DType::F8E5M2),
    ("F8_E4M3", DType::F8E4M3),
    ("U16", DType::U16),
    ("I16", DType::I16),
    ("F16", DType::F16),
    ("BF16", DType::Bf16),
    ("U32", DType::U32),
    ("I32", DType::I32),
    ("F32", DType::F32),
    ("U64", DType::U64),
    ("I64", DType::I64),
    ("F64", DType::F64),
    ("F4", DType::F4E2M1),
    ("C64", DType::Complex64),
];

/// Types of the format that tensors do not have: elements and bytes of a block.
const OPAQUE: [(&str, usize, usize); 5] = [
    ("F8_E8M0", 1, 1),
    ("F8_E4M3FNUZ", 1, 1),
    ("F8_E5M2FNUZ", 1, 1),
    ("F6_E2M3", 4, 3),
    ("F6_E3M2", 4, 3),
];

fn elements(word: &str) -> Option<Elements> {
    if let Some((_, dtype)) = WORDS.iter().find(|row| row.0 == word) {
        return Some(Elements::Plain(*dtype));
    }
    let &(name, elements, bytes) = OPAQUE.iter().find(|row| row.0 == word)?;
    Some(Elements::blocks(name.to_ascii_lowercase(), elements, bytes))
}
