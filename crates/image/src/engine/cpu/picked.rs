//! Outputs that are samples, each one of them: the nearest, every third, mirrors.
//!
//! The samples of a row are brought together first, so that all that follows has rows as short as
//! the output's.
#![expect(unsafe_code, reason = "reads rows of held memory")]

use std::ops::Range;

use crate::engine::cpu::feed::{Feed, Shape};
use crate::engine::cpu::fixed::Horizontal;
use crate::engine::cpu::kernels::Sum;
use crate::engine::cpu::strip::Strip;

/// The groups of a row that outputs are.
#[derive(Debug)]
pub(crate) struct Places {
    groups: Vec<usize>,
    /// One past the last of them.
    end: usize,
}

/// Picks samples if that makes rows as long as the output's: if every output is one sample of one
/// row, from the same places for all components of a feed. For what follows, samples lie in order
/// then. Where some have to be turned into columns anyway, the others join them at less cost.
pub(crate) fn find(feeds: &mut [Feed], along: &mut [Option<Horizontal>]) {
    if !feeds.iter().all(|feed| is_possible(feed, along)) {
        return;
    }
    for feed in feeds {
        for &component in feed.shape.components() {
            let Some(table) = &mut along[component] else { continue };
            let in_order = (0..table.first.len()).collect();
            let groups = std::mem::replace(&mut table.first, in_order);
            let end = groups.iter().max().map_or(0, |last| last + 1);
            feed.places = Some(Places { groups, end });
        }
    }
}

fn is_possible(feed: &Feed, along: &[Option<Horizontal>]) -> bool {
    let mut tables = feed.shape.components().iter().filter_map(|&c| along[c].as_ref());
    let first = tables.next().filter(|table| table.count == 1);
    let grouped = !matches!(feed.shape, Shape::LumaChroma { .. });
    grouped && feed.vertical.is_copy() && first.is_some_and(|one| tables.all(|it| it == one))
}

/// Bytes for the picked samples of a row of these groups.
pub(crate) fn bytes(feed: &Feed, groups: &Range<usize>) -> usize {
    feed.places.as_ref().map_or(0, |_| feed.shape.group_bytes() * groups.len())
}

impl Strip<'_> {
    /// How a row is summed, its samples being picked first if that is what the feed wants; they
    /// are put into `picked`.
    ///
    /// # Safety
    /// As [`Strip::run`].
    pub(super) unsafe fn picked<'a>(
        &'a self,
        feed: &'a Feed,
        groups: &Range<usize>,
        row: usize,
        picked: &mut [u8],
    ) -> Option<Sum<'a>> {
        let (taps, begin) = feed.vertical.taps(row);
        let Some(places) = &feed.places else {
            return self.sum(feed, groups).map(|sum| Sum { taps, begin, ..sum });
        };
        let (plane, bytes) = (self.source.get(feed.plane)?, feed.shape.group_bytes());
        // By construction; addresses depend on it.
        assert!(places.end * bytes <= plane.row_bytes() && feed.vertical.rows <= plane.rows());
        let places = &places.groups[groups.clone()];
        assert!(picked.len() >= places.len() * bytes);
        let from = plane.row(taps.first()?.row as usize);
        // SAFETY: those places are inside a row of a held plane.
        unsafe {
            match bytes {
                1 => gather::<1>(from, places, picked),
                2 => gather::<2>(from, places, picked),
                3 => gather::<3>(from, places, picked),
                _ => gather::<4>(from, places, picked),
            }
        }
        // Whatever its number is, the row is this one.
        let (first, stride) = (picked.as_ptr(), 0);
        Some(Sum { taps, begin, first, stride, ..self.weights(feed) })
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
