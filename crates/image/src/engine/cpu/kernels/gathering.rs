//! What kernels are told that gather samples along rows, and that sum the rows they make.

use std::ops::{Deref, Range};

use super::Tap;
use crate::engine::cpu::fixed::{FixedMatrix, LANES};
use crate::engine::cpu::scratch::Ring;

/// A way of gathering samples, that a set of kernels has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way {
    /// Outputs of a table.
    pub(crate) block: usize,
    /// Outputs that are gathered from one window, and its bytes.
    pub(crate) run: usize,
    pub(crate) window: usize,
    pub(crate) samples: Samples,
    /// Most pairs of samples of an output: more take longer than columns do. By bytes no more than
    /// two: products with the smaller parts of weights are summed in 16 bits.
    pub(crate) pairs: usize,
    /// Most source rows of an output row, for the same reason.
    pub(crate) rows: usize,
    /// Fewest outputs of a row, and of one that is dealt out first.
    pub(crate) outputs: usize,
    pub(crate) dealt: usize,
    /// Most rows of one component that share what is read of the tables.
    pub(crate) together: u32,
}

/// Where samples are found, and what they are multiplied as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Samples {
    /// Two at a time in a window, each pair at the places of the one before in a window that begins
    /// two samples later; by bytes, weights in two parts.
    Together,
    /// The same, with every second sample in a window of its own, which begins a sample later: at
    /// the place of the one before it. Tables have no place for it.
    Apart,
    /// All in one window; as words, weights in one part.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only AVX-512 does so"))]
    Words,
}

impl Way {
    /// Blocks of sixteen outputs, each half of which finds its first two samples within sixteen
    /// bytes.
    pub(crate) const NARROW: Way = Way {
        block: LANES,
        run: 8,
        window: 16,
        samples: Samples::Together,
        pairs: 2,
        rows: 4,
        outputs: 1,
        dealt: 2000,
        together: 2,
    };

    /// The same for samples that are twice as far from each other. More than two of them, in twice as
    /// many windows, take as long as columns do.
    pub(crate) const APART: Way = Way { samples: Samples::Apart, pairs: 1, ..Way::NARROW };

    /// Bytes of one part of a table: as many as two samples have, for each output.
    pub(crate) const fn lane(self) -> usize {
        match self.samples {
            Samples::Together | Samples::Apart => 2 * self.block,
            Samples::Words => 4 * self.block,
        }
    }

    /// Bytes of a table.
    pub(crate) const fn table_bytes(self, pairs: usize) -> usize {
        self.weights_at(pairs)
    }

    /// Where in a table the weights of a pair are, the larger parts first.
    pub(crate) const fn weights_at(self, pair: usize) -> usize {
        match self.samples {
            Samples::Together | Samples::Apart => self.lane() * (1 + 2 * pair),
            Samples::Words => self.lane() * (1 + pair),
        }
    }

    /// Bytes from the first of the first window of some outputs to the last of the last one.
    pub(crate) const fn reach(self, pairs: usize, step: usize) -> usize {
        match self.samples {
            Samples::Together => self.window + (2 * pairs - 2) * step,
            Samples::Apart => self.window + (2 * pairs - 1) * step,
            Samples::Words => self.window,
        }
    }

    /// Bytes from the first sample of an output to the last one that must be in the same window.
    pub(crate) const fn spread(self, pairs: usize, step: usize) -> usize {
        match self.samples {
            Samples::Together => step,
            Samples::Apart => 0,
            Samples::Words => (2 * pairs - 1) * step,
        }
    }

    /// Bits after the point of weights.
    pub(crate) const fn weight_bits(self) -> u32 {
        match self.samples {
            Samples::Together | Samples::Apart => 7 + Gather::SMALL_BITS,
            Samples::Words => 15,
        }
    }

    /// Puts the place of an output's first sample in its window into a table, and those of others.
    pub(crate) fn put_place(self, table: &mut [u8], output: usize, place: usize, step: usize) {
        let (place, second) = (place as u8, (place + step) as u8);
        match self.samples {
            Samples::Together => table[2 * output..][..2].copy_from_slice(&[place, second]),
            Samples::Apart => table[2 * output..][..2].copy_from_slice(&[place, Gather::NOWHERE]),
            Samples::Words => table[4 * output..][..4].copy_from_slice(&[place, 0, second, 0]),
        }
    }

    /// Puts the weight of one of an output's samples into a table.
    pub(crate) fn put_weight(self, table: &mut [u8], output: usize, sample: usize, weight: i32) {
        let (at, element) = (self.weights_at(sample / 2), 2 * output + sample % 2);
        match self.samples {
            Samples::Together | Samples::Apart => {
                // The larger part of one itself would not fit.
                let large = (weight >> Gather::SMALL_BITS).min(127);
                table[at + element] = large as u8;
                table[at + self.lane() + element] = (weight - (large << Gather::SMALL_BITS)) as u8;
            }
            Samples::Words => {
                // One itself is a little less.
                let weight = weight.min(i16::MAX.into()) as i16;
                table[at + 2 * element..][..2].copy_from_slice(&weight.to_ne_bytes());
            }
        }
    }
}

