//! What a conversion draws, worked out without a GPU: passes, tables, where elements go.

use half::{bf16, f16};
use smallvec::SmallVec;
use tenure_layout::{DType, PixelFormat, Region};

use super::api::Area;
use super::feed::{Feed, feeds};
use super::ramp::Ramp;
use super::shader::{Sampling, Store, Triangle, WRITTEN_OUT};
use super::table::{Run, Table, Taken};
use crate::colour::Matrix;
use crate::component::{Component, components};
use crate::convert::Filter;
use crate::geometry::Axis;
use crate::job::Recipe;
use crate::normalize::Affine;
use crate::taps::Samples;

/// Everything that is drawn.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) passes: Vec<Pass>,
    /// Whether sampling itself writes the destination: four bytes a pixel.
    pub(super) direct: bool,
}

/// One picture that is sampled: all components that lie on the same pixels.
#[derive(Debug)]
pub(super) struct Pass {
    /// The destination rectangle, in samples.
    pub(super) rectangle: Area,
    /// The part that the source covers, from the rectangle's corner.
    pub(super) content: Area,
    /// The weights across and down, if they are not computed.
    pub(super) tables: Option<[Table; 2]>,
    pub(super) sampling: Sampling,
    /// What is around the content, as it is sampled.
    pub(super) fill: [f32; 4],
    pub(super) planes: SmallVec<[PlanePart; 4]>,
}

/// Where a picture's channels go in one plane of the destination.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlanePart {
    pub(super) plane: usize,
    /// The channels of a group, in the order of memory.
    pub(super) channels: &'static str,
    /// Four bytes that what is around the content repeats, if it does.
    pub(super) fill: Option<[u8; 4]>,
}

impl PlanePart {
    /// Which channel a plane with one has.
    pub(super) fn channel(&self) -> [f32; 4] {
        std::array::from_fn(|at| if self.channels.starts_with(NAMES[at]) { 1.0 } else { 0.0 })
    }
}

const NAMES: [char; 4] = ['r', 'g', 'b', 'a'];

