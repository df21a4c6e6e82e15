//! One side of a conversion, held: where the bytes of each plane are.

use std::ops::Range;
use std::sync::Arc;

use glow::Buffer;
use smallvec::SmallVec;
use tenure_memory::backend::DeviceHold;
use tenure_memory::{Access, RawBuffer, TensorMemory};
use tenure_tensor::{PlaneLayout, TensorDyn};

use super::obstacle::Obstacle;
use super::pbo::Pixels;
use crate::Result;
use crate::held::{Held, PlaneAddress, check_reachable};

/// An image whose bytes nobody else touches until this is dropped.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) planes: SmallVec<[Plane; 4]>,
    /// Whether it may be drawn into where it is: what drawing may touch below it is held too.
    pub(super) drawable: Drawable,
    held: Option<Held>,
    _devices: SmallVec<[DeviceHold; 2]>,
}

/// Whether an image may be drawn into where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drawable {
    Yes,
    /// Nobody asks: it is only read, or in memory that is not imported.
    Unasked,
    No(Obstacle),
}

/// One plane of it.
#[derive(Debug)]
pub(super) struct Plane {
    pub(super) layout: PlaneLayout,
    pub(super) bytes: Bytes,
}

/// Where a plane's bytes are.
#[derive(Debug, Clone)]
pub(super) enum Bytes {
    /// In memory: the first row's address, if the CPU can reach it, and `start` bytes into an
    /// allocation.
    Memory { address: Option<PlaneAddress>, raw: Arc<RawBuffer>, start: usize },
    /// In a pixel buffer of this engine, `start` bytes into it.
    Pixels { buffer: Buffer, start: usize },
}

/// Drawing reaches whole blocks of so many rows, with some drivers.
pub(super) const BLOCK_ROWS: usize = 4;

impl Side {
    pub(super) fn to_read(image: &TensorDyn, pixels: &Pixels) -> Result<Side> {
        Side::new(image, pixels, Access::KernelRead)
    }

    /// The same to write; `draws` says which memories may be drawn into.
    pub(super) fn to_write(
        image: &TensorDyn,
        pixels: &Pixels,
        draws: impl Fn(TensorMemory) -> bool,
    ) -> Result<Side> {
        let mut side = Side::new(image, pixels, Access::KernelWrite)?;
        if draws(image.memory()) {
            side.drawable = match side.hold_slack(image)? {
                None => Drawable::Yes,
                Some(obstacle) => Drawable::No(obstacle),
            };
        }
        Ok(side)
    }

    fn new(image: &TensorDyn, pixels: &Pixels, access: Access) -> Result<Side> {
        let layout = image.image_layout().map_or(&[][..], |layout| layout.planes());
        let mut side = Side {
            planes: SmallVec::new(),
            drawable: Drawable::Unasked,
            held: None,
            _devices: SmallVec::new(),
        };
        if let Some((buffer, shift)) = pixels.find(image) {
            let span = image.image_layout().map_or(0..0, |layout| layout.span());
            let range = image.buffer().range_in_raw(span)?;
            let raw = Arc::clone(image.buffer().raw()?);
            side._devices.push(DeviceHold::over(raw, access, range)?);
            for plane in layout {
                let start = shift + image.buffer().range_in_raw(plane.span())?.start;
                side.planes.push(Plane { layout: *plane, bytes: Bytes::Pixels { buffer, start } });
            }
            return Ok(side);
        }
        let held = match (check_reachable(image), access.writes()) {
            (Ok(()), true) => Some(Held::to_write(image)?),
            (Ok(()), false) => Some(Held::to_read(image)?),
            (Err(_), _) => {
                side.hold_for_device(image, access)?;
                None
            }
        };
        for (index, plane) in layout.iter().enumerate() {
            let address = held.as_ref().and_then(|held| held.planes().get(index).copied());
            let buffer = image.plane_buffer(index)?;
            let start = buffer.range_in_raw(plane.span())?.start;
            let raw = Arc::clone(buffer.raw()?);
            let bytes = Bytes::Memory { address, raw, start };
            side.planes.push(Plane { layout: *plane, bytes });
        }
        side.held = held;
        Ok(side)
    }