/// How samples of rows are gathered and summed: outputs in blocks, runs of which find their samples
/// within a window.
///
/// For every block there is a table: for each output the places of its first two samples in its
/// window, then for every two samples their weights, the larger parts and the smaller ones.
#[derive(Debug)]
pub(crate) struct Gather {
    pub(crate) way: Way,
    /// Byte of a row that the first window of each run begins with.
    pub(crate) windows: Vec<u32>,
    pub(crate) tables: Tables,
    /// Pairs of samples of each output.
    pub(crate) pairs: usize,
    /// Bytes from a sample to the next.
    pub(crate) step: u8,
    blocks: usize,
}

/// Bytes that begin with a line of the cache, so that no vector of them lies across two.
#[derive(Debug)]
pub(crate) struct Tables {
    bytes: Vec<u8>,
    start: usize,
}

impl Tables {
    pub(crate) fn new(tables: &[u8]) -> Tables {
        const LINE: usize = 64;
        let mut bytes = vec![0; tables.len() + LINE];
        // Where that is not known, anywhere will do.
        let start = bytes.as_ptr().align_offset(LINE).min(LINE);
        bytes[start..][..tables.len()].copy_from_slice(tables);
        bytes.truncate(start + tables.len());
        Tables { bytes, start }
    }
}

impl Deref for Tables {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

impl Kept<'_> {
    /// Bits after the point of luma, and of red, green and blue; chroma has as many more as a matrix
    /// costs.
    pub(crate) const FRACTION: u32 = 5;

    /// Whether all rows have numbers for all pixels.
    #[inline]
    pub(crate) fn are_whole(&self) -> bool {
        let last = |ring: &Ring| ring.place(u32::MAX) + self.pixels;
        self.rings.iter().all(|ring| last(ring) <= self.numbers.len())
    }
}

impl Gather {
    /// Bits that smaller parts of weights have beyond the larger ones, which have as many after the
    /// point as sums.
    pub(crate) const SMALL_BITS: u32 = 6;

    /// A place that no sample is taken from.
    pub(crate) const NOWHERE: u8 = 0x80;

    pub(crate) fn new(
        way: Way,
        windows: Vec<u32>,
        tables: &[u8],
        pairs: usize,
        step: usize,
    ) -> Gather {
        let blocks = tables.len() / way.table_bytes(pairs);
        let blocks = blocks.min(windows.len() * way.run / way.block);
        Gather { way, windows, tables: Tables::new(tables), pairs, step: step as u8, blocks }
    }

    /// Bytes of a row from the first that is read to the last.
    pub(crate) fn read(&self) -> Range<usize> {
        let reach = self.way.reach(self.pairs, self.step.into());
        let (first, last) = (self.windows.iter().min(), self.windows.iter().max());
        match (first, last) {
            (Some(first), Some(last)) => *first as usize..*last as usize + reach,
            _ => 0..0,
        }
    }

    /// Blocks of outputs, for each of which there are windows and a table.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(crate) fn blocks(&self) -> usize {
        self.blocks
    }

    /// Numbers of a row that is made: whole blocks.
    #[inline]
    pub(crate) fn numbers(&self) -> usize {
        self.blocks * self.way.block
    }
}

/// Rows of samples that are gathered, and where in the scratch memory numbers of each begin.
#[derive(Debug)]
pub(crate) struct Gathering<'a> {
    pub(crate) from: &'a [*const u8],
    pub(crate) to: &'a [usize],
    pub(crate) then: Then,
    /// Bytes from each row to one that is wanted soon, which may be fetched already.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "others fetch nothing"))]
    pub(crate) ahead: usize,
}

/// What becomes of sums before they are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    Nothing,
    /// They are multiplied as a matrix does it, and something is added.
    Times {
        factor: i16,
        add: i16,
    },
    /// Something is added.
    Plus(i16),
}

/// Most source rows of any [`Way`].
pub(crate) const MOST_ROWS: usize = 16;

/// Kept rows of luma and chroma that an output row is made of, to be stored as bytes of red, green and
/// blue.
#[derive(Debug)]
pub(crate) struct Kept<'a> {
    pub(crate) numbers: &'a [i16],
    /// Where rows are of what luma is in all colours, half of a code with it, and those of chroma of both
    /// kinds, as much above as below zero.
    pub(crate) rings: [&'a Ring; 3],
    /// Up to [`MOST_ROWS`] rows of each.
    pub(crate) luma: &'a [Tap],
    pub(crate) chroma: &'a [Tap],
    /// To red, green and blue.
    pub(crate) matrix: &'a FixedMatrix,
    pub(crate) flip: u8,
    pub(crate) pixels: usize,
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "others fetch nothing"))]
    pub(crate) soon: Soon<'a>,
}

/// Lines of source rows that are read soon, and may be fetched while others are stored.
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "others fetch nothing"))]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Soon<'a> {
    /// Lines that the first 64 pixels are made of.
    pub(crate) lines: &'a [*const u8],
    /// Bytes from each of them to that for the next pixel.
    pub(crate) step: usize,
}
