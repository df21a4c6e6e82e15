//! What kernels are told that gather samples along rows, and that sum the rows they make.

use super::Tap;
use crate::engine::cpu::fixed::FixedMatrix;
use crate::engine::cpu::scratch::Rows;

/// How samples of rows are gathered and summed: outputs in blocks of sixteen, each half of which
/// finds its first two samples within sixteen bytes, the next two at the same places of the sixteen
/// bytes that begin two samples later, and so on.
///
/// For every block there is a table: for each output the places of its first two samples in its
/// window, then for every two samples the larger parts of their weights and the smaller ones.
#[derive(Debug)]
pub(crate) struct Gather {
    /// Byte of a row that each first window begins with: two for every block.
    pub(crate) windows: Vec<u32>,
    pub(crate) tables: Vec<u8>,
    /// Pairs of samples of each output.
    pub(crate) pairs: usize,
    /// Bytes from a sample to the next.
    pub(crate) step: u8,
    /// Whether every second sample is found in a window of its own, which begins a sample later: at
    /// the place of the one before it. Tables have no place for it then.
    pub(crate) apart: bool,
}

impl Gather {
    /// Outputs that are gathered from a window, and its bytes.
    pub(crate) const RUN: usize = 8;
    pub(crate) const WINDOW: usize = 16;

    /// Bytes of one part of a table: two for each output.
    pub(crate) const LANE: usize = 32;

    /// Bits that smaller parts of weights have beyond the larger ones, which have as many after the
    /// point as sums.
    pub(super) const SMALL_BITS: u32 = 6;

    /// Bytes of a table.
    pub(crate) const fn table_bytes(pairs: usize) -> usize {
        Self::weights_at(pairs)
    }

    /// Where in a table the weights of a pair are, the larger parts first.
    pub(crate) const fn weights_at(pair: usize) -> usize {
        Self::LANE * (1 + 2 * pair)
    }

    /// A place that no sample is taken from.
    pub(crate) const NOWHERE: u8 = 0x80;

    /// Bytes from the first of the first window of some outputs to the last of the last one.
    pub(crate) const fn reach(pairs: usize, step: usize, apart: bool) -> usize {
        let windows = if apart { 2 * pairs - 1 } else { 2 * pairs - 2 };
        Self::WINDOW + windows * step
    }

    /// The larger and the smaller part of a weight of thirteen bits.
    pub(crate) fn weight_parts(weight: i32) -> (u8, u8) {
        // The larger part of one itself would not fit.
        let large = (weight >> Self::SMALL_BITS).min(127);
        (large as u8, (weight - (large << Self::SMALL_BITS)) as u8)
    }

    /// Blocks of outputs.
    pub(crate) fn blocks(&self) -> usize {
        let tables = self.tables.len() / Self::table_bytes(self.pairs);
        tables.min(self.windows.len() / 2)
    }
}

/// Rows of samples that are gathered, and where in the scratch memory numbers of each begin: one row
/// for each, or, with a matrix, as many of luma for what it is in all colours, or two of chroma for
/// what they are in red, green and blue, with half of a code.
#[derive(Debug)]
pub(crate) struct Gathering<'a> {
    pub(crate) from: &'a [*const u8],
    pub(crate) to: &'a [usize],
    pub(crate) matrix: Option<&'a FixedMatrix>,
    pub(crate) half: i16,
}

/// Source rows that are kept, and most that an output row is made of.
pub(crate) const KEPT: usize = 4;

/// Sums of rows, as `weighted` makes them, that together are bytes of red, green and blue.
#[derive(Debug)]
pub(crate) struct Terms<'a> {
    pub(crate) numbers: &'a [i16],
    /// What luma is in all colours, and up to [`KEPT`] rows of it.
    pub(crate) luma: (Rows, &'a [Tap]),
    /// What chroma is in each colour, half of a code with it.
    pub(crate) colours: ([Rows; 3], &'a [Tap]),
    /// Bits after the point.
    pub(crate) fraction: u32,
    pub(crate) flip: u8,
    pub(crate) pixels: usize,
}
