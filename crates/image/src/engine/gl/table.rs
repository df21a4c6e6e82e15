//! Weights as textures: for every output a row of texels, the same for all filters.
//!
//! The first texel of a row has the first word (or row of the source) of each feed; the weights
//! of each feed follow: across, a texel is the weights of a word's four bytes; down, of four rows.

use smallvec::SmallVec;

use super::feed::Feed;
use crate::taps::Taps;

/// The weights of one axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Table {
    /// Texels of a row.
    pub(super) columns: usize,
    /// Rows: one for each output.
    pub(super) outputs: usize,
    /// Four numbers for each texel.
    pub(super) values: Vec<f32>,
    /// Where each feed's weights are.
    pub(super) runs: SmallVec<[Run; 2]>,
}

/// Where a feed's weights are in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Run {
    /// First texel.
    pub(super) column: usize,
    /// Words across, or rows down, that are weighted.
    pub(super) count: usize,
}

/// For each output the first word or row, and weights from there on.
struct Weights {
    first: Vec<usize>,
    count: usize,
    /// Numbers of a word or row: 4 or 1.
    each: usize,
    values: Vec<f32>,
}

/// What a table is made of, for each feed: its taps, and how many words or rows there are.
pub(super) type Taken<'a> = (&'a Feed, Taps, usize);

impl Table {
    /// For words across.
    pub(super) fn across(feeds: &[Taken<'_>]) -> Table {
        let weights: Vec<_> =
            feeds.iter().map(|(feed, taps, end)| words(feed, taps, *end)).collect();
        Table::of(&weights)
    }

    /// For rows down.
    pub(super) fn down(feeds: &[Taken<'_>]) -> Table {
        let weights: Vec<_> = feeds.iter().map(|(_, taps, end)| rows(taps, *end)).collect();
        Table::of(&weights)
    }

    fn of(weights: &[Weights]) -> Table {
        let mut columns = 1;
        let mut runs = SmallVec::new();
        for own in weights {
            runs.push(Run { column: columns, count: own.count });
            columns += (own.count * own.each).div_ceil(4);
        }
        let outputs = weights.first().map_or(0, |own| own.first.len());
        let mut values = vec![0.0; outputs * columns * 4];
        for (output, row) in values.chunks_exact_mut(columns * 4).enumerate() {
            let (firsts, rest) = row.split_at_mut(4);
            for ((first, own), run) in firsts.iter_mut().zip(weights).zip(&runs) {
                let run: &Run = run;
                *first = own.first[output] as f32;
                let numbers = own.count * own.each;
                let from = &own.values[output * numbers..][..numbers];
                rest[(run.column - 1) * 4..][..numbers].copy_from_slice(from);
            }
        }
        Table { columns, outputs, values, runs }
    }
}

fn rows(taps: &Taps, end: usize) -> Weights {
    let mut weights = Weights {
        first: Vec::with_capacity(taps.first.len()),
        count: taps.count,
        each: 1,
        values: vec![0.0; taps.first.len() * taps.count],
    };
    for (output, &first) in taps.first.iter().enumerate() {
        // Runs are as long as the longest: those near the end start earlier.
        let start = first.min(end.saturating_sub(taps.count));
        weights.first.push(start);
        let row = &mut weights.values[output * taps.count..][..taps.count];
        for (to, from) in row.iter_mut().skip(first - start).zip(taps.weights_of(output)) {
            *to = *from as f32;
        }
    }
    weights
}

fn words(feed: &Feed, taps: &Taps, end: usize) -> Weights {
    let used = |output: usize| {
        let weights = taps.weights_of(output).iter().enumerate();
        weights.filter(|(_, weight)| **weight != 0.0).map(move |(at, weight)| (at, *weight))
    };
    // The first and the last byte of each output's samples, as words.
    let spans: Vec<(usize, usize)> = (0..taps.first.len())
        .map(|output| {
            let samples = used(output).map(|(at, _)| taps.first[output] + at);
            let low = samples.clone().min().unwrap_or(taps.first[output]) * feed.step;
            let high = samples.max().unwrap_or(taps.first[output]) * feed.step;
            let byte = |pick: Option<&(usize, f64)>| pick.map_or(0, |(byte, _)| *byte);
            ((low + byte(feed.bytes.first())) / 4, (high + byte(feed.bytes.last())) / 4)
        })
        .collect();
    let count = spans.iter().map(|(low, high)| high - low + 1).max().unwrap_or(1);
    let mut weights = Weights {
        first: Vec::with_capacity(spans.len()),
        count,
        each: 4,
        values: vec![0.0; spans.len() * count * 4],
    };
    for (output, (low, _)) in spans.iter().enumerate() {
        let start = (*low).min(end.saturating_sub(count));
        weights.first.push(start);
        let row = &mut weights.values[output * count * 4..][..count * 4];
        for (at, weight) in used(output) {
            for (byte, factor) in feed.bytes {
                let byte = (taps.first[output] + at) * feed.step + byte;
                row[byte - start * 4] += (weight * factor) as f32;
            }
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::super::feed::feeds;
    use super::*;
    use tenure_layout::PixelFormat;

    fn taps() -> Taps {
        Taps { first: vec![0, 3, 5], count: 2, weights: vec![0.5, 0.5, 0.25, 0.75, 1.0, 0.0] }
    }

    #[test]
    fn bytes_are_weighted_where_they_lie() {
        let luma = &feeds(PixelFormat::Nv12)[0];
        let table = Table::across(&[(luma, taps(), 2)]);
        assert_eq!((table.columns, table.runs[0].count), (3, 2));
        assert_eq!(table.values[..8], [0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0]);
        // Samples 3 and 4 are in two words.
        assert_eq!(table.values[12..24], [0., 0., 0., 0., 0., 0., 0., 0.25, 0.75, 0., 0., 0.]);
        // The last would reach beyond the row, so it starts a word earlier.
        assert_eq!(table.values[24..36], [0., 0., 0., 0., 0., 0., 0., 0., 0., 1., 0., 0.]);
    }

    #[test]
    fn rows_near_the_end_start_earlier() {
        let luma = &feeds(PixelFormat::Grey)[0];
        let table = Table::down(&[(luma, taps(), 6)]);
        assert_eq!((table.columns, table.outputs), (2, 3));
        assert_eq!(table.values[16..24], [4.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    }
}
