//! Everything about a conversion that does not depend on the pixels, computed once.

use std::ops::Range;

use tenure_layout::{DType, PixelFormat};

use crate::colour::Matrix;
use crate::component::{Component, components};
use crate::engine::cpu::direct::{self, Chroma};
use crate::engine::cpu::feed::Feed;
use crate::engine::cpu::fixed::{FixedMatrix, Horizontal, LANES, MATRIX_COST, fraction_bits};
use crate::engine::cpu::gathered::{self, Gathered};
use crate::engine::cpu::kernels::{Mixture, Real, Scale, Way};
use crate::engine::cpu::loss;
use crate::engine::cpu::picked;
use crate::engine::cpu::precise::Precise;
use crate::engine::cpu::regular::{self, Regular};
use crate::engine::cpu::scratch::Scratch;
use crate::job::Recipe;
use crate::normalize::Affine;
use crate::taps::Taps;

/// A conversion, ready to run on any images of its kind.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// One for each group of planes with the same number of samples.
    pub(crate) works: Vec<Work>,
}

/// The work for planes of one size.
#[derive(Debug)]
pub(crate) enum Work {
    Fixed(Box<Pass>),
    /// What fixed point is not exact enough for.
    Precise(Box<Precise>),
}

/// The work for planes of one size, in fixed point.
#[derive(Debug)]
pub(crate) struct Pass {
    pub(crate) feeds: Vec<Feed>,
    /// Where each component of the source is in its rows.
    pub(crate) source: &'static [Component],
    /// For each component of the source how its rows become rows of the output's width; `None`
    /// for those that no output needs.
    pub(crate) along: Vec<Option<Horizontal>>,
    /// For each feed its components in sets of those that are resized alike, in the order in which
    /// their columns are kept.
    pub(crate) alike: Vec<Vec<Vec<usize>>>,
    /// Whether rows stay rows: if they have the output's width as they are, or once their samples
    /// are picked, or if they are resized with the same weights all along.
    pub(crate) straight: bool,
    /// The last of these, for each component.
    pub(crate) regular: Option<Vec<Option<Regular>>>,
    /// How rows are resized along before they are summed, where they stay rows so.
    pub(crate) gathered: Option<Gathered>,
    /// Whether luma may go straight to red, green and blue, and how chroma joins it.
    pub(crate) direct: Option<Chroma>,
    pub(crate) matrix: Option<FixedMatrix>,
    /// The matrix and what numbers become, where red, green and blue are stored as numbers with a
    /// point: rounding between the two would be seen.
    pub(crate) mixture: Option<(Mixture, Real)>,
    pub(crate) stores: Vec<Store>,
    /// Whether those are bytes of red, green and blue.
    pub(crate) rgb_bytes: bool,
    /// Bits after the point of summed rows.
    pub(crate) sum_fraction: u32,
    /// Bits after the point of finished rows.
    pub(crate) fraction: u32,
    /// Output rows.
    pub(crate) down: usize,
    /// First sample and row in the destination's planes.
    pub(crate) left: usize,
    pub(crate) top: usize,
    pub(crate) tiles: Vec<Tile>,
    pub(crate) scratch: Scratch,
}

/// Outputs along a row that are made together, so that what they are made of stays in the first
/// cache.
#[derive(Debug)]
pub(crate) struct Tile {
    pub(crate) outputs: Range<usize>,
    /// For each feed the groups of samples that are read.
    pub(crate) groups: Vec<Range<usize>>,
    /// For each component the lowest and the highest first sample of these outputs.
    pub(crate) firsts: Vec<(usize, usize)>,
}

/// Rows that go to one plane.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) plane: usize,
    /// Components in the order of memory.
    pub(crate) order: Vec<usize>,
    pub(crate) element: usize,
    pub(crate) how: How,
}

/// How numbers are stored.
#[derive(Debug, Clone, Copy)]
pub(crate) enum How {
    /// As bytes, combined with this by exclusive or.
    Bytes(u8),
    /// Scaled.
    Scaled(Real, Scale),
}

