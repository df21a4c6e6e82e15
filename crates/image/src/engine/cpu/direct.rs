//! Pictures whose luma keeps its size: bytes of luma go straight to red, green and blue. Where luma and
//! chroma lie between each other, each row is dealt out to two first.
#![expect(unsafe_code, reason = "hands addresses of held rows to kernels")]

use std::ops::Range;

use crate::engine::cpu::feed::{Feed, Shape};
use crate::engine::cpu::fixed::{FixedMatrix, Horizontal};
use crate::engine::cpu::kernels::{ChromaRow, Mixed, Sum};
use crate::engine::cpu::prepare::{Store, Tile, is_rgb_bytes};
use crate::engine::cpu::strip::Strip;
use crate::held::PlaneAddress;
use crate::taps::Taps;

/// How chroma rows become as long as luma rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chroma {
    /// They are.
    Whole,
    /// Two pixels share a sample.
    Halved,
    /// Two pixels share a sample, and the bytes of a row are used as they are: those of the red
    /// difference first if so told.
    Bytes { red_first: bool },
    /// Two pixels lie between samples: the weights of [`ChromaRow::Doubled`].
    Doubled([i16; 4]),
}

/// Room before the first and after the last chroma sample of a row.
pub(crate) const MARGIN: usize = 16;

/// Whether a pass can be done so, and how.
pub(crate) fn chroma(
    feeds: &[Feed],
    along: &[Option<Horizontal>],
    taps: &[Option<(Taps, Taps)>],
    matrix: Option<&FixedMatrix>,
    stores: &[Store],
) -> Option<Chroma> {
    let [Some(luma), Some(u), Some(_)] = along else { return None };
    let first = feeds.first()?;
    let dealt = is_dealt(first);
    let straight = (first.shape == Shape::Bytes(0) || dealt)
        && first.vertical.is_copy()
        && luma.is_copy()
        && matrix?.is_to_rgb();
    if !straight || !is_rgb_bytes(stores) {
        return None;
    }
    if u.is_copy() && u.first.len() == luma.first.len() {
        return (u.first.first() == luma.first.first() && !dealt).then_some(Chroma::Whole);
    }
    // Pairs of pixels that share a sample must begin with the first pixel.
    let start = luma.first.first()? / 2;
    if luma.first.first()? % 2 != 0 {
        return None;
    }
    let halves = |(at, first): (usize, &usize)| *first == start + at / 2;
    if u.count == 1 && u.first.iter().enumerate().all(halves) {
        return Some(match feeds {
            [_, Feed { shape: Shape::Pairs([first, _]), vertical, .. }] if vertical.is_copy() => {
                Chroma::Bytes { red_first: *first == 2 }
            }
            [_] if dealt => Chroma::Bytes { red_first: false },
            _ => Chroma::Halved,
        });
    }
    let (across, _) = taps.get(1)?.as_ref()?;
    let centre = [0.25, 0.75, 0.75, 0.25];
    let left = [0.0, 1.0, 0.5, 0.5];
    let weights = [centre, left].into_iter().find(|weights| doubles(across, start, *weights))?;
    Some(Chroma::Doubled(weights.map(|weight| (weight * 32768.0_f64).min(32767.0) as i16)))
}

/// Whether the rows of a feed are dealt out to one of luma and one of chroma.
pub(crate) fn is_dealt(feed: &Feed) -> bool {
    matches!(feed.shape, Shape::LumaChroma { .. })
}

/// Whether taps are those of samples doubled with these weights, the first and last repeated.
fn doubles(taps: &Taps, start: usize, [a, b, c, d]: [f64; 4]) -> bool {
    let last = start + (taps.first.len() - 1) / 2;
    (0..taps.first.len()).all(|output| {
        let own = start + output / 2;
        let expected = if output % 2 == 0 {
            [(own.saturating_sub(1).max(start), a), (own, b)]
        } else {
            [(own, c), ((own + 1).min(last), d)]
        };
        let mut rest: Vec<(usize, f64)> = expected.to_vec();
        for (at, weight) in taps.weights_of(output).iter().enumerate() {
            rest.push((taps.first[output] + at, -weight));
        }
        let sample = |sample: usize| rest.iter().filter(move |(at, _)| *at == sample);
        rest.iter().all(|(at, _)| sample(*at).map(|(_, weight)| weight).sum::<f64>().abs() < 1e-9)
    })
}

