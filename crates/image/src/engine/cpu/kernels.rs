//! The loops over rows, once for each instruction set.
//!
//! Every set has the same functions with the same results, bit by bit where they are integers:
//! tests compare each with [`portable`].
use crate::engine::cpu::fixed::{FixedMatrix, LANES};
use crate::{Error, Result};

mod gathering;
pub(crate) mod portable;
pub(crate) mod precise;
mod sums;
mod uniform;

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
pub(crate) mod neon;

#[cfg(test)]
mod tests;

pub(crate) use gathering::{Gather, Gathering, Kept, MOST_ROWS, Samples, Soon, Then, Way};
pub(crate) use precise::Precise;
pub(crate) use sums::{BELOW, Band, Pairs, Share, Steps, Sum, Tap};
pub(crate) use uniform::{End, Uniform};

/// Some outputs of a table along the row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Along<'a> {
    /// First sample of each output.
    pub(crate) first: &'a [usize],
    /// The lowest and the highest of them.
    pub(crate) firsts: (usize, usize),
    /// The sample that is in the first column.
    pub(crate) start: usize,
    /// Columns from one sample to the next.
    pub(crate) step: usize,
    /// Weights of all outputs, `count` for each: twice in a row where sums are of 16 bits, so that
    /// they fill a vector as they are.
    pub(crate) weights: &'a [i16],
    pub(crate) count: usize,
    pub(crate) bits: u32,
    pub(crate) wide: bool,
}

impl Along<'_> {
    /// Whether these columns have the samples of all outputs. Asked once for all of them: where an
    /// output has two samples, to ask for each costs as much as to sum.
    #[inline]
    pub(crate) fn is_within(&self, columns: &[i16]) -> bool {
        let (lowest, highest) = self.firsts;
        self.start <= lowest
            && lowest <= highest
            && ((highest - self.start + self.count - 1) * self.step + 1) * LANES <= columns.len()
    }

    /// How often a weight is in `weights`.
    pub(crate) fn repeated(&self) -> usize {
        if self.wide { 1 } else { 2 }
    }
}

/// Of components that are resized alike, of one band or of several, how many share registers.
#[cfg_attr(
    not(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little"))),
    expect(dead_code, reason = "plain loops take one after the other")
)]
fn together(components: usize) -> usize {
    (1..=4).rev().find(|some| components.is_multiple_of(*some)).unwrap_or(1)
}

/// Rows to be stored, one for each element of a pixel in the order of memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Finished<'a> {
    pub(crate) rows: &'a [&'a [i16]],
    /// Bits after the point.
    pub(crate) fraction: u32,
    /// Pixels to store.
    pub(crate) pixels: usize,
}

/// What numbers become, for each of the rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) multiply: [f32; 4],
    pub(crate) add: [f32; 4],
}

/// A colour matrix and what codes become, for red, green and blue: without rounding in between.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Mixture {
    /// For each colour the shares of three rows, and what is added.
    pub(crate) shares: [[f32; 3]; 3],
    pub(crate) offset: [f32; 3],
    /// The least and the most that a code becomes: what a sum is limited to.
    pub(crate) least: [f32; 3],
    pub(crate) most: [f32; 3],
    /// What follows them where they are between each other: opaque alpha.
    pub(crate) alpha: Option<f32>,
}

/// Rows that a colour matrix makes red, green and blue of, to be stored as scaled numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Coloured<'a> {
    pub(crate) from: [&'a [i16]; 3],
    pub(crate) mixture: &'a Mixture,
    pub(crate) pixels: usize,
    /// Whether they may be stored around the caches, which have no room for them: nobody else may look
    /// at them before `settle`.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "others do not"))]
    pub(crate) around: bool,
}

/// The element types that need arithmetic before they are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Real {
    F32,
    F16,
    Bf16,
    U8,
    I8,
}

impl Real {
    /// Bytes of an element.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "others fetch nothing"))]
    pub(crate) fn size(self) -> usize {
        match self {
            Real::F32 => 4,
            Real::F16 | Real::Bf16 => 2,
            Real::U8 | Real::I8 => 1,
        }
    }
}

/// Where a number is, or a row of them from there on, and its weight.
pub(crate) type Place = (usize, i16);

