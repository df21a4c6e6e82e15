//! One conversion on the GPU: planes in, pictures drawn, planes out.

use std::sync::Arc;

use glow::{Framebuffer, Texture};
use smallvec::SmallVec;
use tenure_memory::{Access, Buffer, Fence, TensorMemory};

use super::api::{Area, Gl, LOST, Refused, Texels, Value};
use super::buffers::Buffers;
use super::display::Display;
use super::import::Imports;
use super::plan::{Pass, PlanePart, is_float};
use super::prepare::{Programs, Ready, ReadyPass};
use super::scratch::{Scratch, Slot};
use super::side::{Drawable, Side};
use super::state::State;
use super::target::{Surface, all_bytes, segments};
use super::worker::Abilities;
use crate::job::Recipe;
use crate::{Error, Result};

/// A conversion on its way: what to do, and both sides, held until this is dropped.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) recipe: Recipe,
    pub(super) source: Side,
    pub(super) target: Side,
}

impl Work {
    /// Whether the memory of both sides kept its bytes.
    pub(super) fn intact(&self) -> Result<()> {
        self.source.intact()?;
        self.target.intact()
    }

    /// Lets others that use the memory, devices and processes, wait for this work.
    fn tell_devices(&self, fence: &Fence) {
        let sides = [(&self.source, Access::KernelRead), (&self.target, Access::KernelWrite)];
        for (side, access) in sides {
            for raw in side.allocations().filter(|raw| raw.memory() == TensorMemory::Dma) {
                // Kernels before 6.0 cannot; the holds keep this process away all the same.
                let _ = Buffer::from_shared(Arc::clone(raw)).add_fence(fence, access);
            }
        }
    }
}

fn refused(reason: String) -> Error {
    Error::from(crate::detail::Engine { engine: "gl", reason })
}

/// A context and everything that is kept in it.
pub(super) struct Painter {
    pub(super) gl: Gl,
    pub(super) imports: Imports,
    pub(super) scratch: Scratch,
    programs: Programs,
    /// Rows on their way to or from memory that is no multiple of words.
    pub(super) rows: Vec<u8>,
    pub(super) state: Arc<State>,
    /// Last, so that the context goes last.
    pub(super) display: Display,
}

/// A plane to sample.
pub(super) struct Sampled {
    pub(super) texture: Texture,
    /// Which word and row of the plane is its first.
    pub(super) first: [usize; 2],
    /// Words and rows.
    pub(super) size: [usize; 2],
}

impl Sampled {
    /// Where its first texel is, and what a texel is of all of it.
    fn inside(&self) -> [f32; 4] {
        let ([x, y], [width, height]) = (self.first, self.size);
        [x as f32, y as f32, 1.0 / width as f32, 1.0 / height as f32]
    }
}

impl Painter {
    pub(super) fn new(gl: Gl, display: Display, state: Arc<State>) -> Painter {
        Painter {
            gl,
            imports: Imports::new(Arc::clone(&state)),
            scratch: Scratch::default(),
            programs: Programs::default(),
            rows: vec![],
            state,
            display,
        }
    }

    /// What this context can do; shared memory is tried.
    pub(super) fn abilities(&mut self) -> Abilities {
        let imports = self.display.imports && self.gl.takes_images();
        Abilities {
            platform: self.display.platform,
            renderer: self.gl.renderer.clone(),
            longest: self.gl.longest,
            floats: self.gl.floats,
            imports,
            imports_shared: imports && self.imports.takes_shared(&self.display, &self.gl),
        }
    }

    pub(super) fn gl(&self) -> &Gl {
        &self.gl
    }

    /// Converts, and waits until it is done; or, if asked to and both sides are the GPU's to
    /// reach, gives what to wait for.
    pub(super) fn convert(
        &mut self,
        work: &Work,
        buffers: &Buffers,
        wait: bool,
    ) -> Result<Option<Fence>> {
        if self.state.lost() {
            return Err(refused(LOST.to_owned()));
        }
        self.tidy();
        let drawn = self.paint(work, buffers);
        self.state.keep_imports(self.imports.len());
        if let (Ok(true), false) = (&drawn, wait)
            && let Some(fence) = self.display.fence(|| self.gl.flush())
        {
            let fence = self.check().and_then(|()| Ok(Fence::from_fd(fence)?));
            // Whoever is refused gets the bytes back: the GPU must be done with them.
            let fence = fence.inspect_err(|_| self.gl.finish())?;
            work.tell_devices(&fence);
            self.state.count_fence();
            return Ok(Some(fence));
        }
        self.gl.finish();
        // Errors of this conversion must not be the next one's.
        let checked = self.check();
        drawn.map_err(refused)?;
        checked?;
        work.intact()?;
        Ok(None)
    }

    /// Lets go of imports whose memory is gone.
    pub(super) fn tidy(&mut self) {
        self.imports.tidy(&self.gl);
        self.state.keep_imports(self.imports.len());
    }

