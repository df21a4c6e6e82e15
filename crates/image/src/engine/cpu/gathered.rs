//! Pictures that become larger, or a little smaller: rows are resized along first, and stay rows.
//!
//! Eight neighbouring outputs are made of samples within sixteen bytes then, or sixteen and more
//! within 64, which one instruction gathers. Every source row is resized once, when an output row
//! first needs it, and kept until the last that does is made: nothing is turned into columns and
//! back.
#![expect(unsafe_code, reason = "hands addresses of held rows to kernels")]

use std::ops::Range;

use smallvec::SmallVec;

use crate::engine::cpu::feed::Feed;
use crate::engine::cpu::finish::Ending;
use crate::engine::cpu::fixed::{FixedMatrix, MATRIX_COST, MIDDLE};
use crate::engine::cpu::kernels::{Gathering, Kept, MOST_ROWS, Place, Soon, Then};
use crate::engine::cpu::prepare::{Store, Tile, is_rgb_bytes};
use crate::engine::cpu::strip::Strip;
use crate::held::PlaneAddress;

mod dealt;
mod needed;
mod set;

pub(crate) use dealt::Dealt;
use needed::Needed;
pub(crate) use set::{Set, find};

/// How a pass is done so.
#[derive(Debug)]
pub(crate) struct Gathered {
    pub(crate) sets: Vec<Set>,
    /// Whether one kernel sums kept rows, puts them through the matrix and stores them. Kept are what luma
    /// is in all colours then, with the five bits of the matrix, and chroma as much above as below zero.
    /// Sums of luma lose one of the last of these bits and a half for each row: less than half of a code for
    /// as many rows as there are ways for, which bytes have room for.
    pub(crate) at_once: bool,
    /// Where rows are dealt out first.
    pub(crate) dealt: Option<Dealt>,
}

