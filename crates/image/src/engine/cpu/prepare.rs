//! Everything about a conversion that does not depend on the pixels, computed once.

use std::ops::Range;

use tenure_layout::{DType, PixelFormat};

use crate::colour::Matrix;
use crate::component::{Component, components};
use crate::engine::cpu::direct::{self, Chroma, MARGIN};
use crate::engine::cpu::feed::Feed;
use crate::engine::cpu::fixed::{FixedMatrix, Horizontal, LANES, MATRIX_COST, fraction_bits};
use crate::engine::cpu::kernels::{Real, Scale};
use crate::engine::cpu::picked;
use crate::job::Recipe;
use crate::normalize::Affine;
use crate::taps::Taps;

/// A conversion, ready to run on any images of its kind.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// One for each group of planes with the same number of samples.
    pub(crate) passes: Vec<Pass>,
}

/// The work for planes of one size.
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
    /// Whether rows have the output's width as they are, or once their samples are picked.
    pub(crate) straight: bool,
    /// Whether luma may go straight to red, green and blue, and how chroma joins it.
    pub(crate) direct: Option<Chroma>,
    pub(crate) matrix: Option<FixedMatrix>,
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

/// Where things are in a thread's scratch memory, in numbers of 16 bits.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Where nothing is resized: for rows whose components are still in turn.
    pub(crate) mixed: [usize; 2],
    /// The summed row of each component there.
    pub(crate) rows: [Rows; 4],
    /// Summed rows of each feed, components in turn as they are: a band of them.
    pub(crate) bands: [Rows; 4],
    /// Where nothing is resized: samples of each row before the first that is wanted.
    pub(crate) skip: [usize; 4],
    /// Bands in columns.
    pub(crate) columns: [Range<usize>; 4],
    /// Columns of the output's width, and where the first of them are: after all columns.
    pub(crate) resized: [Range<usize>; 4],
    pub(crate) resized_start: usize,
    /// Columns after the colour matrix; rows where nothing is resized.
    pub(crate) colours: [Range<usize>; 3],
    /// Finished rows of each component.
    pub(crate) finished: [Rows; 4],
    /// Opaque alpha, as long as any row or column.
    pub(crate) opaque: Range<usize>,
    pub(crate) len: usize,
    /// Bytes for picked samples, which lie apart.
    pub(crate) picked: usize,
}

/// Rows in the scratch memory.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Rows {
    pub(crate) start: usize,
    /// Numbers from one row to the next.
    pub(crate) stride: usize,
}

impl Rows {
    pub(crate) fn row(&self, row: usize, len: usize) -> Range<usize> {
        let start = self.start + row * self.stride;
        start..start + len
    }

    /// All rows of a band.
    pub(crate) fn all(&self) -> Range<usize> {
        self.start..self.start + LANES * self.stride
    }
}

impl Scratch {
    fn take(&mut self, len: usize) -> Range<usize> {
        let start = self.len;
        self.len += len.next_multiple_of(LANES);
        start..start + len
    }

    fn take_rows(&mut self, len: usize, rows: usize) -> Rows {
        // An odd number of vectors, so that rows do not fall on top of each other in the cache.
        let stride = (len.div_ceil(LANES) | 1) * LANES;
        Rows { start: self.take(stride * rows).start, stride }
    }
}

impl Prepared {
    pub(crate) fn new(recipe: &Recipe) -> Prepared {
        let all = components(recipe.target.format);
        let planes: &[&[usize]] = match recipe.target.format {
            PixelFormat::Nv12 => &[&[0], &[1, 2]],
            _ if all.len() == 1 => &[&[0]],
            _ if all.len() == 3 => &[&[0, 1, 2]],
            _ => &[&[0, 1, 2, 3]],
        };
        Prepared { passes: planes.iter().map(|own| Pass::new(recipe, all, own)).collect() }
    }
}

