//! Luma and chroma that lie between each other, dealt out to a row of each before samples are gathered:
//! within as many bytes there are twice as many samples then.
#![expect(unsafe_code, reason = "hands addresses of held rows to kernels")]

use std::ops::Range;

use tenure_layout::PixelFormat;

use super::Gathered;
use super::set::Set;
use crate::component::{Component, components};
use crate::engine::cpu::feed::{Feed, Shape};
use crate::engine::cpu::kernels::Gather;
use crate::engine::cpu::strip::Strip;
use crate::held::PlaneAddress;

/// What is dealt out, and where to.
#[derive(Debug)]
pub(crate) struct Dealt {
    luma_first: bool,
    /// Groups of a row.
    groups: usize,
    /// Rows that are dealt out together.
    together: usize,
    /// Bytes from a row to the next.
    stride: usize,
}

/// Bytes of luma in a group, and bytes of chroma.
const HALF: usize = 2;

/// Bytes of a line of the cache.
const LINE: usize = 64;

impl Dealt {
    /// Where components are once they are dealt out: as in a format that has them so.
    pub(super) const COMPONENTS: &[Component] = components(PixelFormat::Nv16);

    /// Whether rows of a picture are dealt out.
    pub(super) fn are(feeds: &[Feed]) -> bool {
        matches!(feeds, [Feed { shape: Shape::LumaChroma { .. }, .. }])
    }

    /// Whether dealing out takes less time than columns do. Every source row is resized along, and if the
    /// picture shrinks there are more of them than output rows: a little is enough, and rows must be long.
    pub(super) fn pays(gather: &Gather, outputs: usize) -> bool {
        const LONG: usize = 900;
        let samples = gather.read().len() / usize::from(gather.step);
        let shrinks_little = outputs >= LONG && 2 * samples <= 3 * outputs;
        outputs >= gather.way.dealt && (gather.pairs == 1 || shrinks_little)
    }

    /// Bytes of a group in each of the rows that it comes to.
    pub(super) fn group_bytes(shape: Shape) -> usize {
        match shape {
            Shape::LumaChroma { .. } => HALF,
            _ => shape.group_bytes(),
        }
    }

    pub(super) fn new(feeds: &[Feed], sets: &[Set]) -> Option<Dealt> {
        let [Feed { shape: Shape::LumaChroma { luma_first }, .. }] = *feeds else { return None };
        let groups = sets.iter().map(|set| set.read.end.div_ceil(HALF)).max()?;
        let together = sets.iter().map(|set| set.gather.way.together as usize).max()?;
        // An odd number of lines, so that rows do not fall on top of each other in the cache.
        let stride = ((HALF * groups).div_ceil(LINE) | 1) * LINE;
        Some(Dealt { luma_first, groups, together, stride })
    }

    /// Bytes of a source row that are read.
    pub(super) fn read(&self) -> usize {
        2 * HALF * self.groups
    }

    /// Bytes for rows that are dealt out.
    pub(crate) fn bytes(&self) -> usize {
        2 * self.together * self.stride
    }
}

impl Strip<'_> {
    /// Resizes those rows that an output row needs and that are not kept, dealt out first.
    ///
    /// # Safety
    /// As [`Strip::run`].
    pub(super) unsafe fn gather_dealt(
        &self,
        gathered: &Gathered,
        dealt: &Dealt,
        missing: Range<u32>,
        (numbers, picked): (&mut [i16], &mut [u8]),
    ) {
        let (bytes, stride) = (HALF * dealt.groups, dealt.stride);
        let Some(plane) = self.pass.feeds.first().and_then(|feed| self.source.get(feed.plane))
        else {
            return;
        };
        // By construction; addresses depend on it.
        assert!(2 * bytes <= plane.row_bytes() && missing.end as usize <= plane.rows());
        let (first, second) = picked[..dealt.bytes()].split_at_mut(dealt.together * stride);
        let mut rows = missing;
        while !rows.is_empty() {
            let some = rows.start..rows.end.min(rows.start + dealt.together as u32);
            let places = first.chunks_mut(stride).zip(second.chunks_mut(stride));
            for (row, (first, second)) in some.clone().zip(places) {
                let from = plane.row(row as usize);
                let (first, second) = (&mut first[..bytes], &mut second[..bytes]);
                // SAFETY: the groups are inside a row of a held plane.
                unsafe { (self.kernels.split_bytes)(from, plane.stride(), first, second) };
            }
            let of_rows = |rows: &[u8]| PlaneAddress::of_rows(rows, (some.len(), stride, bytes));
            let (first, second) = (of_rows(first), of_rows(second));
            let planes = if dealt.luma_first { [first, second] } else { [second, first] };
            for set in &gathered.sets {
                // SAFETY: the planes are rows that live here.
                unsafe { self.gather_all((gathered, set), some.clone(), (&planes, 0), numbers) };
            }
            rows.start = some.end;
        }
    }
}
