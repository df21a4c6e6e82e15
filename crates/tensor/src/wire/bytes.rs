//! Reading and writing the numbers of a message.

use super::Fault;

/// Takes fields from the front of a message.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(body: &'a [u8]) -> Reader<'a> {
        Reader { rest: body }
    }

    pub(super) fn bytes(&mut self, len: usize, what: &'static str) -> Result<&'a [u8], Fault> {
        let (field, rest) = self.rest.split_at_checked(len).ok_or(Fault::Short(what))?;
        self.rest = rest;
        Ok(field)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Fault> {
        let (field, rest) = self.rest.split_first_chunk::<N>().ok_or(Fault::Short(what))?;
        self.rest = rest;
        Ok(*field)
    }

    pub(super) fn u8(&mut self, what: &'static str) -> Result<u8, Fault> {
        self.array::<1>(what).map(|[byte]| byte)
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, Fault> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(super) fn size(&mut self, what: &'static str) -> Result<usize, Fault> {
        let found = self.array(what).map(u64::from_le_bytes)?;
        let limit = usize::MAX as u64;
        usize::try_from(found).map_err(|_| Fault::TooLarge { what, found, limit })
    }

    pub(super) fn stride(&mut self, what: &'static str) -> Result<isize, Fault> {
        let found = self.array(what).map(i64::from_le_bytes)?;
        let limit = isize::MAX as u64;
        isize::try_from(found).map_err(|_| Fault::TooLarge {
            what,
            found: found.unsigned_abs(),
            limit,
        })
    }

    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    pub(super) fn finish(self) -> Result<(), Fault> {
        if self.rest.is_empty() { Ok(()) } else { Err(Fault::Long(self.rest.len())) }
    }
}

/// Appends fields to a message.
#[derive(Default)]
pub(super) struct Writer {
    out: Vec<u8>,
}

impl Writer {
    pub(super) fn bytes(&mut self, field: &[u8]) {
        self.out.extend_from_slice(field);
    }

    pub(super) fn u8(&mut self, field: u8) {
        self.out.push(field);
    }

    pub(super) fn u32(&mut self, field: u32) {
        self.bytes(&field.to_le_bytes());
    }

    pub(super) fn i64(&mut self, field: i64) {
        self.bytes(&field.to_le_bytes());
    }

    pub(super) fn size(&mut self, field: usize) {
        self.bytes(&(field as u64).to_le_bytes());
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.out
    }
}