    /// Holds memory that the CPU cannot reach.
    fn hold_for_device(&mut self, image: &TensorDyn, access: Access) -> Result<()> {
        let Some(layout) = image.image_layout() else { return Ok(()) };
        let mut hold = |buffer: &tenure_memory::Buffer, span| -> Result<()> {
            let range = buffer.range_in_raw(span)?;
            self._devices.push(DeviceHold::over(Arc::clone(buffer.raw()?), access, range)?);
            Ok(())
        };
        if !image.is_multi_buffer() {
            return hold(image.buffer(), layout.span());
        }
        for (index, plane) in layout.planes().iter().enumerate() {
            hold(image.plane_buffer(index)?, plane.span())?;
        }
        Ok(())
    }

    /// Holds what lies below the last row of each allocation, as far as drawing may reach. What is
    /// somebody else's is left to them: the next tile of a batch is not busy because of this one.
    fn hold_slack(&mut self, image: &TensorDyn) -> Result<Option<Obstacle>> {
        let mut slack: SmallVec<[(Arc<RawBuffer>, Range<usize>); 4]> = SmallVec::new();
        for (index, plane) in self.planes.iter().enumerate() {
            let Bytes::Memory { raw, start, .. } = &plane.bytes else { continue };
            let own = below(image.plane_buffer(index)?, &plane.layout, *start, raw)?;
            let Some(below) = own else { return Ok(Some(Obstacle::Neighbours)) };
            // Between the planes of one allocation everything is held already.
            match slack.iter_mut().find(|(other, _)| Arc::ptr_eq(other, raw)) {
                Some((_, range)) => {
                    *range = range.start.max(below.start)..range.end.max(below.end);
                }
                None => slack.push((Arc::clone(raw), below)),
            }
        }
        for (raw, range) in slack.into_iter().filter(|(_, range)| !range.is_empty()) {
            match DeviceHold::over(raw, Access::KernelWrite, range) {
                Ok(hold) => self._devices.push(hold),
                Err(_) => return Ok(Some(Obstacle::Held)),
            }
        }
        Ok(None)
    }

    /// The allocations that the planes are in.
    pub(super) fn allocations(&self) -> impl Iterator<Item = &Arc<RawBuffer>> {
        self.planes.iter().filter_map(|plane| match &plane.bytes {
            Bytes::Memory { raw, .. } => Some(raw),
            Bytes::Pixels { .. } => None,
        })
    }

    /// Whether the memory kept its bytes.
    pub(super) fn intact(&self) -> Result<()> {
        self.held.as_ref().map_or(Ok(()), Held::intact)
    }
}

/// Whether a driver may be asked to import memory of this kind.
pub(super) fn importable(memory: TensorMemory) -> bool {
    matches!(memory, TensorMemory::Dma | TensorMemory::Shm)
}

/// The bytes of an allocation below a plane's last row that drawing may reach; `None` if they are
/// not the image's own.
pub(super) fn below(
    buffer: &tenure_memory::Buffer,
    layout: &PlaneLayout,
    start: usize,
    raw: &RawBuffer,
) -> Result<Option<Range<usize>>> {
    // Inside the allocation, as every plane is.
    let end = start + layout.span().len();
    let rows = layout.rows.checked_next_multiple_of(BLOCK_ROWS);
    let reach = rows.and_then(|rows| rows.checked_mul(layout.row_stride)?.checked_add(start));
    // What cannot be counted is behind the end too.
    let reach = reach.map_or(raw.size(), |reach| reach.min(raw.size()));
    // Behind the end of an allocation is what is left of its last page, and nobody's.
    let own = buffer.range_in_raw(0..buffer.len())?;
    Ok((reach <= own.end).then_some(end..reach.max(end)))
}