impl Strip<'_> {
    /// Makes rows of a picture of one tile.
    ///
    /// # Safety
    /// As [`Strip::run`].
    pub(crate) unsafe fn run_direct(
        &self,
        rows: Range<usize>,
        tile: &Tile,
        chroma: Chroma,
        (numbers, picked): (&mut [i16], &mut [u8]),
    ) {
        if self.pass.feeds.first().is_some_and(is_dealt) {
            for row in rows {
                // SAFETY: the caller's promise.
                unsafe { self.store_dealt(row, tile, chroma, numbers, picked) };
            }
            return;
        }
        // Whether the chroma of a row is that of the one before.
        let chroma_feeds = self.pass.feeds.get(1..).unwrap_or_default();
        let shared = |row: usize| chroma_feeds.iter().all(|feed| feed.vertical.alike(row - 1, row));
        let (mut row, first) = (rows.start, rows.start);
        while row < rows.end {
            let two = row + 1 < rows.end && shared(row + 1);
            // SAFETY: the caller's promise.
            unsafe {
                let summed = matches!(chroma, Chroma::Bytes { .. }) || row > first && shared(row);
                if !summed {
                    self.sum_rows(tile, 1, row, &mut [], numbers);
                }
                let luma = |row: usize| self.first_byte(0, row, tile);
                let (first, second) = (luma(row), if two { luma(row + 1) } else { None });
                if let (Some(first), Some(bytes)) = (first, self.chroma_bytes(chroma, row, tile)) {
                    self.store_direct(row, [Some(first), second], bytes, tile, chroma, numbers);
                }
            }
            row += if two { 2 } else { 1 };
        }
    }

    /// Deals a row out to luma and chroma, and stores it.
    ///
    /// # Safety
    /// As [`Strip::run`].
    unsafe fn store_dealt(
        &self,
        row: usize,
        tile: &Tile,
        chroma: Chroma,
        numbers: &mut [i16],
        picked: &mut [u8],
    ) {
        let ([feed], [groups]) = (&self.pass.feeds[..], &tile.groups[..]) else { return };
        let Some(from) = self.first_byte(0, row, tile) else { return };
        let (first, second) = picked.split_at_mut(2 * groups.len());
        let second = &mut second[..2 * groups.len()];
        // Two rows: as much later as memory needs.
        let ahead = 2 * self.source.get(feed.plane).map_or(0, PlaneAddress::stride);
        // SAFETY: the groups lie inside the rows of a held plane, and have four bytes each.
        unsafe { (self.kernels.split_bytes)(from, ahead, first, second) };
        let luma_first = feed.shape == Shape::LumaChroma { luma_first: true };
        let (luma, bytes) = if luma_first { (first, second) } else { (second, first) };
        let (luma, bytes) = (luma.as_ptr(), bytes.as_ptr());
        // SAFETY: both are as long as the groups have samples.
        unsafe {
            if !matches!(chroma, Chroma::Bytes { .. }) {
                let (taps, begin) = feed.vertical.taps(row);
                // Whatever its number is, the row is this one.
                let sum = Sum { taps, begin, first: bytes, stride: 0, ..self.weights(feed) };
                self.sum_row(Shape::Pairs([1, 2]), sum, groups.len(), numbers);
            }
            self.store_direct(row, [Some(luma), None], bytes, tile, chroma, numbers);
        }
    }

    /// Stores a row of luma, or two that share their chroma.
    ///
    /// # Safety
    /// As [`Strip::run`]; chroma must be summed, if it is to be, or lie where it is told.
    unsafe fn store_direct(
        &self,
        row: usize,
        luma: [Option<*const u8>; 2],
        bytes: *const u8,
        tile: &Tile,
        chroma: Chroma,
        numbers: &mut [i16],
    ) {
        let (pass, n) = (self.pass, tile.outputs.len());
        let Some(matrix) = &pass.matrix else { return };
        let chroma = match chroma {
            Chroma::Whole => ChromaRow::Whole(self.chroma_rows(n, numbers)),
            Chroma::Halved => ChromaRow::Halved(self.chroma_rows(n.div_ceil(2), numbers)),
            Chroma::Doubled(weights) => {
                let rows = self.chroma_rows_and_ends(n.div_ceil(2), numbers);
                ChromaRow::Doubled { rows, weights }
            }
            Chroma::Bytes { red_first } => ChromaRow::Bytes { at: bytes, red_first },
        };
        let mixed = Mixed { chroma, matrix, flip: pass.flip(), pixels: n };
        let one = |index: usize| Some((luma[index]?, self.out(pass.left, row + index)?.0));
        let Some(first) = one(0) else { return };
        // SAFETY: rows of luma and chroma are inside held planes or as long as they, and the content
        // rectangle is inside the destination, which is held to write.
        unsafe {
            match one(1) {
                Some(second) => (self.kernels.mixed)(mixed, &[first, second]),
                None => (self.kernels.mixed)(mixed, &[first]),
            }
        }
    }

    /// Where the bytes of chroma of a row are, if they are used as they are.
    fn chroma_bytes(&self, chroma: Chroma, row: usize, tile: &Tile) -> Option<*const u8> {
        match chroma {
            Chroma::Bytes { .. } => self.first_byte(1, row, tile),
            _ => Some(std::ptr::null()),
        }
    }

    /// Where the only source row of an output row begins, for a feed that copies.
    fn first_byte(&self, feed: usize, row: usize, tile: &Tile) -> Option<*const u8> {
        let (feed, groups) = (self.pass.feeds.get(feed)?, tile.groups.get(feed)?);
        let sum = self.sum(feed, groups)?;
        Some(sum.row(feed.vertical.taps(row).0.first()?))
    }

    /// The summed rows of chroma, `n` samples long.
    fn chroma_rows<'n>(&self, n: usize, numbers: &'n [i16]) -> [&'n [i16]; 2] {
        [1, 2].map(|component| &numbers[self.pass.scratch.rows[component].row(0, n)])
    }

    /// The same with the first and the last sample once more, for those beyond them.
    fn chroma_rows_and_ends<'n>(&self, n: usize, numbers: &'n mut [i16]) -> [&'n [i16]; 2] {
        let rows = [1, 2].map(|component| self.pass.scratch.rows[component].start);
        for start in rows {
            numbers[start - 1] = numbers[start];
            numbers[start + n] = numbers[start + n - 1];
        }
        rows.map(|start| &numbers[start - 1..start + n + 1])
    }
}