impl Pass {
    /// The pass that writes components `own` of the destination, which have one size.
    fn new(recipe: &Recipe, all: &[Component], own: &[usize]) -> Pass {
        let target = &all[own[0]];
        let source = components(recipe.source.format);
        let matrix = Matrix::between(recipe.source.model, recipe.target.model);
        let identity = matrix == Matrix::IDENTITY;
        let sum_fraction =
            fraction_bits(recipe.filter.overshoots() || recipe.source.dtype == DType::U16);

        // Only what some output of this pass needs is read. A constant output (the chroma of
        // grey) needs nothing; its rows are counted by those of the first component.
        let uses = |component: usize| match component {
            3 => own.contains(&3),
            _ => own.iter().any(|&row| row < 3 && matrix.rows[row][component] != 0.0),
        };
        let constant = !(0..source.len()).any(uses);
        let needs = |component: usize| uses(component) || constant && component == 0;
        let taps: Vec<Option<(Taps, Taps)>> = source
            .iter()
            .enumerate()
            .map(|(index, component)| needs(index).then(|| recipe.taps(component, target)))
            .collect();
        let mut feeds = Feed::all(recipe.source.format, &taps, sum_fraction);
        let mut along: Vec<Option<Horizontal>> = taps
            .iter()
            .map(|taps| taps.as_ref().map(|(across, _)| Horizontal::new(across)))
            .collect();
        let across = along.iter().flatten().next().map_or(0, |table| table.first.len());
        let down = taps.iter().flatten().next().map_or(0, |(_, down)| down.first.len());
        let matrix = (!identity).then(|| FixedMatrix::new(&matrix, sum_fraction));
        let stores = stores(recipe, all, own);
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
        let straight = direct.is_some() || are_copies(&along);
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
            direct,
            matrix,
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
        pass
    }

    /// What bytes are combined with by exclusive or.
    pub(crate) fn flip(&self) -> u8 {
        match self.stores.first().map(|store| store.how) {
            Some(How::Bytes(flip)) => flip,
            _ => 0,
        }
    }

    /// Finds places in the scratch memory for the largest tile.
    fn lay_out(&mut self) {
        let outputs = self.tiles.iter().map(|tile| tile.outputs.len()).max().unwrap_or(0);
        if self.straight {
            self.lay_out_rows();
        } else {
            self.lay_out_bands(outputs);
        }
        let scratch = &mut self.scratch;
        if self.matrix.is_some() {
            let band = if self.straight { 1 } else { LANES };
            scratch.colours = [0, 1, 2].map(|_| scratch.take(outputs * band));
        }
        scratch.opaque = scratch.take(outputs.max(LANES));
        for (feed, groups) in self.tiles.iter().flat_map(|tile| self.feeds.iter().zip(&tile.groups))
        {
            scratch.picked = scratch.picked.max(picked::bytes(feed, groups));
        }
    }

    /// For rows that stay rows.
    fn lay_out_rows(&mut self) {
        let (scratch, mut mixed) = (&mut self.scratch, 0);
        let margin = if self.direct.is_some() { MARGIN } else { 0 };
        let Some(tile) = self.tiles.first() else { return };
        for (feed, groups) in self.feeds.iter().zip(&tile.groups) {
            mixed = mixed.max(3 * groups.len());
            for &component in feed.shape.components() {
                let samples = feed.shape.samples(component);
                let mut rows = scratch.take_rows(groups.len() * samples + 2 * margin, 1);
                rows.start += margin;
                scratch.rows[component] = rows;
                if let Some(table) = &self.along[component] {
                    let wanted = table.samples(tile.outputs.clone()).start;
                    scratch.skip[component] = wanted - groups.start * samples;
                }
            }
        }
        scratch.mixed = [0, 1].map(|_| scratch.take(mixed).start);
    }

    /// For bands of rows that become columns.
    fn lay_out_bands(&mut self, outputs: usize) {
        let scratch = &mut self.scratch;
        for (index, feed) in self.feeds.iter().enumerate() {
            let groups = self.tiles.iter().map(|tile| tile.groups[index].len()).max().unwrap_or(0);
            let tables = || feed.shape.components().iter().filter_map(|&c| self.along[c].as_ref());
            // Runs may reach beyond the last sample, with weights of zero.
            let beyond = tables().map(|table| table.count).max().unwrap_or(0);
            let numbers = feed.shape.numbers();
            scratch.bands[index] = scratch.take_rows(groups * numbers, LANES);
            scratch.columns[index] = scratch.take((groups + beyond) * numbers * LANES);
        }
        scratch.resized_start = scratch.len;
        for (component, _) in self.along.iter().enumerate().filter(|(_, table)| table.is_some()) {
            scratch.resized[component] = scratch.take(outputs * LANES);
        }
        scratch.finished = [0, 1, 2, 3].map(|_| scratch.take_rows(outputs, LANES));
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
        Tile { groups: groups.collect(), outputs }
    };
    (0..across).step_by(step).map(cut).collect()
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
fn stores(recipe: &Recipe, all: &[Component], own: &[usize]) -> Vec<Store> {
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
    let order = |store: &Store| store.order.clone();
    let bytes = stores.iter().all(|store| matches!(store.how, How::Bytes(_)));
    bytes
        && match stores {
            [one] => matches!(order(one)[..], [0, 1, 2] | [2, 1, 0]),
            [a, b, c] => [order(a), order(b), order(c)] == [[0], [1], [2]],
            _ => false,
        }
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
