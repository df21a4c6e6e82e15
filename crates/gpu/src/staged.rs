//! Copies through staging memory: main memory that a device does not reach, and bytes that are no
//! whole words.
#![expect(unsafe_code, reason = "hands bytes that holds keep to the device and to staging memory")]

use std::time::Duration;

use smallvec::SmallVec;
use tenure_memory::backend::{Held, Piece};
use tenure_memory::{Access, Allocator, Buffer, DeviceFault, Hold, Request, Result};

use crate::carry::{Courier, Tasks, copy, run};
use crate::device::{Device, Work};

/// Bytes that are staged at a time: enough that the queue's overhead does not count.
pub(crate) const STAGE: usize = 4 << 20;

/// Bytes of staging memory that are kept without use, and beyond that for how long.
const KEPT: usize = 16 * STAGE;
const IDLE: Duration = Duration::from_secs(10);

/// What goes through staging memory.
pub(crate) enum Staged<'a> {
    Up { to: (u64, usize), source: &'a Held, parts: &'a [Piece] },
    Down { to: &'a Held, from: (u64, usize), parts: &'a [Piece] },
    Fill { to: (u64, usize), bytes: usize, pattern: [u8; 4] },
}

/// Pieces divided so that each lot of them fits into staging memory.
fn lots(parts: &[Piece]) -> impl Iterator<Item = SmallVec<[Piece; 4]>> {
    let mut rest = parts.iter().copied();
    let mut open: Option<Piece> = None;
    std::iter::from_fn(move || {
        let (mut lot, mut room) = (SmallVec::new(), STAGE);
        while room > 0 {
            let Some(piece) = open.take().or_else(|| rest.next()) else { break };
            let bytes = piece.bytes.min(room);
            lot.push(Piece { bytes, ..piece });
            room -= bytes;
            if bytes < piece.bytes {
                let (to, from) = (piece.to + bytes, piece.from + bytes);
                open = Some(Piece { to, from, bytes: piece.bytes - bytes });
            }
        }
        (!lot.is_empty()).then_some(lot)
    })
}

/// A lot on its way through the device. However it ends, the staging memory is not used again, and
/// the other side not let go of, before the device is done.
struct Underway<'a> {
    device: &'a dyn Device,
    work: Work,
    stage: Buffer,
    /// For downloads: what goes where when it is there.
    lot: SmallVec<[Piece; 4]>,
}

impl Underway<'_> {
    fn wait(&self) -> Result<()> {
        self.device.wait(self.work, None).map(drop)
    }
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        // If the device is lost, its work is over too.
        let _ = self.wait();
    }
}

impl Courier {
    pub(crate) fn stage(&self, bytes: usize) -> Result<Buffer> {
        if self.staging.report().kept_bytes > KEPT {
            self.staging.trim_idle(IDLE);
        }
        // What is taken from it was written before: zeros would cost as much as the copy.
        let raw = self.staging.allocate(&Request::new(bytes)?.without_zeroing())?;
        Buffer::from_raw(raw).slice(0..bytes)
    }

    pub(crate) fn do_staged(&self, device: &dyn Device, staged: &Staged<'_>) -> Result<()> {
        match staged {
            Staged::Up { to, source, parts } => self.up(device, *to, near(source), parts),
            Staged::Down { to, from, parts } => self.down(device, near(to), *from, parts),
            Staged::Fill { to, bytes, pattern } => self.fill(device, *to, *bytes, *pattern),
        }
    }

    /// The staging memory's own place.
    fn staged_place(&self, stage: &Buffer) -> Result<(u64, usize)> {
        let place = stage.raw()?.device_place();
        let fault = || self.core.properties().fault("staging", DeviceFault::OtherDevice);
        place.map(|place| (place.block, place.offset)).ok_or_else(fault)
    }