impl Gathered {
    pub(crate) fn new(
        feeds: &[Feed],
        mut sets: Vec<Set>,
        matrix: Option<&FixedMatrix>,
        stores: &[Store],
    ) -> Gathered {
        let matrix = matrix.filter(|matrix| matrix.is_to_rgb() && is_rgb_bytes(stores));
        let at_once = match (&mut sets[..], matrix) {
            ([luma, chroma], Some(matrix)) if luma.outs == [0] && chroma.outs == [1, 2] => {
                let half = 1 << Kept::FRACTION >> 1;
                let factor = matrix.rows[0][0];
                luma.then = Then::Times { factor, add: matrix.luma_offset + half };
                chroma.then = Then::Plus(-((MIDDLE as i16) << (Kept::FRACTION + MATRIX_COST)));
                true
            }
            _ => false,
        };
        let dealt = Dealt::new(feeds, &sets);
        Gathered { sets, at_once, dealt }
    }
}

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
        (numbers, picked): (&mut [i16], &mut [u8]),
    ) {
        let ending = self.ending(tile);
        let vertical = |set: &Set| &self.pass.feeds[set.feed].vertical;
        // All components that are dealt out have the same rows.
        let different = if gathered.dealt.is_some() { 1 } else { gathered.sets.len() };
        let mut needed: SmallVec<[Needed<'_>; 4]> = gathered.sets[..different]
            .iter()
            .map(|set| Needed::new(vertical(set), &rows))
            .collect();
        for row in rows {
            // SAFETY: the caller's promise.
            unsafe {
                if let Some(dealt) = &gathered.dealt {
                    self.gather_dealt(gathered, dealt, needed[0].next(), (numbers, picked));
                } else {
                    for (set, needed) in gathered.sets.iter().zip(&mut needed) {
                        let missing = needed.next();
                        let planes = (self.source, missing.start as usize);
                        self.gather_all((gathered, set), missing, planes, numbers);
                    }
                }
                if gathered.at_once {
                    self.store_kept(gathered, tile, row, &mut needed, &ending, numbers);
                } else {
                    self.sum_kept(gathered, row, tile.outputs.len(), numbers);
                    self.finish_row(&ending, tile, row, numbers);
                }
            }
        }
    }

    /// Resizes a set's source rows, which in these planes have numbers from `first` on.
    ///
    /// # Safety
    /// As [`Strip::run`], with these planes.
    unsafe fn gather_all(
        &self,
        (gathered, set): (&Gathered, &Set),
        mut rows: Range<u32>,
        (planes, mut first): (&[PlaneAddress], usize),
        numbers: &mut [i16],
    ) {
        // Rows of all components share what is read of the tables.
        let together = (set.gather.way.together / set.outs.len() as u32).max(1);
        while !rows.is_empty() {
            let some = rows.start..rows.end.min(rows.start + together);
            // SAFETY: the caller's promise.
            unsafe {
                self.gather_together((gathered, set), some.clone(), (planes, first), numbers)
            };
            rows.start = some.end;
            first += some.len();
        }
    }

    /// Resizes one of a set's source rows, or few of a set of one component.
    ///
    /// # Safety
    /// As [`Strip::gather_all`].
    unsafe fn gather_together(
        &self,
        (gathered, set): (&Gathered, &Set),
        rows: Range<u32>,
        (planes, first): (&[PlaneAddress], usize),
        numbers: &mut [i16],
    ) {
        let (mut from, mut parts) = ([std::ptr::null(); 4], 0);
        let (mut to, mut outs) = ([0; 4], 0);
        // What is dealt out is near already.
        let ahead = if gathered.dealt.is_some() { 0 } else { rows.len() * set.stride(planes) };
        for (row, in_plane) in rows.zip(first..) {
            parts += set.rows(planes, in_plane, &mut from[parts..]);
            for &index in &set.outs {
                to[outs] = self.pass.scratch.kept[index].place(row);
                outs += 1;
            }
        }
        let (from, to) = (&from[..parts], &to[..outs]);
        let gathering = Gathering { from, to, then: set.then, ahead };
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
    /// As [`Strip::run`].
    unsafe fn store_kept(
        &self,
        gathered: &Gathered,
        tile: &Tile,
        row: usize,
        needed: &mut [Needed<'_>],
        ending: &Ending,
        numbers: &[i16],
    ) {
        let pass = self.pass;
        let ([luma, chroma], Some(matrix)) = (&gathered.sets[..], &pass.matrix) else { return };
        let Some((first, strides)) = ending.out else { return };
        let pixels = tile.outputs.len();
        // Whole lines for each run of as many pixels as a line has bytes.
        let step = gathered.dealt.as_ref().map_or(luma.read.end, Dealt::read).div_ceil(pixels);
        let (mut lines, mut count) = ([std::ptr::null(); SOON], 0);
        for (set, needed) in gathered.sets.iter().zip(needed) {
            let rows = needed.soon().flat_map(|row| set.planes().map(move |plane| (plane, row)));
            for (plane, row) in rows {
                let Some(plane) = self.source.get(plane) else { continue };
                let first = plane.row(row as usize).cast_const();
                for line in 0..step {
                    if let Some(place) = lines.get_mut(count) {
                        *place = first.wrapping_add(LINE * line);
                        count += 1;
                    }
                }
            }
        }
        let taps = |set: &Set| pass.feeds[set.feed].vertical.taps(row).0;
        let kept = Kept {
            numbers,
            rings: [0, 1, 2].map(|index| &pass.scratch.kept[index]),
            luma: taps(luma),
            chroma: taps(chroma),
            matrix,
            flip: pass.flip(),
            pixels,
            soon: Soon { lines: &lines[..count], step },
        };
        // SAFETY: the content rectangle is inside the destination, which is held to write.
        unsafe { (self.kernels.store_kept)(&kept, first.down(row, strides)) };
    }
}

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Most lines that are fetched while as many pixels are stored.
const SOON: usize = 16;
