//! Reading and writing the numbers of a message: little-endian, fixed in width, and never beyond
//! its end.
//!
//! For messages between processes, here and in crates above.

/// Why a field cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The message ends in the middle of this field.
    Short(&'static str),
    /// So many bytes are left over.
    Long(usize),
    /// A number out of its range.
    TooLarge {
        /// Which field.
        what: &'static str,
        /// Its value.
        found: u64,
        /// The largest possible.
        limit: u64,
    },
}

/// Takes fields from the front of a message. `what` is the field in words, for [`Cut`].
///
/// ```
/// use tenure_tensor::fields::{Cut, Reader, Writer};
/// let mut out = Writer::default();
/// out.u8(7);
/// out.u32(1 << 20);
/// let message = out.into_bytes();
///
/// let mut input = Reader::new(&message);
/// assert_eq!((input.u8("its kind"), input.u32("its size")), (Ok(7), Ok(1 << 20)));
/// assert_eq!(input.u16("its version"), Err(Cut::Short("its version")));
/// assert_eq!(input.finish(), Ok(()));
/// ```
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// From the first byte of a message on.
    pub fn new(message: &'a [u8]) -> Reader<'a> {
        Reader { rest: message }
    }

    /// So many bytes.
    pub fn bytes(&mut self, len: usize, what: &'static str) -> Result<&'a [u8], Cut> {
        let (field, rest) = self.rest.split_at_checked(len).ok_or(Cut::Short(what))?;
        self.rest = rest;
        Ok(field)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Cut> {
        let (field, rest) = self.rest.split_first_chunk::<N>().ok_or(Cut::Short(what))?;
        self.rest = rest;
        Ok(*field)
    }

    /// A number of one byte.
    pub fn u8(&mut self, what: &'static str) -> Result<u8, Cut> {
        self.array::<1>(what).map(|[byte]| byte)
    }

    /// A number of two bytes.
    pub fn u16(&mut self, what: &'static str) -> Result<u16, Cut> {
        self.array(what).map(u16::from_le_bytes)
    }

    /// A number of four bytes.
    pub fn u32(&mut self, what: &'static str) -> Result<u32, Cut> {
        self.array(what).map(u32::from_le_bytes)
    }

    /// A number of eight bytes.
    pub fn u64(&mut self, what: &'static str) -> Result<u64, Cut> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// A size or offset, in eight bytes.
    pub fn size(&mut self, what: &'static str) -> Result<usize, Cut> {
        let found = self.u64(what)?;
        let limit = usize::MAX as u64;
        usize::try_from(found).map_err(|_| Cut::TooLarge { what, found, limit })
    }

    /// A stride, in eight bytes.
    pub fn stride(&mut self, what: &'static str) -> Result<isize, Cut> {
        let found = self.array(what).map(i64::from_le_bytes)?;
        let limit = isize::MAX as u64;
        let over = Cut::TooLarge { what, found: found.unsigned_abs(), limit };
        isize::try_from(found).map_err(|_| over)
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// Nothing may be left.
    pub fn finish(self) -> Result<(), Cut> {
        if self.rest.is_empty() { Ok(()) } else { Err(Cut::Long(self.rest.len())) }
    }
}

/// Appends fields to a message, as [`Reader`] takes them.
#[derive(Debug, Default)]
pub struct Writer {
    out: Vec<u8>,
}

impl Writer {
    /// These bytes.
    pub fn bytes(&mut self, field: &[u8]) {
        self.out.extend_from_slice(field);
    }

    /// A number of one byte.
    pub fn u8(&mut self, field: u8) {
        self.out.push(field);
    }

    /// A number of two bytes.
    pub fn u16(&mut self, field: u16) {
        self.bytes(&field.to_le_bytes());
    }

    /// A number of four bytes.
    pub fn u32(&mut self, field: u32) {
        self.bytes(&field.to_le_bytes());
    }

    /// A number of eight bytes.
    pub fn u64(&mut self, field: u64) {
        self.bytes(&field.to_le_bytes());
    }

    /// A signed number of eight bytes.
    pub fn i64(&mut self, field: i64) {
        self.bytes(&field.to_le_bytes());
    }

    /// A size or offset, in eight bytes.
    pub fn size(&mut self, field: usize) {
        self.u64(field as u64);
    }

    /// The message.
    pub fn into_bytes(self) -> Vec<u8> {
        self.out
    }
}
