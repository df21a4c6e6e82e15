//! The definition of every conversion, in `f64`, one sample at a time.
//!
//! Slow on purpose: no fixed point, no shared work, nothing clever. The other engines are
//! measured against it.
#![expect(unsafe_code, reason = "reads and writes samples at held addresses")]

use half::{bf16, f16};
use tenure_layout::DType;

use crate::Result;
use crate::colour::{Matrix, Model};
use crate::component::{Component, components};
use crate::engine::{Engine, EngineKind};
use crate::held::{Held, PlaneAddress, check_reachable};
use crate::job::{Job, Recipe};
use crate::taps::{Samples, Taps};

#[derive(Debug)]
pub(crate) struct Reference;

impl Engine for Reference {
    fn kind(&self) -> EngineKind {
        EngineKind::Reference
    }

    fn check(&self, job: &Job) -> Result<()> {
        check_reachable(&job.source)?;
        check_reachable(&job.target)
    }

    fn explain(&self, _: &Job) -> String {
        "every sample in f64, one thread".to_owned()
    }

    fn run(&self, job: &Job) -> Result<()> {
        let (source, target) = (Held::to_read(&job.source)?, Held::to_write(&job.target)?);
        let recipe = &job.recipe;
        let matrix = Matrix::between(recipe.source.model, recipe.target.model);
        for (channel, component) in components(recipe.target.format).iter().enumerate() {
            let pass = Pass::new(recipe, &matrix, component, channel);
            pass.run(source.planes(), target.planes());
        }
        source.intact()?;
        target.intact()
    }
}

/// The work for one component of the destination.
struct Pass<'a> {
    recipe: &'a Recipe,
    matrix: &'a Matrix,
    component: &'a Component,
    channel: usize,
    /// Taps across and down for each component of the source.
    taps: Vec<(Taps, Taps)>,
}

impl<'a> Pass<'a> {
    fn new(
        recipe: &'a Recipe,
        matrix: &'a Matrix,
        component: &'a Component,
        channel: usize,
    ) -> Pass<'a> {
        let taps = components(recipe.source.format).iter().map(|own| recipe.taps(own, component));
        Pass { recipe, matrix, component, channel, taps: taps.collect() }
    }

    fn run(&self, source: &[PlaneAddress], target: &[PlaneAddress]) {
        let (geometry, component) = (&self.recipe.geometry, self.component);
        let Some(plane) = target.get(component.plane) else { return };
        let shrink = |pixels: usize, every: usize| pixels.div_ceil(every);
        let all = geometry.rectangle;
        let content = geometry.content;
        let (left, top) = (content.x / component.across, content.y / component.down);
        for y in all.y / component.down..shrink(all.y + all.height, component.down) {
            for x in all.x / component.across..shrink(all.x + all.width, component.across) {
                let inside = (left..shrink(content.x + content.width, component.across))
                    .contains(&x)
                    && (top..shrink(content.y + content.height, component.down)).contains(&y);
                let value = if inside {
                    let (u, v) = (x - left, y - top);
                    let (u, v) = if geometry.transposed { (v, u) } else { (u, v) };
                    self.sample(source, u, v)
                } else {
                    self.recipe.fill()[self.channel]
                };
                let element = component.first + x * component.step;
                // SAFETY: the plane is held for writing, and (x, y) lies inside the image.
                unsafe { self.store(plane.row(y), element, value) };
            }
        }
    }

    /// One channel of the output sample (`u`, `v`), in 8-bit units.
    fn sample(&self, source: &[PlaneAddress], u: usize, v: usize) -> f64 {
        let own = components(self.recipe.source.format);
        let mut values = [0.0, 0.0, 0.0, 255.0];
        for ((component, (across, down)), value) in own.iter().zip(&self.taps).zip(&mut values) {
            let Some(plane) = source.get(component.plane) else { continue };
            *value = 0.0;
            for (row, &weight_y) in
                down.weights_of(v).iter().enumerate().filter(|(_, w)| **w != 0.0)
            {
                for (at, &weight_x) in
                    across.weights_of(u).iter().enumerate().filter(|(_, w)| **w != 0.0)
                {
                    let element = component.first + (across.first[u] + at) * component.step;
                    let address = plane.row(down.first[v] + row);
                    // SAFETY: the plane is held for reading, and taps stay inside the image.
                    let code = unsafe { load(address, element, self.recipe.source.dtype) };
                    *value += code * weight_x * weight_y;
                }
            }
        }
        let [a, b, c, alpha] = values;
        let colour = self.matrix.apply([a, b, c]);
        let value = colour.get(self.channel).copied().unwrap_or(alpha);
        value.clamp(0.0, 255.0)
    }

    /// # Safety
    /// `row` must be valid for writes of the element.
    unsafe fn store(&self, row: *mut u8, element: usize, value: f64) {
        let affine = &self.recipe.affine;
        let real =
            value * f64::from(affine.multiply[self.channel]) + f64::from(affine.add[self.channel]);
        let dtype = self.recipe.target.dtype;
        let at = row.wrapping_add(element * dtype.size().unwrap_or(1));
        // SAFETY: by the caller's promise; addresses may be unaligned.
        unsafe {
            match dtype {
                DType::I8 => at.cast::<i8>().write(real.round().clamp(-128.0, 127.0) as i8),
                DType::F32 => at.cast::<f32>().write_unaligned(real as f32),
                DType::F16 => at.cast::<f16>().write_unaligned(f16::from_f64(real)),
                DType::Bf16 => at.cast::<bf16>().write_unaligned(bf16::from_f64(real)),
                _ => at.write(real.round().clamp(0.0, 255.0) as u8),
            }
        }
    }
}

/// A code in 8-bit units.
///
/// # Safety
/// `row` must be valid for reads of the element.
unsafe fn load(row: *const u8, element: usize, dtype: DType) -> f64 {
    // SAFETY: by the caller's promise; addresses may be unaligned.
    unsafe {
        match dtype {
            DType::U16 => {
                f64::from(row.cast::<u16>().wrapping_add(element).read_unaligned()) / 256.0
            }
            _ => f64::from(row.wrapping_add(element).read()),
        }
    }
}

impl Recipe {
    /// Taps across and down that take a source component to a destination component.
    pub(crate) fn taps(&self, own: &Component, target: &Component) -> (Taps, Taps) {
        let (geometry, crop) = (&self.geometry, self.geometry.crop);
        let across = Samples::new(crop.x, crop.width, own.across, Some(self.siting));
        // Both sitings have chroma in the middle of the rows.
        let down = Samples::new(crop.y, crop.height, own.down, None);
        let output = |axis_runs_across: bool, pixels: usize| {
            if axis_runs_across {
                Samples::new(0, pixels, target.across, Some(self.target_siting))
            } else {
                Samples::new(0, pixels, target.down, None)
            }
        };
        let straight = !geometry.transposed;
        let outputs =
            (output(straight, geometry.across.outputs), output(!straight, geometry.down.outputs));
        (
            Taps::new(self.filter, &geometry.across, &across, &outputs.0),
            Taps::new(self.filter, &geometry.down, &down, &outputs.1),
        )
    }

    /// The fill colour in the destination's components, in 8-bit units.
    pub(crate) fn fill(&self) -> [f64; 4] {
        let [red, green, blue, alpha] = self.geometry.fill.map(f64::from);
        let [a, b, c] = Matrix::between(Model::Rgb, self.target.model).apply([red, green, blue]);
        [a, b, c, alpha]
    }
}
