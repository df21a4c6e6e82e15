//! Pictures in floating point: what is stored is so far apart for neighbouring codes, or the filter
//! overshoots so far, that fixed point would show.
//!
//! Bands of rows are summed to columns, these along the rows, and sums are blended to what is stored,
//! with no rounding but that of `f32`.

use std::ops::Range;

use tenure_layout::DType;

use crate::colour::Matrix;
use crate::component::{Component, components};
use crate::engine::cpu::fixed::LANES;
use crate::engine::cpu::kernels::Real;
use crate::engine::cpu::kernels::precise::{Runs, TOGETHER};
use crate::engine::cpu::prepare::{Store, stores, taps};
use crate::job::Recipe;
use crate::normalize::Affine;

mod strip;

pub(crate) use strip::Planes;

/// A conversion of planes of one size, ready to run.
#[derive(Debug)]
pub(crate) struct Precise {
    /// Where each component of the source is in its rows.
    source: &'static [Component],
    feeds: Vec<Feed>,
    /// Whether elements of the source are words.
    words: bool,
    /// How rows of each component of the source become as wide as the output.
    across: Vec<Option<Runs>>,
    /// What is stored of each component of the destination.
    channels: Vec<Channel>,
    stores: Vec<Store>,
    real: Real,
    /// Output rows.
    pub(crate) down: usize,
    /// First sample and row in the destination's planes.
    left: usize,
    top: usize,
    tiles: Vec<Tile>,
    scratch: Scratch,
}

/// A plane that is read.
#[derive(Debug)]
struct Feed {
    plane: usize,
    components: Vec<usize>,
    down: Runs,
}

/// What a component of the destination is made of.
#[derive(Debug)]
struct Channel {
    index: usize,
    /// Components of the source.
    parts: Vec<(f32, usize)>,
    offset: f32,
    least: f32,
    most: f32,
}

/// Outputs along a row that are made together, so that what they are made of stays in a near cache.
#[derive(Debug)]
struct Tile {
    outputs: Range<usize>,
    /// For each feed the elements of a row that are read.
    elements: Vec<Range<usize>>,
    /// For each component of the source the first sample.
    starts: Vec<usize>,
}

/// Where things are in a thread's scratch memory.
#[derive(Debug)]
struct Scratch {
    /// Before it source rows that are kept, from there on columns of elements: of one feed after the
    /// other.
    columns: usize,
    /// From there on columns of each component of the source, and later rows of each component of
    /// the destination.
    parts: usize,
    /// From there on columns of each component of the destination.
    channels: usize,
    /// Numbers from a row to the next, and from a component to the next.
    stride: usize,
    each: usize,
    len: usize,
}

/// Numbers in columns that a tile should not exceed: a quarter of a small second cache.
const TILE: usize = 1 << 16;

/// Numbers of a line of the cache.
const LINE: usize = 16;

impl Precise {
    /// The work that writes components `own` of the destination, which have one size.
    pub(crate) fn new(recipe: &Recipe, all: &[Component], own: &[usize]) -> Precise {
        let target = &all[own[0]];
        let source = components(recipe.source.format);
        let matrix = Matrix::between(recipe.source.model, recipe.target.model);
        let taps = taps(recipe, &matrix, own, target);
        let mut feeds: Vec<Feed> = vec![];
        for (index, (component, taps)) in source.iter().zip(&taps).enumerate() {
            let Some((_, down)) = taps else { continue };
            match feeds.iter_mut().find(|feed| feed.plane == component.plane) {
                // Components of a plane have as many rows.
                Some(feed) => feed.components.push(index),
                None => feeds.push(Feed {
                    plane: component.plane,
                    components: vec![index],
                    down: Runs::new(down),
                }),
            }
        }
        let down = feeds.first().map_or(0, |feed| feed.down.len());
        let across: Vec<Option<Runs>> =
            taps.iter().map(|taps| taps.as_ref().map(|(across, _)| Runs::new(across))).collect();
        let tiles = tiles(source, &feeds, &across);
        let channel = |&index: &usize| Channel::new(index, &matrix, &recipe.affine, source.len());
        let channels: Vec<Channel> = own.iter().map(channel).collect();
        let content = recipe.geometry.content;
        Precise {
            source,
            words: recipe.source.dtype == DType::U16,
            scratch: Scratch::new(&tiles, &feeds, source.len(), channels.len()),
            feeds,
            across,
            channels,
            stores: stores(recipe, all, own),
            real: match recipe.target.dtype {
                DType::F32 => Real::F32,
                DType::F16 => Real::F16,
                DType::Bf16 => Real::Bf16,
                DType::I8 => Real::I8,
                _ => Real::U8,
            },
            down,
            left: content.x / target.across,
            top: content.y / target.down,
            tiles,
        }
    }

