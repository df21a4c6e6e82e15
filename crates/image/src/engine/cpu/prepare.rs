//! Everything about a conversion that does not depend on the pixels, computed once.

use std::ops::Range;

use tenure_layout::{DType, PixelFormat};

use crate::colour::Matrix;
use crate::component::{Component, components};
use crate::engine::cpu::feed::Feed;
use crate::engine::cpu::fixed::{FixedMatrix, Horizontal, LANES, MATRIX_COST, fraction_bits};
use crate::engine::cpu::kernels::{Real, Scale};
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
    /// For each component of the source how its row becomes one of the output's width.
    pub(crate) paths: Vec<Option<Path>>,
    pub(crate) matrix: Option<FixedMatrix>,
    pub(crate) stores: Vec<Store>,
    /// Bits after the point of summed rows.
    pub(crate) sum_fraction: u32,
    /// Bits after the point of finished rows.
    pub(crate) fraction: u32,
    /// Output samples along the source's rows, and rows.
    pub(crate) across: usize,
    pub(crate) down: usize,
    /// First sample and row in the destination's planes.
    pub(crate) left: usize,
    pub(crate) top: usize,
    pub(crate) scratch: Scratch,
}

/// A component's row on its way.
#[derive(Debug)]
pub(crate) struct Path {
    /// Where in the scratch memory the summed row is.
    pub(crate) summed: Range<usize>,
    /// Where the row of the output's width is: `summed` itself if widths are equal.
    pub(crate) resized: Range<usize>,
    pub(crate) horizontal: Option<Horizontal>,
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
    /// For rows whose components are still in turn.
    pub(crate) mixed: [Range<usize>; 2],
    /// Three rows after the colour matrix.
    pub(crate) colours: [Range<usize>; 3],
    /// A row of opaque alpha.
    pub(crate) opaque: Range<usize>,
    pub(crate) len: usize,
}

impl Scratch {
    fn row(&mut self, len: usize) -> Range<usize> {
        let start = self.len;
        self.len += len.next_multiple_of(LANES);
        start..self.len
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
        let sum_fraction = fraction_bits(recipe.filter.overshoots());

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
        let feeds = Feed::all(recipe, &taps, sum_fraction);

        let mut scratch = Scratch::default();
        let mut paths: Vec<Option<Path>> = source.iter().map(|_| None).collect();
        let mut mixed = 0;
        for feed in &feeds {
            let groups = feed.groups.len();
            mixed = mixed.max(3 * groups);
            for &component in feed.shape.components() {
                let samples = groups * feed.shape.samples(component);
                let start = feed.groups.start * feed.shape.samples(component);
                let (path, taps) = (&mut paths[component], &taps[component]);
                *path =
                    Some(Path::new(taps.as_ref().map(|(a, _)| a), start, samples, &mut scratch));
            }
        }
        let taken = taps.iter().flatten().next();
        let (across, down) = taken.map_or((0, 0), |(a, d)| (a.first.len(), d.first.len()));
        scratch.mixed = [scratch.row(mixed), scratch.row(mixed)];
        let matrix = (!identity).then(|| {
            scratch.colours = std::array::from_fn(|_| scratch.row(across));
            FixedMatrix::new(&matrix, sum_fraction)
        });
        let fraction = if matrix.is_some() { sum_fraction - MATRIX_COST } else { sum_fraction };
        scratch.opaque = scratch.row(across);
        let content = recipe.geometry.content;
        Pass {
            feeds,
            paths,
            matrix,
            stores: stores(recipe, all, own),
            sum_fraction,
            fraction,
            across,
            down,
            left: content.x / target.across,
            top: content.y / target.down,
            scratch,
        }
    }
}

impl Path {
    fn new(taps: Option<&Taps>, start: usize, samples: usize, scratch: &mut Scratch) -> Path {
        let copy = taps.is_none_or(|taps| taps.is_copy(start));
        let horizontal = taps.filter(|_| !copy).map(|taps| Horizontal::new(taps, start));
        // Windows may reach beyond the last sample, with weights of zero.
        let beyond = horizontal.as_ref().map_or(LANES, |table| table.window.max(LANES));
        let summed = scratch.row(samples + beyond);
        let resized = match &horizontal {
            Some(table) => scratch.row(table.first.len()),
            None => summed.clone(),
        };
        Path { summed, resized, horizontal }
    }
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
