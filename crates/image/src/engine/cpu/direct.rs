//! Pictures whose luma keeps its size: bytes of luma go straight to red, green and blue.
#![expect(unsafe_code, reason = "hands addresses of held rows to kernels")]

use std::ops::Range;

use smallvec::SmallVec;

use crate::engine::cpu::feed::{Feed, Shape};
use crate::engine::cpu::fixed::{FixedMatrix, Horizontal};
use crate::engine::cpu::kernels::Mixed;
use crate::engine::cpu::prepare::{Store, is_rgb_bytes};
use crate::engine::cpu::strip::Strip;
use crate::taps::Taps;

/// How chroma rows become as long as luma rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chroma {
    /// They are.
    Whole,
    /// Two pixels share a sample.
    Halved,
    /// Two pixels lie between samples: the weights of [`super::kernels::Kernels::double`].
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
    let straight = first.shape == Shape::Bytes(0)
        && first.vertical.is_copy()
        && luma.is_copy()
        && matrix?.is_to_rgb();
    if !straight || !is_rgb_bytes(stores) {
        return None;
    }
    if u.is_copy() && u.first.len() == luma.first.len() {
        return (u.first.first() == luma.first.first()).then_some(Chroma::Whole);
    }
    // Pairs of pixels that share a sample must begin with the first pixel.
    let start = luma.first.first()? / 2;
    if luma.first.first()? % 2 != 0 {
        return None;
    }
    let halves = |(at, first): (usize, &usize)| *first == start + at / 2;
    if u.count == 1 && u.first.iter().enumerate().all(halves) {
        return Some(Chroma::Halved);
    }
    let (across, _) = taps.get(1)?.as_ref()?;
    let centre = [0.25, 0.75, 0.75, 0.25];
    let left = [0.0, 1.0, 0.5, 0.5];
    let weights = [centre, left].into_iter().find(|weights| doubles(across, start, *weights))?;
    Some(Chroma::Doubled(weights.map(|weight| (weight * 32768.0_f64).min(32767.0) as i16)))
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
    /// Whether the chroma of a row is that of the one before.
    pub(crate) fn shares_chroma(&self, row: usize) -> bool {
        self.pass.feeds[1..].iter().all(|feed| feed.vertical.alike(row - 1, row))
    }

    /// Stores one row or two, whose chroma is summed.
    ///
    /// # Safety
    /// As [`Strip::run`].
    pub(crate) unsafe fn store_direct(
        &self,
        rows: Range<usize>,
        chroma: Chroma,
        numbers: &mut [i16],
    ) {
        let (pass, scratch) = (self.pass, &self.pass.scratch);
        let (Some(matrix), Some(tile), Some(feed)) =
            (&pass.matrix, pass.tiles.first(), pass.feeds.first())
        else {
            return;
        };
        let (Some(plane), Some(groups)) = (self.source.get(feed.plane), tile.groups.first()) else {
            return;
        };
        let n = tile.outputs.len();
        let chroma_rows: [Range<usize>; 2] = [1, 2].map(|component| {
            let summed = scratch.rows[component].start;
            let samples = if chroma == Chroma::Whole { n } else { n.div_ceil(2) };
            let Chroma::Doubled(weights) = chroma else { return summed..summed + samples };
            // The first and last samples stand for those beyond them.
            numbers[summed - 1] = numbers[summed];
            numbers[summed + samples] = numbers[summed + samples - 1];
            let to = &scratch.colours[component - 1];
            let (before, after) = numbers.split_at_mut(to.start);
            let from = &before[summed - 1..summed + samples + 1];
            // SAFETY: the kernels are those of this processor.
            unsafe { (self.kernels.double)(from, weights, &mut after[..n]) };
            to.start..to.start + n
        });
        let mixed = Mixed {
            chroma: chroma_rows.map(|range| &numbers[range]),
            halved: chroma == Chroma::Halved,
            matrix,
            flip: pass.flip(),
            pixels: n,
        };
        let one = |row: usize| {
            let luma = feed.vertical.taps(row).0.first()?.row as usize;
            let (out, _) = self.out(pass.left, row)?;
            Some((plane.row(luma).wrapping_add(groups.start).cast_const(), out))
        };
        let rows: SmallVec<[_; 2]> = rows.filter_map(one).collect();
        // SAFETY: rows of luma are inside a held plane, and the content rectangle inside the
        // destination, which is held to write.
        unsafe { (self.kernels.mixed)(mixed, &rows) }
    }
}
