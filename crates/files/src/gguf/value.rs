//! Values of keys, in words. Lists are passed over and only counted: those of a tokenizer are
//! longer than everything else in a head together.

use std::fmt;

use super::{Head, damaged};
use crate::Result;
use crate::source::Source;

/// Text longer than this is only counted.
const LONGEST: u64 = 1 << 20;
/// Lists in lists in lists.
const DEEPEST: usize = 4;
/// The number of the type of lists, and of text.
const LIST: u32 = 9;
const TEXT: u32 = 8;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar {
    U32(u32),
    Unsigned(u64),
    Signed(i64),
    Real(f64),
    Truth(bool),
    Text(String),
    List { of: &'static str, count: u64 },
}

impl Scalar {
    /// In words. A text is not copied: it may be long.
    pub(super) fn into_text(self) -> String {
        match self {
            Scalar::Text(text) => text,
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::U32(value) => write!(f, "{value}"),
            Scalar::Unsigned(value) => write!(f, "{value}"),
            Scalar::Signed(value) => write!(f, "{value}"),
            Scalar::Real(value) => write!(f, "{value}"),
            Scalar::Truth(value) => write!(f, "{value}"),
            Scalar::Text(text) => f.write_str(text),
            Scalar::List { of, count } => write!(f, "[{count} x {of}]"),
        }
    }
}

pub(super) fn read<S: Source + ?Sized>(head: &mut Head<'_, S>, kind: u32) -> Result<Scalar> {
    Ok(match kind {
        0 => Scalar::Unsigned(u8::from_le_bytes(head.bytes()?).into()),
        1 => Scalar::Signed(i8::from_le_bytes(head.bytes()?).into()),
        2 => Scalar::Unsigned(u16::from_le_bytes(head.bytes()?).into()),
        3 => Scalar::Signed(i16::from_le_bytes(head.bytes()?).into()),
        4 => Scalar::U32(head.u32()?),
        5 => Scalar::Signed(i32::from_le_bytes(head.bytes()?).into()),
        6 => Scalar::Real(f32::from_le_bytes(head.bytes()?).into()),
        7 => match head.bytes()? {
            [0] => Scalar::Truth(false),
            [1] => Scalar::Truth(true),
            [other] => return Err(damaged(&format!("has a truth value of {other}"))),
        },
        TEXT => Scalar::Text(head.text(LONGEST)?),
        LIST => {
            let (of, count) = pass_list(head, 1)?;
            Scalar::List { of, count }
        }
        10 => Scalar::Unsigned(head.u64()?),
        11 => Scalar::Signed(i64::from_le_bytes(head.bytes()?)),
        12 => Scalar::Real(f64::from_le_bytes(head.bytes()?)),
        _ => return Err(unknown(kind)),
    })
}

/// Passes over a list; says what was in it.
fn pass_list<S: Source + ?Sized>(
    head: &mut Head<'_, S>,
    depth: usize,
) -> Result<(&'static str, u64)> {
    let (kind, count) = (head.u32()?, head.u64()?);
    let (name, size) = match kind {
        0 => ("u8", 1),
        1 => ("i8", 1),
        2 => ("u16", 2),
        3 => ("i16", 2),
        4 => ("u32", 4),
        5 => ("i32", 4),
        6 => ("f32", 4),
        7 => ("bool", 1),
        10 => ("u64", 8),
        11 => ("i64", 8),
        12 => ("f64", 8),
        TEXT => {
            for _ in 0..count {
                let length = head.u64()?;
                pass(head, Some(length))?;
            }
            return Ok(("text", count));
        }
        LIST if depth < DEEPEST => {
            for _ in 0..count {
                pass_list(head, depth + 1)?;
            }
            return Ok(("list", count));
        }
        LIST => return Err(damaged(&format!("has lists in lists, deeper than {DEEPEST}"))),
        _ => return Err(unknown(kind)),
    };
    pass(head, count.checked_mul(size))?;
    Ok((name, count))
}

fn pass<S: Source + ?Sized>(head: &mut Head<'_, S>, bytes: Option<u64>) -> Result<()> {
    if bytes.is_some_and(|bytes| head.0.skip(bytes)) {
        Ok(())
    } else {
        Err(damaged("is cut off in its head"))
    }
}

fn unknown(kind: u32) -> crate::Error {
    damaged(&format!("has a value of type {kind}: 0 to 12 are known"))
}