impl Prepared {
    /// For kernels that gather in these ways.
    pub(crate) fn new(recipe: &Recipe, ways: &[Way]) -> Prepared {
        let all = components(recipe.target.format);
        let planes: &[&[usize]] = match recipe.target.format {
            PixelFormat::Nv12 => &[&[0], &[1, 2]],
            _ if all.len() == 1 => &[&[0]],
            _ if all.len() == 3 => &[&[0, 1, 2]],
            _ => &[&[0, 1, 2, 3]],
        };
        let work = |own: &&[usize]| match Pass::new(recipe, all, own, ways) {
            Some(pass) => Work::Fixed(Box::new(pass)),
            None => Work::Precise(Box::new(Precise::new(recipe, all, own))),
        };
        Prepared { works: planes.iter().map(work).collect() }
    }
}

impl Pass {
    /// The pass that writes components `own` of the destination, which have one size, if it is exact
    /// enough.
    fn new(recipe: &Recipe, all: &[Component], own: &[usize], ways: &[Way]) -> Option<Pass> {
        let target = &all[own[0]];
        let source = components(recipe.source.format);
        let matrix = Matrix::between(recipe.source.model, recipe.target.model);
        let identity = matrix == Matrix::IDENTITY;
        let sum_fraction =
            fraction_bits(recipe.filter.overshoots() || recipe.source.dtype == DType::U16);

        let taps = taps(recipe, &matrix, own, target);
        let stores = stores(recipe, all, own);
        let opaque = source.len() < 4;
        let mixture = (!identity)
            .then(|| mixture(&matrix, sum_fraction, &recipe.affine, &stores, opaque))
            .flatten();
        let fixed_matrix = (!identity && mixture.is_none()).then_some(sum_fraction);
        let allowed = loss::allowed(recipe, own, &matrix, fixed_matrix);
        let (mut feeds, mut along) =
            loss::tables(recipe.source.format, &taps, sum_fraction, allowed)?;
        let across = along.iter().flatten().next().map_or(0, |table| table.first.len());
        let down = taps.iter().flatten().next().map_or(0, |(_, down)| down.first.len());
        let matrix = (!identity).then(|| FixedMatrix::new(&matrix, sum_fraction));
        let direct = (!recipe.geometry.transposed)
            .then(|| direct::chroma(&feeds, &along, &taps, matrix.as_ref(), &stores))
            .flatten()
            .filter(|_| sum_fraction == 7);
        let are_copies = |along: &[Option<Horizontal>]| {
            !recipe.geometry.transposed && along.iter().flatten().all(Horizontal::is_copy)
        };
        if direct.is_none() && !recipe.geometry.transposed && !are_copies(&along) {
            picked::find(&mut feeds, &mut along);
        }
        let mut straight = direct.is_some() || are_copies(&along);
        let regular = (!straight && !recipe.geometry.transposed)
            .then(|| tiles(&feeds, &along, across, true))
            .and_then(|whole| regular::find(&feeds, &along, whole.first()?, sum_fraction));
        straight |= regular.is_some();
        let mut gathered = None;
        if !straight && !recipe.geometry.transposed && sum_fraction == 7 {
            let find = |feeds: &[Feed]| {
                gathered::find(feeds, &taps, source, recipe.source.width, (ways, allowed))
            };
            let sets = if feeds.iter().all(loss::is_narrow) {
                find(&feeds)
            } else {
                loss::narrow(&feeds, &taps, sum_fraction).and_then(|narrow| {
                    let sets = find(&narrow)?;
                    feeds = narrow;
                    Some(sets)
                })
            };
            gathered = sets.map(|sets| Gathered::new(&feeds, sets, matrix.as_ref(), &stores));
        }
        straight |= gathered.is_some();
        let tiles = tiles(&feeds, &along, across, straight);
        let fraction = if matrix.is_some() { sum_fraction - MATRIX_COST } else { sum_fraction };
        let content = recipe.geometry.content;
        let alike = feeds.iter().map(|feed| alike(feed, &along, source)).collect();
        let mut pass = Pass {
            feeds,
            source,
            alike,
            along,
            straight,
            regular,
            gathered,
            direct,
            matrix,
            mixture,
            rgb_bytes: is_rgb_bytes(&stores),
            stores,
            sum_fraction,
            fraction,
            down,
            left: content.x / target.across,
            top: content.y / target.down,
            tiles,
            scratch: Scratch::default(),
        };
        pass.lay_out();
        Some(pass)
    }