    /// Numbers that a thread needs.
    pub(super) fn numbers(&self) -> usize {
        self.scratch.len
    }
}

impl Channel {
    /// What component `index` of the destination is made of, of as many of the source.
    fn new(index: usize, matrix: &Matrix, affine: &Affine, source: usize) -> Channel {
        let (multiply, add) = (affine.multiply[index & 3], affine.add[index & 3]);
        let scale = f64::from(multiply);
        let (parts, offset) = match matrix.rows.get(index) {
            Some(row) => {
                let shares = row.iter().enumerate().filter(|(_, share)| **share != 0.0);
                let parts = shares.map(|(part, share)| ((share * scale) as f32, part)).collect();
                (parts, matrix.offset[index])
            }
            None if source > 3 => (vec![(multiply, 3)], 0.0),
            // Opaque.
            None => (vec![], 255.0),
        };
        let ends = [add, 255.0f32.mul_add(multiply, add)];
        Channel {
            index,
            parts,
            offset: (offset * scale + f64::from(add)) as f32,
            least: ends[0].min(ends[1]),
            most: ends[0].max(ends[1]),
        }
    }
}

impl Scratch {
    /// For the largest of these tiles, and as many components of the source and the destination.
    fn new(tiles: &[Tile], feeds: &[Feed], source: usize, channels: usize) -> Scratch {
        let kept = feeds.iter().map(|feed| feed.down.most_kept() * TOGETHER).max().unwrap_or(0);
        let elements = tiles.iter().flat_map(|tile| &tile.elements).map(Range::len).max();
        let outputs = tiles.iter().map(|tile| tile.outputs.len()).max().unwrap_or(0);
        // An odd number of lines, so that rows do not fall on top of each other in the cache.
        let stride = (outputs.div_ceil(LINE) | 1) * LINE;
        let (columns, each) = (elements.unwrap_or(0) * LANES, stride * LANES);
        let parts = kept + columns;
        let start = parts + each * source.max(channels);
        let len = start + each * channels;
        Scratch { columns: kept, parts, channels: start, stride, each, len }
    }
}

/// Cuts rows into tiles.
fn tiles(source: &[Component], feeds: &[Feed], across: &[Option<Runs>]) -> Vec<Tile> {
    let elements = |feed: &Feed, outputs: &Range<usize>| {
        let (mut start, mut end) = (usize::MAX, 0);
        for &index in &feed.components {
            let (component, Some(runs)) = (&source[index], &across[index]) else { continue };
            let samples = runs.samples(outputs.clone());
            let element = |sample: usize| component.first + sample * component.step;
            start = start.min(element(samples.start));
            end = end.max(element(samples.end.max(samples.start + 1) - 1) + 1);
        }
        start.min(end)..end
    };
    let all = across.iter().flatten().next().map_or(0, Runs::len);
    let widest = feeds.iter().map(|feed| elements(feed, &(0..all)).len()).max().unwrap_or(0);
    let fit = TILE / LANES * all / widest.max(1);
    let step = (fit / LANES * LANES).max(LANES);
    let cut = |start: usize| {
        let outputs = start..(start + step).min(all);
        let start = |runs: &Option<Runs>| {
            runs.as_ref().map_or(0, |runs| runs.samples(outputs.clone()).start)
        };
        Tile {
            elements: feeds.iter().map(|feed| elements(feed, &outputs)).collect(),
            starts: across.iter().map(start).collect(),
            outputs,
        }
    };
    (0..all).step_by(step).map(cut).collect()
}