type HorizontalKernel = unsafe fn(Along<'_>, &[&[i16]], &mut [&mut [i16]]);
type StoreKernel = unsafe fn(Columns<'_>, Out, [usize; 3]);
type MatrixKernel = unsafe fn(&FixedMatrix, [&[i16]; 3], [&mut [i16]; 3]);

/// What joins rows of luma in bytes, to be stored as bytes of red, green and blue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mixed<'a> {
    pub(crate) chroma: ChromaRow<'a>,
    pub(crate) matrix: &'a FixedMatrix,
    pub(crate) flip: u8,
    pub(crate) pixels: usize,
}

/// A row of both kinds of chroma samples.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ChromaRow<'a> {
    /// One for each pixel, with seven bits after the point.
    Whole([&'a [i16]; 2]),
    /// One for two pixels, with seven bits after the point.
    Halved([&'a [i16]; 2]),
    /// One for two pixels, which lie between it and its neighbours, with seven bits after the point:
    /// the weights of the sample before and of its own for the first of two, of its own and of the one
    /// after for the second. Rows begin with the sample before the first and end with the one after
    /// the last.
    Doubled { rows: [&'a [i16]; 2], weights: [i16; 4] },
    /// One for two pixels, as bytes in turn, the red difference first if so told.
    Bytes { at: *const u8, red_first: bool },
}

impl ChromaRow<'_> {
    /// Whether there are as many as pixels need.
    pub(crate) fn holds(&self, pixels: usize) -> bool {
        match self {
            ChromaRow::Whole(rows) => rows.iter().all(|row| row.len() >= pixels),
            ChromaRow::Halved(rows) => rows.iter().all(|row| row.len() >= pixels.div_ceil(2)),
            ChromaRow::Doubled { rows, .. } => {
                rows.iter().all(|row| row.len() >= pixels.div_ceil(2) + 2)
            }
            // The caller's promise.
            ChromaRow::Bytes { .. } => true,
        }
    }
}

/// Columns of red, green and blue, or what a matrix makes them of, to be stored as bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Columns<'a> {
    pub(crate) from: [&'a [i16]; 3],
    pub(crate) matrix: Option<&'a FixedMatrix>,
    /// Bits after the point of red, green and blue.
    pub(crate) fraction: u32,
    pub(crate) flip: u8,
    /// Rows of the band.
    pub(crate) rows: usize,
    pub(crate) pixels: usize,
    /// Whether the rows below are stored next.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "others fetch nothing"))]
    pub(crate) goes_on: bool,
}

/// Where red, green and blue are stored.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Out {
    /// Each in a row of its own.
    Planes([*mut u8; 3]),
    /// Between each other, blue first if so told.
    Packed { at: *mut u8, blue_first: bool },
}

impl Out {
    /// The same as many rows further down.
    #[inline]
    pub(crate) fn down(self, rows: usize, [a, b, c]: [usize; 3]) -> Out {
        match self {
            Out::Planes([x, y, z]) => Out::Planes([
                x.wrapping_add(rows * a),
                y.wrapping_add(rows * b),
                z.wrapping_add(rows * c),
            ]),
            Out::Packed { at, blue_first } => {
                Out::Packed { at: at.wrapping_add(rows * a), blue_first }
            }
        }
    }
}

/// Bytes that are stored again and again: as many as pixels of every length divide.
pub(crate) type Pattern = [u8; 192];

/// The loops of one instruction set.
///
/// # Safety of all of them
/// The processor must have the instructions. Rows of taps must be valid for reads of as many
/// elements as the outputs need, addresses to store at for as many writes as pixels and rows ask.
/// No first sample along a row is beyond the lowest and the highest that are named with them.
pub(crate) struct Kernels {
    pub(crate) name: &'static str,
    /// Each output is the sum of a byte of every row.
    pub(crate) bytes: unsafe fn(Sum<'_>, &mut [i16]),
    /// As `bytes` for bytes in pairs: the first of each to one row, the second to the other.
    pub(crate) pairs: unsafe fn(Sum<'_>, &mut [i16], &mut [i16]),
    /// As `bytes` for words of 16 bits.
    pub(crate) words: unsafe fn(Sum<'_>, &mut [i16]),
    /// Every second number to one row, the others to the other.
    pub(crate) split_pairs: unsafe fn(&[i16], &mut [i16], &mut [i16]),
    /// Every third number to each of three rows.
    pub(crate) split_triples: unsafe fn(&[i16], [&mut [i16]; 3]),
    /// Every second byte to one row, the others to the other, until both are full. What is so many
    /// bytes after them may be fetched meanwhile.
    pub(crate) split_bytes: unsafe fn(*const u8, usize, &mut [u8], &mut [u8]),
    /// As `bytes` for a band of [`LANES`] rows, which become columns of [`LANES`] numbers each.
    /// There is room for the rows, `stride` apart.
    pub(crate) band: unsafe fn(&Band<'_>, &mut [i16], usize, &mut [i16]),
    /// Rows of numbers, `stride` apart, to columns of [`LANES`] numbers each.
    pub(crate) to_columns: unsafe fn(&[i16], usize, &mut [i16]),
    /// Columns of [`LANES`] numbers each to rows, `stride` apart.
    pub(crate) to_rows: unsafe fn(&[i16], usize, &mut [i16]),
    /// Each output column is the weighted sum of a run of columns: the same for several
    /// components, each of which has its first column and its outputs.
    pub(crate) horizontal: HorizontalKernel,
    /// The sum of rows that begin at these places, each with its weight: products are rounded one
    /// by one, as those of `horizontal` are.
    pub(crate) weighted: unsafe fn(&[i16], &[Place], &mut [i16]),
    /// How samples can be gathered, the quickest first.
    pub(crate) ways: &'static [Way],
    /// Samples of rows of bytes, gathered and summed into as many rows of numbers with seven bits
    /// after the point, or what is made of these then.
    pub(crate) gather: unsafe fn(&Gather, &Gathering<'_>, &mut [i16]),
    /// Each output is the sum of four bytes of every row, which begin two further along than those
    /// of the output before: along the row first, then of all rows, products rounded one by one.
    pub(crate) halved: unsafe fn(Sum<'_>, &Uniform<4>, &mut [i16]),
    /// The same for bytes in pairs, two of each kind for an output and one further along: the first
    /// of each pair to one row, the second to the other.
    pub(crate) slid_pairs: unsafe fn(Sum<'_>, &Uniform<2>, &mut [i16], &mut [i16]),
    /// Sums of rows, as `weighted` makes them, through a matrix and stored as bytes.
    pub(crate) store_kept: unsafe fn(&Kept<'_>, Out),
    /// A band of at least [`LANES`] columns through a matrix and stored as bytes; where there is
    /// none, `matrix`, `to_rows` and `store_bytes` do it.
    pub(crate) store_columns: Option<StoreKernel>,
    /// The same with every column as a row: any number of them. There is room for as many pixels
    /// in each as the band has rows.
    pub(crate) store_turned: Option<StoreKernel>,
    /// The same for a row, of at least twice [`LANES`] pixels.
    pub(crate) store_rgb: Option<unsafe fn(Columns<'_>, Out)>,
    /// Three rows through a colour matrix.
    pub(crate) matrix: MatrixKernel,
    /// Luma and chroma through a matrix, stored as bytes: one row of luma, or two that share
    /// their chroma.
    pub(crate) mixed: unsafe fn(Mixed<'_>, &[(*const u8, Out)]),
    /// Rows as bytes between each other, each combined with `flip` by exclusive or.
    pub(crate) store_bytes: unsafe fn(Finished<'_>, u8, *mut u8),
    /// Rows as scaled numbers between each other.
    pub(crate) store_real: unsafe fn(Finished<'_>, &Scale, Real, *mut u8),
    /// Rows through a matrix, as scaled numbers.
    pub(crate) store_coloured: unsafe fn(Coloured<'_>, Real, Out),
    /// Waits until what this thread stored can be seen by all.
    pub(crate) settle: unsafe fn(),
    /// The pattern over as many bytes, the last time perhaps not all of it.
    pub(crate) fill: unsafe fn(&Pattern, *mut u8, usize),
    /// What is summed in floating point.
    pub(crate) precise: Precise,
}

/// The loops that this processor can run, the best first.
pub(crate) fn all() -> impl Iterator<Item = &'static Kernels> {
    #[cfg(target_arch = "x86_64")]
    let own = {
        let [best, other] = avx512::in_order();
        let long = |kernels| avx512::available().then_some(kernels);
        [long(best), long(other), avx2::available().then_some(&avx2::KERNELS)]
    };
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    let own = [neon::available().then_some(&neon::KERNELS)];
    #[cfg(not(any(
        target_arch = "x86_64",
        all(target_arch = "aarch64", target_endian = "little")
    )))]
    let own: [Option<&'static Kernels>; 0] = [];
    own.into_iter().flatten().chain([&portable::KERNELS])
}

/// The best loops that this processor can run, or those that somebody named.
pub(crate) fn named(name: Option<&str>) -> Result<&'static Kernels> {
    let wanted =
        |kernels: &&Kernels| name.is_none_or(|name| name.eq_ignore_ascii_case(kernels.name));
    all().find(wanted).ok_or_else(|| {
        Error::from(crate::detail::UnknownWord {
            what: "instruction set of this processor",
            word: name.unwrap_or_default().to_owned(),
            known: all().map(|kernels| kernels.name).collect::<Vec<_>>().join(", "),
        })
    })
}