    /// What bytes are combined with by exclusive or.
    pub(crate) fn flip(&self) -> u8 {
        match self.stores.first().map(|store| store.how) {
            Some(How::Bytes(flip)) => flip,
            _ => 0,
        }
    }
}

/// Numbers in columns that a tile should not exceed: a quarter of a small second cache. Smaller
/// tiles, of the first cache, lose more to short rows than they gain.
const TILE: usize = 131072;

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Cuts rows into tiles.
fn tiles(feeds: &[Feed], along: &[Option<Horizontal>], across: usize, straight: bool) -> Vec<Tile> {
    let whole: usize = along.iter().flatten().map(|table| table.samples(0..across).len()).sum();
    let fit = TILE * across / (LANES * whole).max(1);
    let step = if straight { across } else { (fit / LANES * LANES).max(LANES) };
    let step = step.clamp(1, across.max(1));
    let cut = |start: usize| {
        let outputs = start..(start + step).min(across);
        let groups = feeds.iter().map(|feed| {
            let (mut start, mut end) = (usize::MAX, 0);
            for &component in feed.shape.components() {
                let Some(table) = &along[component] else { continue };
                let (samples, read) =
                    (feed.shape.samples(component), table.samples(outputs.clone()));
                (start, end) =
                    (start.min(read.start / samples), end.max(read.end.div_ceil(samples)));
            }
            // At the beginning of a cache line, if that of the row is: loads across two are slow.
            let line = if straight { 1 } else { LINE };
            start.min(end) / line * line..end
        });
        let firsts = along.iter().map(|table| match table {
            Some(table) => table.firsts(outputs.clone()),
            None => (0, 0),
        });
        Tile { groups: groups.collect(), firsts: firsts.collect(), outputs }
    };
    (0..across).step_by(step).map(cut).collect()
}

/// The taps, across and down, of what some output of `own` needs; only that is read. A constant output
/// (the chroma of grey) needs nothing; its rows are counted by those of the first component.
pub(crate) fn taps(
    recipe: &Recipe,
    matrix: &Matrix,
    own: &[usize],
    target: &Component,
) -> Vec<Option<(Taps, Taps)>> {
    let source = components(recipe.source.format);
    let uses = |component: usize| match component {
        3 => own.contains(&3),
        _ => own.iter().any(|&row| row < 3 && matrix.rows[row][component] != 0.0),
    };
    let constant = !(0..source.len()).any(uses);
    let needs = |component: usize| uses(component) || constant && component == 0;
    let taps = |(index, component)| needs(index).then(|| recipe.taps(component, target));
    source.iter().enumerate().map(taps).collect()
}

/// The components of a feed in sets of those that are resized alike.
fn alike(feed: &Feed, along: &[Option<Horizontal>], source: &[Component]) -> Vec<Vec<usize>> {
    let mut sets: Vec<Vec<usize>> = vec![];
    let mut components = feed.shape.components().to_vec();
    components.sort_unstable();
    for component in components.into_iter().filter(|&component| along[component].is_some()) {
        let same = |set: &&mut Vec<usize>| {
            let step = |component: usize| source[component].step;
            along[set[0]] == along[component] && step(set[0]) == step(component)
        };
        match sets.iter_mut().find(same) {
            Some(set) => set.push(component),
            None => sets.push(vec![component]),
        }
    }
    sets
}

