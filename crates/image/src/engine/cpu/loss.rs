//! How much of a code is lost in fixed point, at most, and which sums lose little enough.
//!
//! Everything that rounds is counted at its worst: products that are cut off, weights that are
//! rounded, the colour matrix. Of the sums that stay below what the destination shows the quickest are
//! taken; what none of them is exact enough for is made in floating point ([`super::precise`]).

use tenure_layout::{DType, PixelFormat};

use crate::colour::Matrix;
use crate::engine::cpu::feed::{Feed, Shape, shapes};
use crate::engine::cpu::fixed::{Down, Horizontal, MATRIX_COST, Vertical, rounded};
use crate::job::Recipe;
use crate::taps::Taps;

/// What is left of a tolerance for sums: the rest is for arithmetic in `f32`.
const LEFT: f64 = 0.98;
/// What normalised numbers may be off by.
const WITHIN: f64 = 0.002 * LEFT;
/// The part of a code that they may be off by where neighbouring codes are far from each other.
const SMALL_PART: f64 = 0.02 * LEFT;
/// The part of a code that numbers may be off by which are nearly codes, or so near to each other
/// that this is less than [`WITHIN`].
const LARGE_PART: f64 = 0.5 * LEFT;
/// Numbers are nearly codes if neighbouring ones are this far from each other.
const CODES: f64 = 0.5;

/// Most of a code that the sums of each component may lose for components `own` of the destination;
/// `None` if these are the same whatever the sums are. A matrix in fixed point that follows loses too:
/// `fixed_matrix` is how many bits after the point sums have before it.
pub(crate) fn allowed(
    recipe: &Recipe,
    own: &[usize],
    matrix: &Matrix,
    fixed_matrix: Option<u32>,
) -> Option<f64> {
    let steps = own.iter().map(|&channel| {
        let step = f64::from(recipe.affine.multiply[channel & 3].abs());
        let shares = matrix.rows.get(channel).map_or(1.0, |row| row.iter().map(|s| s.abs()).sum());
        (channel, step, shares)
    });
    let part = |step: f64| match recipe.target.dtype {
        DType::F32 | DType::F16 | DType::Bf16 if step < CODES => {
            (WITHIN / step).clamp(SMALL_PART, LARGE_PART)
        }
        DType::F32 | DType::F16 | DType::Bf16 => LARGE_PART,
        // What is rounded in the end is off by one at most if it was by less than that before.
        _ => LEFT / step.max(1.0),
    };
    let lost = |channel: usize| match fixed_matrix {
        Some(fraction) if channel < 3 => lost_by_matrix(fraction),
        _ => 0.0,
    };
    steps
        .filter(|(_, step, shares)| *step > 0.0 && *shares > 0.0)
        .map(|(channel, step, shares)| (part(step) - lost(channel)) / shares)
        .reduce(f64::min)
}

/// What a matrix in fixed point loses: products and the offset are rounded, and so are factors.
fn lost_by_matrix(fraction: u32) -> f64 {
    let unit = 1.0 / f64::from(1u32 << (fraction - MATRIX_COST));
    let factors = 3.0 * 255.0 / f64::from(1 << 14);
    4.0 * unit / 2.0 + factors
}

/// Feeds, and how rows of each component are resized along.
pub(crate) type Tables = (Vec<Feed>, Vec<Option<Horizontal>>);

/// The quickest tables whose sums lose no more than they may.
pub(crate) fn tables(
    format: PixelFormat,
    taps: &[Option<(Taps, Taps)>],
    fraction: u32,
    allowed: Option<f64>,
) -> Option<Tables> {
    let (mut feeds, mut along) = (vec![], vec![]);
    along.resize_with(taps.len(), || None);
    for &(plane, shape) in shapes(format) {
        let own = |&component: &usize| Some((component, taps.get(component)?.as_ref()?));
        let own: Vec<(usize, &(Taps, Taps))> = shape.components().iter().filter_map(own).collect();
        let Some((_, (_, down))) = own.first() else { continue };
        let (vertical, tables) = quickest(&own, down, shape, fraction, allowed)?;
        feeds.push(Feed { plane, shape, vertical, places: None });
        own.iter().zip(tables).for_each(|((index, _), table)| along[*index] = Some(table));
    }
    Some((feeds, along))
}

/// How the rows of a feed are summed, and the tables of its components.
fn quickest(
    own: &[(usize, &(Taps, Taps))],
    down: &Taps,
    shape: Shape,
    fraction: u32,
    allowed: Option<f64>,
) -> Option<(Vertical, Vec<Horizontal>)> {
    let fits = |loss: f64| allowed.is_none_or(|allowed| loss <= allowed);
    let spread = 255.0 * size(down);
    let mut along: Vec<Choice<'_>> =
        own.iter().map(|(_, (across, _))| Choice::new(across, fraction, spread)).collect();
    // Sums down take longer than those along rows: they should be quick first, but one bit more
    // costs less than 32 bits along.
    let mut downs = [Down::Narrow, Down::Finer, Down::Wide].map(|sums| (sums, None));
    for (index, may_be_wide) in [(0, false), (1, false), (0, true), (1, true), (2, true)] {
        let (sums, made) = &mut downs[index];
        if !sums.is_possible(down, fraction) {
            continue;
        }
        let (_, before) = made.get_or_insert_with(|| {
            let vertical = vertical(down, shape, fraction, *sums);
            let lost = lost_down(down, &vertical, *sums, fraction, shape.is_words());
            (vertical, lost)
        });
        let before = *before;
        let found = along.iter_mut().all(|choice| choice.find(may_be_wide, before, fits));
        if let (true, Some((vertical, _))) = (found, made.take()) {
            return Some((vertical, along.into_iter().filter_map(Choice::chosen).collect()));
        }
    }
    None
}

