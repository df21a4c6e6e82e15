//! Reading and writing the numbers of a packet.

use super::Fault;

/// Takes fields from the front of a packet.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(packet: &'a [u8]) -> Reader<'a> {
        Reader { rest: packet }
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Fault> {
        let (field, rest) = self.rest.split_first_chunk::<N>().ok_or(Fault::Short(what))?;
        self.rest = rest;
        Ok(*field)
    }

    pub(super) fn bytes(&mut self, len: usize, what: &'static str) -> Result<&'a [u8], Fault> {
        let (field, rest) = self.rest.split_at_checked(len).ok_or(Fault::Short(what))?;
        self.rest = rest;
        Ok(field)
    }

    pub(super) fn u8(&mut self, what: &'static str) -> Result<u8, Fault> {
        self.array::<1>(what).map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self, what: &'static str) -> Result<u16, Fault> {
        self.array(what).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, Fault> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, what: &'static str) -> Result<u64, Fault> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// All that is left.
    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    pub(super) fn finish(self) -> Result<(), Fault> {
        if self.rest.is_empty() { Ok(()) } else { Err(Fault::Long(self.rest.len())) }
    }
}

/// Appends fields to a packet.
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

    pub(super) fn u16(&mut self, field: u16) {
        self.bytes(&field.to_le_bytes());
    }

    pub(super) fn u32(&mut self, field: u32) {
        self.bytes(&field.to_le_bytes());
    }

    pub(super) fn u64(&mut self, field: u64) {
        self.bytes(&field.to_le_bytes());
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.out
    }
}
