//! Protocol buffers' wire format over a slice: fields are handed out where they lie.
//!
//! Nothing is copied and every length is checked against what is left of the message around it.
//! Bytes of the file that were not read are holes: fields pass over them, and find nothing there.

use super::error::WireFault;
use super::skim::Skeleton;
use crate::{Error, Result};

/// One message: its bytes, and where in the file they begin and end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message<'a> {
    bytes: &'a [u8],
    offset: u64,
    end: u64,
    /// Those of the whole file.
    holes: &'a [Hole],
}

/// Bytes of the file that were not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hole {
    /// Where in the file they begin.
    pub(crate) offset: u64,
    /// How many they are.
    pub(crate) len: u64,
    /// How many were left out before.
    pub(crate) before: u64,
}

/// The content of one field.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Content<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(Message<'a>),
}

/// One field: its number, where it begins, and its content.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<'a> {
    pub(crate) number: u64,
    pub(crate) offset: u64,
    pub(crate) content: Content<'a>,
}

impl<'a> Message<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Message<'a> {
        Message { bytes, offset: 0, end: bytes.len() as u64, holes: &[] }
    }

    pub(crate) fn with_holes(skeleton: &'a Skeleton) -> Message<'a> {
        let Skeleton { bytes, holes, len } = skeleton;
        Message { bytes, offset: 0, end: *len, holes }
    }

    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The fields, in the order of the file.
    pub(crate) fn fields(self) -> Fields<'a> {
        Fields { rest: self }
    }

    /// The whole message as a name.
    pub(crate) fn text(self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes)
            .map_err(|_| Error::Wire { offset: self.offset, fault: WireFault::NotUtf8 })
    }

    fn take(&mut self, len: u64) -> Result<Message<'a>> {
        let left = self.end - self.offset;
        let here = len.checked_sub(self.missing(len)).and_then(|len| usize::try_from(len).ok());
        let split = here.and_then(|here| self.bytes.split_at_checked(here));
        let Some((head, tail)) = split.filter(|_| len <= left) else {
            return Err(self.fault(WireFault::Length { len, left }));
        };
        let taken = Message { bytes: head, end: self.offset + len, ..*self };
        self.bytes = tail;
        self.offset += len;
        Ok(taken)
    }

    /// How many of the next bytes were not read.
    fn missing(&self, len: u64) -> u64 {
        if self.holes.is_empty() {
            return 0;
        }
        self.missing_before(self.offset.saturating_add(len)) - self.missing_before(self.offset)
    }

    fn missing_before(&self, offset: u64) -> u64 {
        let next = self.holes.partition_point(|hole| hole.offset < offset);
        let last = next.checked_sub(1).and_then(|last| self.holes.get(last));
        last.map_or(0, |hole| hole.before + hole.len.min(offset - hole.offset))
    }

    /// The next base-128 number, which `take`s its bytes.
    pub(crate) fn varint(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for (index, &byte) in self.bytes.iter().take(10).enumerate() {
            let low = u64::from(byte & 0x7f);
            if index == 9 && byte > 1 {
                break;
            }
            value |= low << (7 * index);
            if byte < 0x80 {
                self.take(index as u64 + 1)?;
                return Ok(value);
            }
        }
        let fault = if self.bytes.len() < 10 { WireFault::Truncated } else { WireFault::Varint };
        Err(self.fault(fault))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let taken = self.take(N as u64)?;
        taken.bytes.try_into().map_err(|_| self.fault(WireFault::Truncated))
    }

    fn fault(&self, fault: WireFault) -> Error {
        Error::Wire { offset: self.offset, fault }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// An iterator over the fields of a message.
pub(crate) struct Fields<'a> {
    rest: Message<'a>,
}

impl<'a> Fields<'a> {
    fn read(&mut self) -> Result<Field<'a>> {
        let offset = self.rest.offset;
        let tag = self.rest.varint()?;
        let number = tag >> 3;
        let content = match tag & 7 {
            0 => Content::Varint(self.rest.varint()?),
            1 => Content::Fixed64(u64::from_le_bytes(self.rest.array()?)),
            2 => {
                let len = self.rest.varint()?;
                Content::Bytes(self.rest.take(len)?)
            }
            5 => Content::Fixed32(u32::from_le_bytes(self.rest.array()?)),
            wire => return Err(Error::Wire { offset, fault: WireFault::Type { wire } }),
        };
        if number == 0 {
            return Err(Error::Wire { offset, fault: WireFault::FieldZero });
        }
        Ok(Field { number, offset, content })
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.read();
        if field.is_err() {
            self.rest.bytes = &[];
        }
        Some(field)
    }
}

impl<'a> Field<'a> {
    fn wrong(&self) -> Error {
        Error::Wire { offset: self.offset, fault: WireFault::Content { field: self.number } }
    }

    pub(crate) fn message(&self) -> Result<Message<'a>> {
        match self.content {
            Content::Bytes(message) => Ok(message),
            _ => Err(self.wrong()),
        }
    }

    pub(crate) fn text(&self) -> Result<&'a str> {
        self.message()?.text()
    }

    pub(crate) fn unsigned(&self) -> Result<u64> {
        match self.content {
            Content::Varint(value) => Ok(value),
            _ => Err(self.wrong()),
        }
    }

    pub(crate) fn signed(&self) -> Result<i64> {
        self.unsigned().map(u64::cast_signed)
    }

    pub(crate) fn float(&self) -> Result<f32> {
        match self.content {
            Content::Fixed32(bits) => Ok(f32::from_bits(bits)),
            _ => Err(self.wrong()),
        }
    }

    /// Appends a repeated integer, packed or not, up to `most` in all.
    pub(crate) fn append_signed(&self, most: usize, into: &mut Vec<i64>) -> Result<()> {
        let mut packed = match self.content {
            Content::Varint(value) => {
                return self.append(most, into, value.cast_signed());
            }
            Content::Bytes(packed) => packed,
            _ => return Err(self.wrong()),
        };
        while !packed.is_empty() {
            let value = packed.varint()?.cast_signed();
            self.append(most, into, value)?;
        }
        Ok(())
    }

    /// Appends a repeated `float`, packed or not, up to `most` in all.
    pub(crate) fn append_floats(&self, most: usize, into: &mut Vec<f64>) -> Result<()> {
        match self.content {
            Content::Fixed32(bits) => self.append(most, into, f64::from(f32::from_bits(bits))),
            Content::Bytes(packed) => {
                for four in packed.bytes.as_chunks::<4>().0 {
                    self.append(most, into, f64::from(f32::from_le_bytes(*four)))?;
                }
                Ok(())
            }
            _ => Err(self.wrong()),
        }
    }

    /// Appends a repeated `double`, packed or not, up to `most` in all.
    pub(crate) fn append_doubles(&self, most: usize, into: &mut Vec<f64>) -> Result<()> {
        match self.content {
            Content::Fixed64(bits) => self.append(most, into, f64::from_bits(bits)),
            Content::Bytes(packed) => {
                for eight in packed.bytes.as_chunks::<8>().0 {
                    self.append(most, into, f64::from_le_bytes(*eight))?;
                }
                Ok(())
            }
            _ => Err(self.wrong()),
        }
    }

    fn append<T>(&self, most: usize, into: &mut Vec<T>, value: T) -> Result<()> {
        if into.len() >= most {
            let fault = WireFault::TooMany { field: self.number, most };
            return Err(Error::Wire { offset: self.offset, fault });
        }
        into.push(value);
        Ok(())
    }
}