    /// Main memory to the device: while one lot is on its way the next is put together.
    fn up(
        &self,
        device: &dyn Device,
        to: (u64, usize),
        source: Option<&Hold>,
        parts: &[Piece],
    ) -> Result<()> {
        let Some(source) = source else { return Ok(()) };
        let mut before: Option<Underway<'_>> = None;
        for lot in lots(parts) {
            let bytes = lot.iter().map(|piece| piece.bytes).sum();
            let mut tasks = Tasks::new();
            let stage = self.stage(bytes)?;
            let from = self.staged_place(&stage)?;
            let here = stage.hold(Access::KernelWrite, 0..bytes)?;
            let mut at = 0;
            for piece in &lot {
                // SAFETY: pieces were checked against what is held, and the lot has room for all.
                unsafe { move_bytes(&here, at, source, piece.from, piece.bytes) };
                tasks.push(copy(to, from, &Piece { from: at, ..*piece }));
                at += piece.bytes;
            }
            drop(here);
            // SAFETY: the destination is held by whoever called, the staging memory is ours; both
            // exist until the work was waited for.
            let work = unsafe { device.submit(self.queue, &tasks)? };
            let now = Underway { device, work, stage, lot: SmallVec::new() };
            if let Some(before) = before.replace(now) {
                before.wait()?;
            }
        }
        before.map_or(Ok(()), |last| last.wait())
    }

    /// The device to main memory: while one lot is on its way the last is put in its place.
    fn down(
        &self,
        device: &dyn Device,
        to: Option<&Hold>,
        from: (u64, usize),
        parts: &[Piece],
    ) -> Result<()> {
        let Some(to) = to else { return Ok(()) };
        let arrive = |one: Underway<'_>| -> Result<()> {
            one.wait()?;
            let here = one.stage.hold(Access::KernelRead, 0..one.stage.len())?;
            let mut at = 0;
            for piece in &one.lot {
                // SAFETY: pieces were checked against what is held, and the lot has all of them.
                unsafe { move_bytes(to, piece.to, &here, at, piece.bytes) };
                at += piece.bytes;
            }
            Ok(())
        };
        let mut before: Option<Underway<'_>> = None;
        for lot in lots(parts) {
            let bytes = lot.iter().map(|piece| piece.bytes).sum();
            let (mut tasks, mut at) = (Tasks::new(), 0);
            let stage = self.stage(bytes)?;
            let place = self.staged_place(&stage)?;
            for piece in &lot {
                tasks.push(copy(place, from, &Piece { to: at, ..*piece }));
                at += piece.bytes;
            }
            // SAFETY: the source is held by whoever called, the staging memory is ours; both
            // exist until the work was waited for.
            let work = unsafe { device.submit(self.queue, &tasks)? };
            if let Some(before) = before.replace(Underway { device, work, stage, lot }) {
                arrive(before)?;
            }
        }
        before.map_or(Ok(()), arrive)
    }

    /// A fill of bytes that are no whole words.
    fn fill(
        &self,
        device: &dyn Device,
        to: (u64, usize),
        bytes: usize,
        pattern: [u8; 4],
    ) -> Result<()> {
        // Whole patterns, so that the next lot goes on where this one ends.
        let stage = self.stage(bytes.min(STAGE))?;
        for (byte, value) in
            stage.write()?.as_bytes_mut().iter_mut().zip(pattern.into_iter().cycle())
        {
            *byte = value;
        }
        let from = self.staged_place(&stage)?;
        let all = Piece { to: 0, from: 0, bytes };
        for lot in lots(&[all]) {
            let tasks: Tasks =
                lot.iter().map(|piece| copy(to, from, &Piece { from: 0, ..*piece })).collect();
            run(device, self.queue, &tasks)?;
        }
        Ok(())
    }
}

fn near(held: &Held) -> Option<&Hold> {
    match held {
        Held::Near(hold) => Some(hold),
        Held::Far(_) => None,
    }
}

/// Copies between two holds by the CPU.
///
/// # Safety
/// Both ranges must lie inside what is held, `to` for writing, and not overlap.
unsafe fn move_bytes(to: &Hold, to_at: usize, from: &Hold, from_at: usize, bytes: usize) {
    // SAFETY: inside what is held, by the caller's promise.
    unsafe {
        let source = from.address().add(from_at);
        source.copy_to_nonoverlapping(to.address().add(to_at), bytes);
    }
}
