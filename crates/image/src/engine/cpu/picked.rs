//! Outputs that are samples, each one of them: the nearest, every third, mirrors.
//!
//! The samples of a row are brought together first, so that all that follows has rows as short as
//! the output's.
#![expect(unsafe_code, reason = "reads rows of held memory")]

use crate::engine::cpu::feed::{Feed, Shape};
use crate::engine::cpu::fixed::Horizontal;
use crate::engine::cpu::kernels::Sum;
use crate::engine::cpu::prepare::Tile;
use crate::engine::cpu::strip::Strip;

/// Whether a pass can be done so: every output is one sample of one row, and the components of a
/// feed come from the same places.
pub(crate) fn possible(feeds: &[Feed], along: &[Option<Horizontal>]) -> bool {
    feeds.iter().all(|feed| {
        let mut tables = tables(feed, along);
        let first = tables.next().filter(|table| table.count == 1);
        let grouped = !matches!(feed.shape, Shape::LumaChroma { .. });
        grouped && feed.vertical.is_copy() && first.is_some_and(|one| tables.all(|it| it == one))
    })
}

/// The tile of such a pass, whose rows are as long as the output's.
pub(crate) fn tile(feeds: &[Feed], across: usize) -> Tile {
    Tile { outputs: 0..across, groups: vec![0..across; feeds.len()] }
}

/// Bytes that hold the picked samples of any feed.
pub(crate) fn bytes(feeds: &[Feed], across: usize) -> usize {
    feeds.iter().map(|feed| feed.shape.group_bytes() * across).max().unwrap_or(0)
}

fn tables<'a>(
    feed: &'a Feed,
    along: &'a [Option<Horizontal>],
) -> impl Iterator<Item = &'a Horizontal> {
    feed.shape.components().iter().filter_map(|&component| along[component].as_ref())
}

impl Strip<'_> {
    /// Brings the samples of an output row together, and says how they are summed.
    ///
    /// # Safety
    /// As [`Strip::run`].
    pub(super) unsafe fn pick<'a>(
        &'a self,
        feed: &'a Feed,
        row: usize,
        picked: &'a mut [u8],
    ) -> Option<Sum<'a>> {
        let plane = self.source.get(feed.plane)?;
        let table = tables(feed, &self.pass.along).next()?;
        let (taps, begin) = feed.vertical.taps(row);
        let from = plane.row(taps.first()?.row as usize);
        let places = &table.first[..];
        let groups = plane.row_bytes() / feed.shape.group_bytes();
        // By construction; addresses depend on it.
        assert!(places.iter().all(|place| *place < groups) && feed.vertical.rows <= plane.rows());
        // SAFETY: those places are inside a row of a held plane.
        unsafe {
            match feed.shape.group_bytes() {
                1 => gather::<1>(from, places, picked),
                2 => gather::<2>(from, places, picked),
                3 => gather::<3>(from, places, picked),
                _ => gather::<4>(from, places, picked),
            }
        }
        Some(Sum {
            taps,
            bits: feed.vertical.bits,
            fraction: self.pass.sum_fraction,
            wide: feed.vertical.wide,
            begin,
            first: picked.as_ptr(),
            // All rows are this one.
            stride: 0,
        })
    }
}

/// # Safety
/// From `from` on there must be groups of `N` bytes up to the last place.
unsafe fn gather<const N: usize>(from: *const u8, places: &[usize], picked: &mut [u8]) {
    for (place, into) in places.iter().zip(picked.as_chunks_mut::<N>().0) {
        // SAFETY: the caller's promise; bytes have no alignment.
        *into = unsafe { from.add(place * N).cast::<[u8; N]>().read() };
    }
}