/// For each pass a component of the destination, and the planes and channels that it fills.
type Parts = &'static [(usize, &'static [(usize, &'static str)])];

const fn parts(format: PixelFormat) -> Parts {
    match format {
        PixelFormat::Rgb => &[(0, &[(0, "rgb")])],
        PixelFormat::Bgr => &[(0, &[(0, "bgr")])],
        PixelFormat::Rgba => &[(0, &[(0, "rgba")])],
        PixelFormat::Bgra => &[(0, &[(0, "bgra")])],
        PixelFormat::PlanarRgb => &[(0, &[(0, "r"), (1, "g"), (2, "b")])],
        PixelFormat::PlanarRgba => &[(0, &[(0, "r"), (1, "g"), (2, "b"), (3, "a")])],
        PixelFormat::Nv12 => &[(0, &[(0, "r")]), (1, &[(1, "gb")])],
        // No other format in luma and chroma is a destination.
        _ => &[(0, &[(0, "r")])],
    }
}

fn store(dtype: DType, affine: &Affine) -> Store {
    match dtype {
        DType::I8 => Store::Signed,
        DType::U8 if *affine != Affine::IDENTITY => Store::Unsigned,
        _ => Store::Plain,
    }
}

/// Whether a picture of this type needs more than eight bits before it is packed.
pub(super) fn is_float(dtype: DType) -> bool {
    !matches!(dtype, DType::U8 | DType::I8)
}

/// Checks that everything between source and destination fits a texture, whose sides are at most
/// so long; those two are checked elsewhere.
///
/// # Errors
/// What does not, in words.
pub(super) fn check_size(recipe: &Recipe, longest: usize) -> Result<(), String> {
    let Region { width, height, .. } = recipe.geometry.rectangle;
    if width.max(height) > longest {
        return Err(format!(
            "the destination rectangle of {width}x{height} pixels is too large: {longest} across \
             and down are the most"
        ));
    }
    // An output's weights are at most those of all words of a row, or of all rows.
    let feeds = feeds(recipe.source.format);
    let all = |feed: &Feed| (recipe.source.width * feed.step).max(recipe.source.height) / 4 + 1;
    if feeds.iter().map(all).sum::<usize>() < longest {
        return Ok(());
    }
    let plan = Plan::new(recipe);
    let tables = plan.passes.iter().filter_map(|pass| pass.tables.as_ref()).flatten();
    match tables.map(|table| table.columns).max() {
        Some(columns) if columns > longest => Err(format!(
            "the picture is reduced too much: {longest} weights for an output are the most"
        )),
        _ => Ok(()),
    }
}

impl Plan {
    pub(super) fn new(recipe: &Recipe) -> Plan {
        let format = recipe.target.format;
        let direct = matches!(format, PixelFormat::Rgba | PixelFormat::Bgra)
            && !is_float(recipe.target.dtype);
        let passes = parts(format).iter().map(|(component, planes)| {
            pass(recipe, *component, planes, direct && format == PixelFormat::Bgra)
        });
        Plan { passes: passes.collect(), direct }
    }
}

fn pass(
    recipe: &Recipe,
    component: usize,
    planes: &[(usize, &'static str)],
    swapped: bool,
) -> Pass {
    let geometry = &recipe.geometry;
    let target = &components(recipe.target.format)[component];
    let area = |region: tenure_layout::Region| {
        let (x, y) = (region.x / target.across, region.y / target.down);
        let right = (region.x + region.width).div_ceil(target.across);
        let bottom = (region.y + region.height).div_ceil(target.down);
        Area { x: x as i32, y: y as i32, width: (right - x) as i32, height: (bottom - y) as i32 }
    };
    let (rectangle, content) = (area(geometry.rectangle), area(geometry.content));
    let content = Area { x: content.x - rectangle.x, y: content.y - rectangle.y, ..content };
    let feeds = feeds(recipe.source.format);
    // Chroma of the destination may end in half a sample: its centres are not evenly spaced.
    let even = (target.across, target.down) == (1, 1);
    let triangles: SmallVec<[Triangle; 2]> =
        match matches!(recipe.filter, Filter::Bilinear | Filter::Antialiased) && even {
            true => feeds.iter().map(|feed| triangle(recipe, feed)).collect(),
            false => SmallVec::new(),
        };
    let few = |own: &Triangle| own.across.count * own.down.count <= WRITTEN_OUT;
    let (tables, triangles) = match !triangles.is_empty() && triangles.iter().all(few) {
        true => (None, triangles),
        false => (Some(tables(recipe, target, feeds)), SmallVec::new()),
    };
    let run = |ramp: &Ramp| Run { column: 0, count: ramp.count };
    let (across, down) = match &tables {
        Some([across, down]) => (across.runs.clone(), down.runs.clone()),
        None => (
            triangles.iter().map(|own| run(&own.across)).collect(),
            triangles.iter().map(|own| run(&own.down)).collect(),
        ),
    };
    let Matrix { rows, offset } = Matrix::between(recipe.source.model, recipe.target.model);
    let dtype = recipe.target.dtype;
    let sampling = Sampling {
        feeds,
        across,
        down,
        transposed: geometry.transposed,
        store: store(dtype, &recipe.affine),
        swapped,
        triangles,
        matrix: std::array::from_fn(|at| rows[at % 3][at / 3] as f32),
        offset: offset.map(|code| (code / 255.0) as f32),
        affine: recipe.affine,
    };
    let part = |(plane, channels): &(usize, &'static str)| PlanePart {
        plane: *plane,
        channels,
        fill: fill_word(recipe, channels),
    };
    let mut fill = sampled_fill(recipe, sampling.store);
    if swapped {
        fill.swap(0, 2);
    }
    let planes = planes.iter().map(part).collect();
    Pass { rectangle, content, tables, sampling, fill, planes }
}

/// The samples of a feed across and down.
fn samples(recipe: &Recipe, feed: &Feed) -> (Samples, Samples) {
    let (crop, own) = (recipe.geometry.crop, &components(recipe.source.format)[feed.component]);
    let x = Samples::new(crop.x, crop.width, own.across, Some(recipe.siting));
    (x, Samples::new(crop.y, crop.height, own.down, None))
}

/// The triangles of a feed.
fn triangle(recipe: &Recipe, feed: &Feed) -> Triangle {
    let (x, y) = samples(recipe, feed);
    let width = |axis: &Axis, samples: &Samples| match recipe.filter {
        Filter::Bilinear => 1.0,
        _ => (axis.step() / samples.every as f64).max(1.0),
    };
    let last = feed.bytes.last().map_or(0, |(byte, _)| *byte);
    let word = |sample: usize| (sample * feed.step / 4, (sample * feed.step + last) / 4);
    let (across, down) = (&recipe.geometry.across, &recipe.geometry.down);
    let words = (x.end * feed.step).div_ceil(4);
    let [first, end] = [x.first, x.end].map(|at| at as f32);
    Triangle {
        across: Ramp::new(across, &x, width(across, &x), word, words),
        down: Ramp::new(down, &y, width(down, &y), |row| (row, row), y.end),
        // The middle of the samples, and how far from it they are.
        range: [(first + end) / 2.0, (end - first) / 2.0],
        bounded: ![x.first, x.end].iter().all(|at| (at * feed.step).is_multiple_of(4)),
    }
}

/// The weights of all feeds across and down.
fn tables(recipe: &Recipe, target: &Component, feeds: &[Feed]) -> [Table; 2] {
    let (mut across, mut down): (Vec<Taken<'_>>, Vec<Taken<'_>>) = (vec![], vec![]);
    for feed in feeds {
        let own = &components(recipe.source.format)[feed.component];
        let (x, y) = samples(recipe, feed);
        let (taps_x, taps_y) = recipe.taps(own, target);
        across.push((feed, taps_x, (x.end * feed.step).div_ceil(4)));
        down.push((feed, taps_y, y.end));
    }
    [Table::across(&across), Table::down(&down)]
}

/// The fill as sampling would leave it.
fn sampled_fill(recipe: &Recipe, store: Store) -> [f32; 4] {
    let (fill, affine) = (recipe.fill(), &recipe.affine);
    std::array::from_fn(|channel| match store {
        Store::Plain => (fill[channel] / 255.0) as f32,
        _ => f32::from(element(recipe.target.dtype, affine, fill, channel)[0]) / 255.0,
    })
}

/// One element of the fill, as bytes.
fn element(dtype: DType, affine: &Affine, fill: [f64; 4], channel: usize) -> SmallVec<[u8; 4]> {
    let real = fill[channel] * f64::from(affine.multiply[channel]) + f64::from(affine.add[channel]);
    match dtype {
        DType::I8 => SmallVec::from_slice(&(real.round().clamp(-128.0, 127.0) as i8).to_le_bytes()),
        DType::F32 => SmallVec::from_slice(&(real as f32).to_le_bytes()),
        DType::F16 => SmallVec::from_slice(&f16::from_f64(real).to_le_bytes()),
        DType::Bf16 => SmallVec::from_slice(&bf16::from_f64(real).to_le_bytes()),
        _ => SmallVec::from_slice(&[real.round().clamp(0.0, 255.0) as u8]),
    }
}

/// The four bytes that a filled row repeats, if it repeats any.
fn fill_word(recipe: &Recipe, channels: &str) -> Option<[u8; 4]> {
    let (fill, dtype) = (recipe.fill(), recipe.target.dtype);
    let place = |name: char| NAMES.iter().position(|own| *own == name).unwrap_or(0);
    let group: Vec<u8> = channels
        .chars()
        .flat_map(|name| element(dtype, &recipe.affine, fill, place(name)))
        .collect();
    let four = group.repeat(4);
    let (first, rest) = four.split_first_chunk::<4>()?;
    rest.chunks_exact(4).all(|chunk| chunk == first).then_some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Job;
    use crate::{Convert, Fit};
    use tenure_tensor::{DynTensor, TensorDyn, TensorMemory};

    fn plan(format: PixelFormat, dtype: DType, fill: [u8; 4]) -> Plan {
        let image = |width, height, format, dtype| {
            let memory = Some(TensorMemory::Mem);
            TensorDyn::image(width, height, format, dtype, memory, None).unwrap()
        };
        let source = image(64, 32, PixelFormat::Nv12, DType::U8);
        let target = image(32, 32, format, dtype);
        let letterbox = Convert::new().fit(Fit::Letterbox { fill });
        Plan::new(&Job::new(&source, &target, &letterbox).unwrap().recipe)
    }

    #[test]
    fn rows_of_fill_that_repeat_are_found() {
        let grey = plan(PixelFormat::Rgb, DType::U8, [114, 114, 114, 255]);
        assert_eq!(grey.passes[0].planes[0].fill, Some([114; 4]));
        let blue = plan(PixelFormat::Rgb, DType::U8, [0, 0, 9, 255]);
        assert_eq!(blue.passes[0].planes[0].fill, None);
        let planes = plan(PixelFormat::PlanarRgb, DType::F32, [1, 2, 3, 255]);
        assert_eq!(planes.passes[0].planes[1].fill, Some(2f32.to_le_bytes()));
        assert_eq!(planes.passes[0].content, Area { x: 0, y: 8, width: 32, height: 16 });
    }

    #[test]
    fn chroma_is_a_pass_of_its_own() {
        let plan = plan(PixelFormat::Nv12, DType::U8, [0; 4]);
        assert_eq!(plan.passes.len(), 2);
        assert_eq!(plan.passes[1].rectangle, Area { x: 0, y: 0, width: 16, height: 16 });
        assert_eq!(plan.passes[1].tables.as_ref().unwrap()[0].outputs, 16);
        assert_eq!(plan.passes[0].tables, None);
    }
}