/// The tables that a component may have.
struct Choice<'a> {
    taps: &'a Taps,
    fraction: u32,
    /// How far numbers are from each other at most.
    spread: f64,
    /// What a loss before the table becomes.
    size: f64,
    /// Sums of 16 bits and of 32, once they were asked for, and what they lose.
    tables: [Option<(Horizontal, f64)>; 2],
    /// The one that was found last.
    chosen: usize,
}

impl<'a> Choice<'a> {
    fn new(taps: &'a Taps, fraction: u32, spread: f64) -> Choice<'a> {
        Choice { taps, fraction, spread, size: size(taps), tables: [None, None], chosen: 0 }
    }

    /// Chooses the quicker table with which no more is lost than fits, if there is one. Sums of 32 bits
    /// are a choice only if that is said, or if there are no others.
    fn find(&mut self, may_be_wide: bool, before: f64, fits: impl Fn(f64) -> bool) -> bool {
        let narrow = Horizontal::may_be_narrow(self.taps);
        let ways = if narrow { 0..1 + usize::from(may_be_wide) } else { 1..2 };
        for way in ways {
            let (taps, fraction, spread) = (self.taps, self.fraction, self.spread);
            let (_, lost) = self.tables[way].get_or_insert_with(|| {
                let table = Horizontal::new(taps, way == 1);
                let lost = lost_along(taps, &table, fraction, spread);
                (table, lost)
            });
            if fits(before * self.size + *lost) {
                self.chosen = way;
                return true;
            }
        }
        false
    }

    fn chosen(self) -> Option<Horizontal> {
        let chosen = self.chosen;
        self.tables.into_iter().nth(chosen)?.map(|(table, _)| table)
    }
}

/// How rows of a feed are summed.
fn vertical(down: &Taps, shape: Shape, fraction: u32, sums: Down) -> Vertical {
    // Sums of bytes leave 31 - 8 bits to weights, sums of words 31 - 15; one less, since weights
    // below zero let the others sum to more than one.
    Vertical::new(down, fraction, sums, if shape.is_words() { 15 } else { 22 })
}

/// The same feeds with sums in 16 bits, if all can be summed so.
pub(crate) fn narrow(
    feeds: &[Feed],
    taps: &[Option<(Taps, Taps)>],
    fraction: u32,
) -> Option<Vec<Feed>> {
    let feed = |feed: &Feed| {
        let of = |component: &usize| taps.get(*component).and_then(Option::as_ref);
        let (_, down) = feed.shape.components().iter().find_map(of)?;
        let possible = Down::Narrow.is_possible(down, fraction) && feed.places.is_none();
        let vertical = || vertical(down, feed.shape, fraction, Down::Narrow);
        possible.then(|| Feed { vertical: vertical(), places: None, ..*feed })
    };
    feeds.iter().map(feed).collect()
}

/// Whether sums of a feed are plain ones of 16 bits.
pub(crate) fn is_narrow(feed: &Feed) -> bool {
    !feed.vertical.wide && !feed.vertical.finer
}

/// What sums of rows lose.
fn lost_down(taps: &Taps, vertical: &Vertical, sums: Down, fraction: u32, words: bool) -> f64 {
    let unit = 1.0 / f64::from(1u32 << fraction);
    if vertical.is_copy() && !words {
        return 0.0;
    }
    // Half of what every product loses is known. For bytes at odd places, what those before them
    // add is taken off with its fraction.
    let products = (0..taps.first.len()).map(|output| vertical.taps(output).0.len()).max();
    let half = products.unwrap_or(0) as f64 / 2.0 + 1.2;
    let sums = match sums {
        Down::Narrow => half * unit,
        Down::Finer => half * unit / 2.0 + unit / 2.0,
        // Words are halved before.
        Down::Wide => unit / 2.0 + if words { 1.0 / 256.0 } else { 0.0 },
    };
    let weights = rounded(taps, taps.count, vertical.bits);
    sums + 255.0 * uneven(taps, &weights, taps.count, vertical.bits)
}

/// What sums along rows lose, of numbers that are at most `spread` from each other.
fn lost_along(taps: &Taps, table: &Horizontal, fraction: u32, spread: f64) -> f64 {
    let unit = 1.0 / f64::from(1u32 << fraction);
    if table.count == 1 {
        return 0.0;
    }
    let sums = if table.wide { unit / 2.0 } else { table.count as f64 / 2.0 * unit };
    let every = if table.wide { 1 } else { 2 };
    let weights: Vec<i32> = table.weights.iter().step_by(every).map(|w| i32::from(*w)).collect();
    sums + spread * uneven(taps, &weights, table.count, table.bits)
}

/// The most that sums of samples between none and one are off by since weights, `stride` of them for
/// each output, are rounded.
pub(crate) fn uneven(taps: &Taps, weights: &[i32], stride: usize, bits: u32) -> f64 {
    let one = f64::from(1u32 << bits);
    let off = |(exact, rounded): (&[f64], &[i32])| {
        let off = exact.iter().zip(rounded).map(|(exact, own)| f64::from(*own) / one - exact);
        let (more, less) = off.fold((0.0, 0.0), |(more, less), off| {
            (more + f64::max(off, 0.0), less + f64::max(-off, 0.0))
        });
        f64::max(more, less)
    };
    let outputs = taps.weights.chunks(taps.count.max(1)).zip(weights.chunks(stride.max(1)));
    outputs.map(off).fold(0.0, f64::max)
}

/// The most that weights of an output are together, without their signs: what a loss before them
/// becomes.
fn size(taps: &Taps) -> f64 {
    let outputs = taps.weights.chunks(taps.count.max(1));
    outputs.map(|weights| weights.iter().map(|w| w.abs()).sum()).fold(1.0, f64::max)
}