    /// Whether everything went well so far; a context that was lost is not used again.
    pub(super) fn check(&self) -> Result<()> {
        let checked = self.gl.check("converting");
        if checked.as_ref().is_err_and(|reason| reason.contains(LOST)) {
            self.state.lose();
        }
        checked.map_err(refused)
    }

    /// Says whether the destination was drawn where it is, not copied.
    fn paint(&mut self, work: &Work, buffers: &Buffers) -> Result<bool, Refused> {
        let ready = self.programs.ready(&self.gl, &work.recipe)?;
        let sources = self.sources(work, buffers)?;
        let (surfaces, imported) = self.surfaces(work, &ready)?;
        for (index, (pass, own)) in ready.plan.passes.iter().zip(&ready.passes).enumerate() {
            if ready.plan.direct {
                let Some(surface) = surfaces.first() else { continue };
                self.sample_into(pass, own, &sources, surface);
            } else {
                self.sample_and_pack(work, (pass, own), &sources, &surfaces, index)?;
            }
        }
        if !imported {
            self.download(work, buffers, &ready, &surfaces)?;
        }
        Ok(imported)
    }

    /// Samples straight into the destination.
    fn sample_into(&self, pass: &Pass, own: &ReadyPass, sources: &[Sampled], surface: &Surface) {
        let (x, y) = (surface.x, surface.y);
        let at = |area: Area| Area { x: x + area.x, y: y + area.y, ..area };
        let rectangle = Area { x: 0, y: 0, ..pass.rectangle };
        if pass.content != rectangle {
            self.gl.clear(surface.framebuffer, at(rectangle), pass.fill, [true; 4]);
        }
        self.sample(pass, own, sources, surface.framebuffer, at(pass.content));
    }

    fn sample(
        &self,
        pass: &Pass,
        own: &ReadyPass,
        sources: &[Sampled],
        to: Framebuffer,
        area: Area,
    ) {
        const PLANES: [[&str; 2]; 4] = [
            ["plane0", "inside0"],
            ["plane1", "inside1"],
            ["plane2", "inside2"],
            ["plane3", "inside3"],
        ];
        const SHAPES: [[&str; 5]; 2] = [
            ["places_x0", "limits_x0", "places_y0", "limits_y0", "range0"],
            ["places_x1", "limits_x1", "places_y1", "limits_y1", "range1"],
        ];
        let mut textures: SmallVec<[(&str, Texture); 6]> = SmallVec::new();
        let mut values: SmallVec<[(&str, Value); 16]> = SmallVec::new();
        for ([plane, inside], sampled) in PLANES.iter().zip(sources) {
            textures.push((plane, sampled.texture));
            values.push((inside, Value::Vec4(sampled.inside())));
        }
        for ([places_x, limits_x, places_y, limits_y, range], own) in
            SHAPES.iter().zip(&pass.sampling.triangles)
        {
            values.push((places_x, Value::Vec4(own.across.place)));
            values.push((limits_x, Value::Vec4(own.across.limits)));
            values.push((places_y, Value::Vec4(own.down.place)));
            values.push((limits_y, Value::Vec4(own.down.limits)));
            values.push((range, Value::Vec2(own.range)));
        }
        if let Some([across, down]) = own.tables {
            textures.push(("across", across));
            textures.push(("down", down));
        }
        values.push(("corner", Value::Vec2([area.x, area.y].map(|at| at as f32 + 0.5))));
        self.gl.set(own.sample, &textures, &values);
        self.gl.draw(to, area, [true; 4]);
    }

    fn sample_and_pack(
        &mut self,
        work: &Work,
        (pass, own): (&Pass, &ReadyPass),
        sources: &[Sampled],
        surfaces: &[Surface],
        index: usize,
    ) -> Result<(), Refused> {
        let texels =
            if is_float(work.recipe.target.dtype) { Texels::Halves } else { Texels::Words };
        let rectangle = Area { x: 0, y: 0, ..pass.rectangle };
        let size = (rectangle.width as usize, rectangle.height as usize);
        let (picture, framebuffer) =
            self.scratch.target(&self.gl, Slot::Picture(index), texels, size)?;
        // Rows above and below the picture can be filled without packing them.
        let wide = pass.content.x == 0 && pass.content.width == rectangle.width;
        let fills = pass.planes.iter().all(|part| part.fill.is_some()) && wide;
        if pass.content != rectangle && !fills {
            self.gl.clear(framebuffer, rectangle, pass.fill, [true; 4]);
        }
        self.sample(pass, own, sources, framebuffer, pass.content);
        for part in &pass.planes {
            let Some(surface) = surfaces.get(part.plane) else { continue };
            let rows = match fills {
                true => {
                    self.fill_around(pass, part, surface, work);
                    (pass.content.y, pass.content.height)
                }
                false => (0, rectangle.height),
            };
            self.pack(work, own, part, (picture, pass.rectangle.width), surface, rows);
        }
        Ok(())
    }

