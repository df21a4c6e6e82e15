//! One tensor of a file: its name, what its elements are, and where its bytes lie.

use std::fmt;

use tenure_layout::MAX_RANK;
use tenure_tensor::{DType, Layout};

use crate::Result;
use crate::order::Order;

/// What the elements of a tensor in a file are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Elements {
    /// A type that tensors have.
    Plain(DType),
    /// Blocks of bytes whose inside is not known here.
    Blocks(Blocks),
}

/// Elements that only their users understand: quantised weights, times, text. A tensor
/// of them is one of `u8`, with the bytes of a row as its last dimension, in the order in which the
/// file has them on every machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocks {
    /// The file's word for them: `q4_k`.
    pub name: String,
    /// Elements of one block, all from one row.
    pub elements: usize,
    /// Bytes of one block.
    pub bytes: usize,
}

impl Elements {
    pub(crate) fn blocks(name: impl Into<String>, elements: usize, bytes: usize) -> Elements {
        Elements::Blocks(Blocks { name: name.into(), elements, bytes })
    }

    /// The word for them.
    pub fn name(&self) -> &str {
        match self {
            Elements::Plain(dtype) => dtype.name(),
            Elements::Blocks(blocks) => &blocks.name,
        }
    }

    /// What the first byte must be a multiple of.
    pub(crate) fn align(&self) -> usize {
        match self {
            Elements::Plain(dtype) => dtype.align(),
            Elements::Blocks(_) => 1,
        }
    }

    /// The layout of a tensor of this shape; `None` if there is none: too large, too many
    /// dimensions, a row that ends inside a block.
    pub(crate) fn layout(&self, shape: &[usize]) -> Option<Layout> {
        match self {
            Elements::Plain(dtype) => Layout::contiguous(*dtype, shape).ok(),
            Elements::Blocks(blocks) => {
                let mut bytes = shape.to_vec();
                match bytes.last_mut() {
                    Some(row) => *row = blocks.row_bytes(*row)?,
                    None => bytes.push(blocks.row_bytes(1)?),
                }
                if bytes.len() > MAX_RANK {
                    return None;
                }
                Layout::contiguous(DType::U8, &bytes).ok()
            }
        }
    }
}

impl Blocks {
    fn row_bytes(&self, elements: usize) -> Option<usize> {
        let whole = self.elements > 0 && elements.is_multiple_of(self.elements);
        whole.then(|| elements / self.elements).and_then(|blocks| blocks.checked_mul(self.bytes))
    }
}

impl fmt::Display for Elements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One tensor of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub(crate) name: String,
    pub(crate) elements: Elements,
    pub(crate) shape: Vec<usize>,
    /// Of the bytes as they lie: of a Fortran array that with its dimensions backwards.
    pub(crate) layout: Layout,
    /// Whether the first index is the fastest.
    pub(crate) fortran: bool,
    /// Which of the files, if there are several.
    pub(crate) shard: usize,
    pub(crate) offset: u64,
    pub(crate) packing: Packing,
    /// Bytes of an element that are in the reverse order of this machine's, or 1.
    pub(crate) reversed: usize,
}

/// How the bytes lie in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    /// As they are.
    Stored,
    /// Deflated, in so many bytes, which give so many others before those of the tensor.
    Deflated { bytes: u64, before: usize, crc: u32 },
}

impl Entry {
    /// A tensor whose bytes lie in the file as they are; `None` if there is no such shape.
    pub(crate) fn new(
        name: String,
        elements: Elements,
        shape: Vec<usize>,
        offset: u64,
    ) -> Option<Entry> {
        let layout = elements.layout(&shape)?;
        let (fortran, shard, packing) = (false, 0, Packing::Stored);
        let reversed = 1;
        Some(Entry { name, elements, shape, layout, fortran, shard, offset, packing, reversed })
    }

    /// The same with elements whose bytes are in this order. Blocks stay as the file has them.
    pub(crate) fn in_order(mut self, order: Order) -> Entry {
        if let Elements::Plain(dtype) = self.elements
            && self.bytes() > 0
        {
            self.reversed = order.reversed(dtype);
        }
        self
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the elements are.
    pub fn elements(&self) -> &Elements {
        &self.elements
    }

    /// Elements per dimension, also where they are in blocks.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Bytes of the tensor in memory.
    pub fn bytes(&self) -> usize {
        self.layout.packed_bytes()
    }

    /// Where its bytes begin in the file; of a compressed tensor, the compressed ones.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// One past its last byte in the file; `None` where no file has such a byte.
    pub(crate) fn end(&self) -> Option<u64> {
        match self.packing {
            Packing::Stored => self.offset.checked_add(self.bytes() as u64),
            Packing::Deflated { bytes, .. } => self.offset.checked_add(bytes),
        }
    }

    /// Which file of a folder it is in, counted from zero.
    pub fn shard(&self) -> usize {
        self.shard
    }

    /// Why it cannot be used where it lies, if it cannot.
    pub fn copied(&self) -> Option<&'static str> {
        if matches!(self.packing, Packing::Deflated { .. }) {
            return Some("its bytes are compressed");
        }
        if self.reversed > 1 {
            return Some("its elements have the byte order of other machines");
        }
        let aligned = self.offset.is_multiple_of(self.elements.align() as u64);
        (!aligned).then_some("its bytes do not begin at a multiple of its element size")
    }

    /// The layout of the tensor over its bytes.
    pub(crate) fn tensor_layout(&self) -> Result<Layout> {
        if !self.fortran {
            return Ok(self.layout.clone());
        }
        let backwards: Vec<usize> = (0..self.layout.rank()).rev().collect();
        Ok(self.layout.permute(&backwards)?)
    }
}
