//! One side of a conversion, held: where the bytes of each plane are.

use std::sync::Arc;

use glow::Buffer;
use smallvec::SmallVec;
use tenure_memory::{Access, DeviceHold, RawBuffer, TensorMemory};
use tenure_tensor::{PlaneLayout, TensorDyn};

use super::pbo::Pixels;
use crate::Result;
use crate::held::{Held, PlaneAddress, check_reachable};

/// An image whose bytes nobody else touches until this is dropped.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) planes: SmallVec<[Plane; 4]>,
    /// Rows below the last that a driver may touch are held too.
    pub(super) slack: bool,
    held: Option<Held>,
    _devices: SmallVec<[DeviceHold; 2]>,
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

    pub(super) fn to_write(image: &TensorDyn, pixels: &Pixels) -> Result<Side> {
        let mut side = Side::new(image, pixels, Access::KernelWrite)?;
        side.hold_slack();
        Ok(side)
    }

    fn new(image: &TensorDyn, pixels: &Pixels, access: Access) -> Result<Side> {
        let layout = image.image_layout().map_or(&[][..], |layout| layout.planes());
        let mut side =
            Side { planes: SmallVec::new(), slack: false, held: None, _devices: SmallVec::new() };
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

    /// Holds what lies below the last row of each allocation, as far as drawing may reach.
    fn hold_slack(&mut self) {
        // Between the planes of one allocation everything is held already.
        let mut ends: SmallVec<[(Arc<RawBuffer>, usize, usize); 4]> = SmallVec::new();
        for plane in &self.planes {
            let Bytes::Memory { raw, start, .. } = &plane.bytes else { continue };
            let rows = plane.layout.rows.next_multiple_of(BLOCK_ROWS);
            let end = start + plane.layout.span().len();
            let reach = start.saturating_add(rows.saturating_mul(plane.layout.row_stride));
            match ends.iter_mut().find(|(own, ..)| Arc::ptr_eq(own, raw)) {
                Some((_, own_end, own_reach)) => {
                    (*own_end, *own_reach) = ((*own_end).max(end), (*own_reach).max(reach));
                }
                None => ends.push((Arc::clone(raw), end, reach)),
            }
        }
        self.slack = ends.into_iter().all(|(raw, end, reach)| {
            let reach = reach.min(raw.size());
            if end >= reach {
                return true;
            }
            let hold = DeviceHold::over(raw, Access::KernelWrite, end..reach);
            hold.map(|hold| self._devices.push(hold)).is_ok()
        });
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