    fn fill_around(&self, pass: &Pass, part: &PlanePart, surface: &Surface, work: &Work) {
        let Some(word) = part.fill else { return };
        let below = pass.content.y + pass.content.height;
        let bands = [(0, pass.content.y), (below, pass.rectangle.height - below)];
        let bytes = all_bytes(part, &work.recipe, pass.rectangle.width);
        // What repeats starts with the first byte of the rectangle, not of the word.
        let mut word = word;
        word.rotate_right(surface.lead);
        let colour = word.map(|byte| f32::from(byte) / 255.0);
        for (y, height) in bands.into_iter().filter(|(_, height)| *height > 0) {
            for (at, width, mask) in segments(surface, bytes) {
                let area = Area { x: surface.x + at, y: surface.y + y, width, height };
                match surface.texels {
                    Texels::Quads => {
                        let word = u32::from_le_bytes(word);
                        self.gl.clear_quads(surface.framebuffer, area, word);
                    }
                    _ => self.gl.clear(surface.framebuffer, area, colour, mask),
                }
            }
        }
    }

    fn pack(
        &self,
        work: &Work,
        own: &ReadyPass,
        part: &PlanePart,
        (picture, width): (Texture, i32),
        surface: &Surface,
        (top, height): (i32, i32),
    ) {
        let dtype = work.recipe.target.dtype;
        let size = dtype.size().unwrap_or(1) as i32;
        let affine = &work.recipe.affine;
        let group = part.channels.len() as i32;
        let bytes = all_bytes(part, &work.recipe, width);
        // Three bytes a pixel are packed by pixels, all others by elements.
        let last = if group == 3 && size == 1 { width - 1 } else { width * group - 1 };
        let values = [
            ("origin", Value::Ints([surface.x, surface.y + top])),
            ("first", Value::Int(-(surface.lead as i32) / size)),
            ("last", Value::Int(last)),
            ("top", Value::Int(top)),
            ("channel", Value::Vec4(part.channel())),
            ("multiply", Value::Vec4(affine.multiply.map(|value| value * 255.0))),
            ("add", Value::Vec4(affine.add)),
        ];
        let Some(programs) = own.pack else { return };
        let program = programs[usize::from(surface.texels == Texels::Quads)];
        self.gl.set(program, &[("picture", picture)], &values);
        for (at, width, mask) in segments(surface, bytes) {
            let area = Area { x: surface.x + at, y: surface.y + top, width, height };
            self.gl.draw(surface.framebuffer, area, mask);
        }
    }

    /// The destination's planes to draw into, and whether they are the destination's own memory.
    fn surfaces(
        &mut self,
        work: &Work,
        ready: &Ready,
    ) -> Result<(SmallVec<[Surface; 4]>, bool), Refused> {
        let parts = || {
            ready
                .plan
                .passes
                .iter()
                .flat_map(|pass| pass.planes.iter().map(move |part| (pass, part)))
        };
        let target = &work.target;
        if let Drawable::No(obstacle) = target.drawable {
            let memory = target.allocations().next().map(|raw| raw.memory());
            self.state.tell(memory.unwrap_or(TensorMemory::Dma), obstacle);
        }
        if target.drawable == Drawable::Yes {
            let mut surfaces = SmallVec::new();
            for (pass, part) in parts() {
                let Some(plane) = target.planes.get(part.plane) else { break };
                let Some(own) = self.imports.drawn(&self.display, &self.gl, plane) else { break };
                let first = all_bytes(part, &work.recipe, pass.rectangle.x);
                surfaces.push(Surface {
                    framebuffer: own,
                    x: (first / 4) as i32,
                    y: pass.rectangle.y,
                    lead: first % 4,
                    texels: Texels::Words,
                    exact: true,
                });
            }
            if surfaces.len() == target.planes.len() {
                return Ok((surfaces, true));
            }
        }
        // All planes below each other in one texture.
        let (texels, unit) =
            if ready.plan.direct { (Texels::Words, 4) } else { (Texels::Quads, 16) };
        let across = |(pass, part): (&Pass, &PlanePart)| {
            all_bytes(part, &work.recipe, pass.rectangle.width).div_ceil(unit)
        };
        let width = parts().map(across).max().unwrap_or(1);
        let height: i32 = parts().map(|(pass, _)| pass.rectangle.height).sum();
        let size = (width, height as usize);
        let (_, framebuffer) = self.scratch.target(&self.gl, Slot::Target, texels, size)?;
        let mut y = 0;
        let surfaces = parts().map(|(pass, _)| {
            let surface = Surface { framebuffer, x: 0, y, lead: 0, texels, exact: false };
            y += pass.rectangle.height;
            surface
        });
        Ok((surfaces.collect(), false))
    }
}