/// How components `own` are stored, plane by plane.
pub(crate) fn stores(recipe: &Recipe, all: &[Component], own: &[usize]) -> Vec<Store> {
    let mut stores: Vec<Store> = vec![];
    for &index in own {
        let plane = all[index].plane;
        match stores.iter_mut().find(|store| store.plane == plane) {
            Some(store) => store.order.push(index),
            None => stores.push(Store {
                plane,
                order: vec![index],
                element: recipe.target.dtype.size().unwrap_or(1),
                how: How::Bytes(0),
            }),
        }
    }
    for store in &mut stores {
        store.order.sort_by_key(|&index| all[index].first);
        store.how = how(recipe.target.dtype, &recipe.affine, &store.order);
    }
    stores
}

/// Whether bytes of red, green and blue are stored and nothing else.
pub(crate) fn is_rgb_bytes(stores: &[Store]) -> bool {
    is_rgb(stores) && stores.iter().all(|store| matches!(store.how, How::Bytes(_)))
}

/// Whether red, green and blue are stored and nothing else.
fn is_rgb(stores: &[Store]) -> bool {
    let order = |store: &Store| store.order.clone();
    match stores {
        [one] => matches!(order(one)[..], [0, 1, 2] | [2, 1, 0]),
        [a, b, c] => [order(a), order(b), order(c)] == [[0], [1], [2]],
        _ => false,
    }
}

/// Whether red, green, blue and alpha are stored and nothing else.
fn is_rgba(stores: &[Store]) -> bool {
    match stores {
        [one] => matches!(one.order[..], [0, 1, 2, 3] | [2, 1, 0, 3]),
        [a, b, c, d] => [&a.order, &b.order, &c.order, &d.order] == [&[0], &[1], &[2], &[3]],
        _ => false,
    }
}

/// The matrix and what numbers with `fraction` bits after the point become, if they are stored as
/// red, green and blue with a point, or with alpha that is opaque everywhere.
fn mixture(
    matrix: &Matrix,
    fraction: u32,
    affine: &Affine,
    stores: &[Store],
    opaque: bool,
) -> Option<(Mixture, Real)> {
    let real = match stores.first().map(|store| store.how) {
        Some(How::Scaled(real @ (Real::F32 | Real::F16 | Real::Bf16), _)) => real,
        _ => return None,
    };
    let unit = 1.0 / f64::from(1u32 << fraction);
    // What a code becomes, for each colour.
    let becomes =
        |channel: usize, code: f32| code.mul_add(affine.multiply[channel], affine.add[channel]);
    let (black, white) = ([0, 1, 2].map(|c| becomes(c, 0.0)), [0, 1, 2].map(|c| becomes(c, 255.0)));
    let scale = |colour: usize| f64::from(affine.multiply[colour]);
    let offset = |colour: usize| matrix.offset[colour] * scale(colour);
    let alpha = is_rgba(stores);
    (is_rgb(stores) || alpha && opaque).then_some((
        Mixture {
            shares: [0, 1, 2].map(|c| matrix.rows[c].map(|s| (s * unit * scale(c)) as f32)),
            offset: [0, 1, 2].map(|c| (offset(c) + f64::from(affine.add[c])) as f32),
            least: [0, 1, 2].map(|c| black[c].min(white[c])),
            most: [0, 1, 2].map(|c| black[c].max(white[c])),
            alpha: alpha.then_some(becomes(3, 255.0)),
        },
        real,
    ))
}

fn how(dtype: DType, affine: &Affine, order: &[usize]) -> How {
    let real = match dtype {
        DType::I8 if *affine == Affine::LESS_128 => return How::Bytes(0x80),
        DType::U8 if *affine == Affine::IDENTITY => return How::Bytes(0),
        DType::F32 => Real::F32,
        DType::F16 => Real::F16,
        DType::Bf16 => Real::Bf16,
        DType::I8 => Real::I8,
        _ => Real::U8,
    };
    let Affine { multiply, add } = affine.picked(order);
    How::Scaled(real, Scale { multiply, add })
}
