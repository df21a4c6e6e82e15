//! A painter's planes in and out: imported, from pixel buffers, or copied.
#![expect(unsafe_code, reason = "promises transfers that planes are held")]

use smallvec::SmallVec;

use super::api::{Refused, Texels};
use super::buffers::Buffers;
use super::obstacle::descriptor;
use super::paint::{Painter, Sampled, Work};
use super::prepare::Ready;
use super::scratch::Slot;
use super::side::{Bytes, Plane};
use super::target::{Surface, all_bytes};
use super::transfer::{self, Place, Rows};

/// What of a plane is read or written.
struct Part {
    /// First byte of each row.
    byte: usize,
    /// Bytes of each row.
    bytes: usize,
    row: usize,
    rows: usize,
}

impl Painter {
    /// The source's planes as textures: imported where the driver can, copied where not.
    pub(super) fn sources(
        &mut self,
        work: &Work,
        buffers: &Buffers,
    ) -> Result<SmallVec<[Sampled; 4]>, Refused> {
        let mut sampled = SmallVec::new();
        for (index, plane) in work.source.planes.iter().enumerate() {
            if let Some(texture) = self.imports.sampled(&self.display, &self.gl, plane) {
                let size = [plane.layout.row_bytes.div_ceil(4), plane.layout.rows];
                sampled.push(Sampled { texture, first: [0, 0], size });
                continue;
            }
            let part = read_part(work, index);
            let size = (part.bytes.div_ceil(4), part.rows);
            let texture =
                self.scratch.texture(&self.gl, Slot::Source(index), Texels::Words, size)?;
            let first = [part.byte / 4, part.row];
            let rows = self.place(plane, &part, buffers, false)?;
            let strided = rows.stride.is_multiple_of(4);
            self.with_address(rows, strided, |own, rows| {
                // SAFETY: the work holds the source to read, and the part is inside the plane.
                unsafe { transfer::upload(&own.gl, texture, rows, &mut own.rows) }
            })?;
            sampled.push(Sampled { texture, first, size: [size.0, size.1] });
        }
        Ok(sampled)
    }

    /// The words drawn into memory that the driver did not import.
    pub(super) fn download(
        &mut self,
        work: &Work,
        buffers: &Buffers,
        ready: &Ready,
        surfaces: &[Surface],
    ) -> Result<(), Refused> {
        // Nothing is written if something went wrong before.
        self.gl.check("drawing")?;
        let parts = ready
            .plan
            .passes
            .iter()
            .flat_map(|pass| pass.planes.iter().map(move |part| (pass, part)));
        for ((pass, part), surface) in parts.zip(surfaces) {
            let Some(plane) = work.target.planes.get(part.plane) else { continue };
            let rectangle = pass.rectangle;
            let part = Part {
                byte: all_bytes(part, &work.recipe, rectangle.x),
                bytes: all_bytes(part, &work.recipe, rectangle.width),
                row: rectangle.y as usize,
                rows: rectangle.height as usize,
            };
            let rows = self.place(plane, &part, buffers, true)?;
            let at = (surface.x, surface.y);
            let from = (surface.framebuffer, surface.texels);
            self.with_address(rows, transfer::whole(&rows, surface.texels), |own, rows| {
                // SAFETY: the work holds the destination to write, and the part is inside the
                // plane.
                unsafe { transfer::download(&own.gl, from, at, rows, &mut own.rows) }
            })?;
        }
        Ok(())
    }

    /// Where the rows of a part are.
    fn place(
        &self,
        plane: &Plane,
        part: &Part,
        buffers: &Buffers,
        draw: bool,
    ) -> Result<Rows, Refused> {
        let skip = part.row * plane.layout.row_stride + part.byte;
        let place = match &plane.bytes {
            Bytes::Memory { address: Some(address), .. } => {
                Place::Address(address.row(part.row).wrapping_add(part.byte))
            }
            Bytes::Memory { address: None, raw, start } => {
                let memory = raw.memory();
                let placed = descriptor(raw, &plane.layout, *start, draw, self.gl.longest);
                let reason = match (placed, self.state.refusal(memory)) {
                    (Err(obstacle), _) => obstacle.to_string(),
                    (Ok(_), Some(refusal)) => refusal,
                    (Ok(_), None) => "rows below it are somebody else's".to_owned(),
                };
                return Err(format!(
                    "the CPU cannot map this {memory} memory, and it is not imported: {reason}"
                ));
            }
            Bytes::Pixels { buffer, start } => match buffers.mapped(*buffer) {
                // A buffer that somebody has mapped cannot be used by OpenGL, but by address.
                Some(base) => Place::Address(base.as_ptr().wrapping_add(start + skip)),
                None => Place::Buffer(*buffer, start + skip),
            },
        };
        Ok(Rows { place, stride: plane.layout.row_stride, bytes: part.bytes, count: part.rows })
    }

    /// Does `work` with rows that have an address, unless they may stay in their buffer.
    fn with_address(
        &mut self,
        rows: Rows,
        in_buffer: bool,
        work: impl FnOnce(&mut Painter, Rows),
    ) -> Result<(), Refused> {
        if !matches!(rows.place, Place::Buffer(..)) {
            self.state.count_copy();
        }
        match rows.place {
            Place::Buffer(buffer, offset) if !in_buffer => {
                let end = offset + rows.stride * (rows.count - 1) + rows.bytes;
                let address = self.gl.map(buffer, end)?.as_ptr().wrapping_add(offset);
                work(self, Rows { place: Place::Address(address), ..rows });
                match self.gl.unmap(buffer) {
                    true => Ok(()),
                    false => Err("the driver lost the bytes of a pixel buffer".to_owned()),
                }
            }
            _ => {
                work(self, rows);
                Ok(())
            }
        }
    }
}

/// The words and rows of a source's plane that the crop reaches.
fn read_part(work: &Work, index: usize) -> Part {
    let (recipe, plane) = (&work.recipe, &work.source.planes[index]);
    let spec = recipe.source.format.planes()[index];
    let (crop, size) = (recipe.geometry.crop, recipe.source.dtype.size().unwrap_or(1));
    let group = spec.elements * size;
    let left = crop.x / spec.horizontal * group / 4 * 4;
    let right = (crop.x + crop.width).div_ceil(spec.horizontal) * group;
    let row = crop.y / spec.vertical;
    let bottom = (crop.y + crop.height).div_ceil(spec.vertical);
    let right = right.min(plane.layout.row_bytes);
    Part { byte: left, bytes: right - left, row, rows: bottom.min(plane.layout.rows) - row }
}
