//! Pictures that become larger, or a little smaller: rows are resized along first, and stay rows.
//!
//! Eight neighbouring outputs are made of samples within sixteen bytes then, or sixteen and more
//! within 64, which one instruction gathers. Every source row is resized once, when an output row
//! first needs it, and kept until the last that does is made: nothing is turned into columns and
//! back.
#![expect(unsafe_code, reason = "hands addresses of held rows to kernels")]

use std::ops::Range;

use crate::engine::cpu::fixed::FixedMatrix;
use crate::engine::cpu::kernels::{Gathering, MOST_ROWS, Out, Place, Terms};
use crate::engine::cpu::prepare::{Store, Tile, is_rgb_bytes};
use crate::engine::cpu::strip::Strip;

mod set;

pub(crate) use set::{Set, find};

/// How a pass is done so.
#[derive(Debug)]
pub(crate) struct Gathered {
    pub(crate) sets: Vec<Set>,
    /// Whether rows go through the colour matrix before they are summed, of which there are fewer:
    /// kept are what luma is in all colours then, and what chroma is in each of them. Sums down have
    /// the five bits of the matrix then, and lose two of the last and one for each row more: less than
    /// half of a code for as many rows as there are ways for, which bytes have room for.
    pub(crate) terms: bool,
}

impl Gathered {
    pub(crate) fn new(
        mut sets: Vec<Set>,
        matrix: Option<&FixedMatrix>,
        stores: &[Store],
    ) -> Gathered {
        let mut terms = matrix.is_some_and(FixedMatrix::is_to_rgb) && is_rgb_bytes(stores);
        match &mut sets[..] {
            [luma, chroma] if terms && luma.outs == [0] && chroma.outs == [1, 2] => {
                chroma.outs.push(3);
            }
            _ => terms = false,
        }
        Gathered { sets, terms }
    }
}

/// The source rows of a set that are kept: those that the last output row is made of.
type Present = Range<u32>;

impl Strip<'_> {
    /// Makes rows of a picture of one tile.
    ///
    /// # Safety
    /// As [`Strip::run`].
    pub(super) unsafe fn run_gathered(
        &self,
        rows: Range<usize>,
        tile: &Tile,
        gathered: &Gathered,
        numbers: &mut [i16],
    ) {
        let ending = self.ending(tile);
        let mut present: [Present; 4] = [0..0, 0..0, 0..0, 0..0];
        for row in rows {
            for (set, present) in gathered.sets.iter().zip(&mut present) {
                // SAFETY: the caller's promise.
                unsafe { self.gather_rows(gathered, set, row, present, numbers) };
            }
            // SAFETY: the caller's promise.
            unsafe {
                match (&gathered.sets[..], ending.out) {
                    ([luma, chroma], Some((first, strides))) if gathered.terms => {
                        let out = first.down(row, strides);
                        self.store_terms(tile, row, [luma, chroma], numbers, out);
                    }
                    _ => {
                        self.sum_kept(gathered, row, tile.outputs.len(), numbers);
                        self.finish_row(&ending, tile, row, numbers);
                    }
                }
            }
        }
    }

    /// Resizes those of a set's rows that an output row needs and that are not kept.
    ///
    /// # Safety
    /// As [`Strip::run`].
    unsafe fn gather_rows(
        &self,
        gathered: &Gathered,
        set: &Set,
        row: usize,
        present: &mut Present,
        numbers: &mut [i16],
    ) {
        let taps = self.pass.feeds[set.feed].vertical.taps(row).0;
        let (Some(first), Some(last)) = (taps.first(), taps.last()) else { return };
        let needed = first.row..last.row + 1;
        // Rows rise from output to output, or fall; there are no branches to guess.
        let after = needed.start.max(present.end)..needed.end;
        let before = needed.start..needed.end.min(present.start);
        *present = needed;
        // Rows of one component share what is read of the tables, as two components do.
        let together = if set.outs.len() == 1 { set.gather.way.together } else { 1 };
        for mut missing in [after, before] {
            while !missing.is_empty() {
                let end = missing.end.min(missing.start + together);
                // SAFETY: the caller's promise.
                unsafe { self.gather_together(gathered, set, missing.start..end, numbers) };
                missing.start = end;
            }
        }
    }

    /// Resizes one of a set's source rows, or few of a set of one component.
    ///
    /// # Safety
    /// As [`Strip::run`].
    unsafe fn gather_together(
        &self,
        gathered: &Gathered,
        set: &Set,
        rows: Range<u32>,
        numbers: &mut [i16],
    ) {
        let (mut from, mut parts) = ([std::ptr::null(); 4], 0);
        let (mut to, mut outs) = ([0; 4], 0);
        let ahead = rows.len() * set.stride(self.source);
        for row in rows {
            parts += set.rows(self.source, row as usize, &mut from[parts..]);
            for &index in &set.outs {
                to[outs] = self.pass.scratch.kept[index].place(row);
                outs += 1;
            }
        }
        let gathering = Gathering {
            from: &from[..parts],
            to: &to[..outs],
            matrix: self.pass.matrix.as_ref().filter(|_| gathered.terms),
            half: 1 << self.pass.fraction >> 1,
            ahead,
        };
        // SAFETY: windows lie inside rows of held planes.
        unsafe { (self.kernels.gather)(&set.gather, &gathering, numbers) };
    }

    /// Sums the kept rows that an output row is made of.
    fn sum_kept(&self, gathered: &Gathered, row: usize, n: usize, numbers: &mut [i16]) {
        for set in &gathered.sets {
            let taps = self.pass.feeds[set.feed].vertical.taps(row).0;
            for &component in &set.outs {
                let kept = self.pass.scratch.kept[component];
                let mut places: [Place; MOST_ROWS] = [(0, 0); MOST_ROWS];
                for (place, tap) in places.iter_mut().zip(taps) {
                    *place = (kept.place(tap.row), tap.narrow());
                }
                let places = &places[..taps.len().min(MOST_ROWS)];
                let start = self.pass.scratch.resized[component].start;
                let (before, after) = numbers.split_at_mut(start);
                // SAFETY: the kernels are those of this processor.
                unsafe { (self.kernels.weighted)(before, places, &mut after[..n]) };
            }
        }
    }

    /// Sums the kept rows of luma and chroma that an output row is made of, and stores it.
    ///
    /// # Safety
    /// As [`Strip::run`], with `out` as the place of the row.
    unsafe fn store_terms(
        &self,
        tile: &Tile,
        row: usize,
        [luma, chroma]: [&Set; 2],
        numbers: &[i16],
        out: Out,
    ) {
        let pass = self.pass;
        let taps = |set: &Set| pass.feeds[set.feed].vertical.taps(row).0;
        let terms = Terms {
            numbers,
            kept: &pass.scratch.kept,
            luma: taps(luma),
            chroma: taps(chroma),
            fraction: pass.fraction,
            flip: pass.flip(),
            pixels: tile.outputs.len(),
        };
        // SAFETY: the content rectangle is inside the destination, which is held to write.
        unsafe { (self.kernels.store_terms)(&terms, out) };
    }
}
