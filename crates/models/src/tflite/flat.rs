//! Flatbuffers over a slice: tables, vectors and strings, with every offset checked.

use super::error::FlatFault;
use crate::{Error, Result};

/// A whole file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flat<'a> {
    bytes: &'a [u8],
}

/// One table: where it is, and where its list of fields is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table<'a> {
    flat: Flat<'a>,
    at: u64,
    fields_at: u64,
    fields_len: u64,
    /// For messages.
    name: &'static str,
}

/// A vector: where its first entry is, and how many there are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vector<'a> {
    flat: Flat<'a>,
    pub(super) at: u64,
    pub(super) len: u64,
    name: &'static str,
}

impl<'a> Flat<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Flat<'a> {
        Flat { bytes }
    }

    fn slice(&self, at: u64, len: u64, table: &'static str) -> Result<&'a [u8]> {
        let range = usize::try_from(at).ok().zip(usize::try_from(len).ok());
        let found = range.and_then(|(at, len)| self.bytes.get(at..at.checked_add(len)?));
        found.ok_or(Error::Flat { offset: at, table, fault: FlatFault::Outside { len } })
    }

    fn array<const N: usize>(&self, at: u64, table: &'static str) -> Result<[u8; N]> {
        let fault = FlatFault::Outside { len: N as u64 };
        let slice = self.slice(at, N as u64, table)?;
        slice.try_into().map_err(|_| Error::Flat { offset: at, table, fault })
    }

    fn u16(&self, at: u64, table: &'static str) -> Result<u64> {
        Ok(u16::from_le_bytes(self.array(at, table)?).into())
    }

    fn u32(&self, at: u64, table: &'static str) -> Result<u64> {
        Ok(u32::from_le_bytes(self.array(at, table)?).into())
    }

    pub(super) fn root(&self, name: &'static str) -> Result<Table<'a>> {
        self.table(self.u32(0, name)?, name)
    }

    fn table(self, at: u64, name: &'static str) -> Result<Table<'a>> {
        let wrong = || Error::Flat { offset: at, table: name, fault: FlatFault::Fields };
        let back = i32::from_le_bytes(self.array(at, name)?);
        let fields_at = at.checked_add_signed(-i64::from(back)).ok_or_else(wrong)?;
        let fields_len = self.u16(fields_at, name)?;
        if fields_len < 4 || fields_len % 2 != 0 {
            return Err(wrong());
        }
        self.slice(fields_at, fields_len, name)?;
        Ok(Table { flat: self, at, fields_at, fields_len, name })
    }
}

impl<'a> Table<'a> {
    pub(super) fn fault(&self, fault: FlatFault) -> Error {
        Error::Flat { offset: self.at, table: self.name, fault }
    }

    /// How many fields the list has room for.
    pub(super) fn fields(&self) -> u16 {
        ((self.fields_len - 4) / 2) as u16
    }

    /// Where in the file a field is; `None` if it is left out.
    pub(super) fn place(&self, field: u16) -> Result<Option<u64>> {
        if field >= self.fields() {
            return Ok(None);
        }
        match self.flat.u16(self.fields_at + 4 + 2 * u64::from(field), self.name)? {
            0 => Ok(None),
            offset => Ok(Some(self.at + offset)),
        }
    }

    /// What a field that refers to something refers to.
    pub(super) fn target(&self, field: u16) -> Result<Option<u64>> {
        let Some(at) = self.place(field)? else { return Ok(None) };
        Ok(Some(at + self.flat.u32(at, self.name)?))
    }

    pub(super) fn u8(&self, field: u16) -> Result<u8> {
        let Some(at) = self.place(field)? else { return Ok(0) };
        Ok(u8::from_le_bytes(self.flat.array(at, self.name)?))
    }

    pub(super) fn u32(&self, field: u16) -> Result<u32> {
        let Some(at) = self.place(field)? else { return Ok(0) };
        Ok(u32::from_le_bytes(self.flat.array(at, self.name)?))
    }

    pub(super) fn i32(&self, field: u16) -> Result<i32> {
        self.u32(field).map(u32::cast_signed)
    }

    pub(super) fn u64(&self, field: u16) -> Result<u64> {
        let Some(at) = self.place(field)? else { return Ok(0) };
        Ok(u64::from_le_bytes(self.flat.array(at, self.name)?))
    }

    /// A vector of entries of so many bytes; one left out is empty.
    pub(super) fn vector(&self, field: u16, width: u64, name: &'static str) -> Result<Vector<'a>> {
        let Some(at) = self.target(field)? else {
            return Ok(Vector { flat: self.flat, at: 0, len: 0, name });
        };
        let len = self.flat.u32(at, name)?;
        let fault = Error::Flat { offset: at, table: name, fault: FlatFault::Length { len } };
        self.flat.slice(at + 4, len * width, name).map_err(|_| fault)?;
        Ok(Vector { flat: self.flat, at: at + 4, len, name })
    }

    pub(super) fn text(&self, field: u16) -> Result<&'a str> {
        let vector = self.vector(field, 1, self.name)?;
        let bytes = self.flat.slice(vector.at, vector.len, self.name)?;
        std::str::from_utf8(bytes).map_err(|_| self.fault(FlatFault::NotUtf8))
    }

    /// A table that a field refers to.
    pub(super) fn child(&self, field: u16, name: &'static str) -> Result<Option<Table<'a>>> {
        self.target(field)?.map(|at| self.flat.table(at, name)).transpose()
    }
}

impl<'a> Vector<'a> {
    /// The position of the table that an entry refers to.
    pub(super) fn target(&self, index: u64) -> Result<u64> {
        let at = self.at + 4 * index;
        Ok(at + self.flat.u32(at, self.name)?)
    }

    /// The tables that the entries refer to.
    pub(super) fn tables(self) -> impl Iterator<Item = Result<Table<'a>>> {
        (0..self.len).map(move |index| self.flat.table(self.target(index)?, self.name))
    }

    pub(super) fn i32s(self) -> impl Iterator<Item = Result<i32>> {
        (0..self.len).map(move |index| {
            Ok(i32::from_le_bytes(self.flat.array(self.at + 4 * index, self.name)?))
        })
    }
}
