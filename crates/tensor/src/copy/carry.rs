//! Copies where the CPU does not reach one side, or both: a device carries the bytes.
//!
//! Runs that are long enough go as they lie. Where elements lie too finely for that, the CPU puts
//! them in order in staging memory, and what the device carries is one piece.

use std::sync::Arc;

use smallvec::SmallVec;
use tenure_layout::{Axis, Layout, WalkPair};
use tenure_memory::{
    Access, After, Buffer, Carrier, Carry, DeviceHold, Held, Hold, Piece, carrier_for,
};

use super::kernel;
use crate::Result;

/// A buffer and what is shown of it.
pub(super) type Side<'a> = (&'a Buffer, &'a Layout);

/// The shortest run that is worth a piece of its own.
const SHORTEST_RUN: usize = 64;

/// The most pieces of one copy: beyond, putting elements in order is cheaper.
const MOST_PIECES: usize = 1 << 14;

/// A copy with everything held, before it is begun.
pub(super) struct Prepared {
    pub(super) carrier: Arc<dyn Carrier>,
    pub(super) work: Vec<Carry>,
    /// What is left for the CPU when the bytes have arrived.
    pub(super) after: Option<After>,
}

/// Whether the CPU does not reach the bytes, or will not when they exist.
pub(super) fn is_far(buffer: &Buffer) -> bool {
    let raw = buffer.raw_if_placed();
    raw.map_or(!buffer.space().cpu_reachable(), |raw| !raw.cpu_accessible())
}

/// Holds both sides for a copy of which at least one is far.
pub(super) fn prepare(to: Side<'_>, from: Side<'_>) -> Result<Prepared> {
    let walk = WalkPair::new(to.1, from.1)?;
    match (is_far(to.0), is_far(from.0)) {
        (true, true) => between(to, from, &walk),
        (true, false) => upload(to, from, &walk),
        _ => download(to, from, &walk),
    }
}

/// A fill of elements that follow each other.
pub(super) fn fill(to: Side<'_>, pattern: [u8; 4]) -> Result<Prepared> {
    let carrier = carrier_for(to.0.raw()?)?;
    let work = vec![Carry::fill(far(to, Access::KernelWrite)?, pattern)?];
    Ok(Prepared { carrier, work, after: None })
}

/// An element as four bytes that are repeated, if it can be said so.
pub(super) fn pattern(element: &[u8]) -> Option<[u8; 4]> {
    match *element {
        [a] => Some([a; 4]),
        [a, b] => Some([a, b, a, b]),
        [a, b, c, d] => Some([a, b, c, d]),
        _ => {
            let (fours, rest) = element.as_chunks::<4>();
            let first = fours.first().filter(|_| rest.is_empty())?;
            fours.iter().all(|four| four == first).then_some(*first)
        }
    }
}

/// Both far: at once if the device of one side reaches both, otherwise through main memory.
fn between(to: Side<'_>, from: Side<'_>, walk: &WalkPair) -> Result<Prepared> {
    let (target, source) = (to.0.raw()?, from.0.raw()?);
    // A DMA-BUF without an address for the CPU has nobody of its own, and needs nobody.
    let carriers = [target.carrier(), source.carrier()];
    let mut both = carriers.into_iter().flatten();
    if let Some(pieces) = pieces(walk, to.1, from.1)
        && let Some(carrier) = both.find(|one| one.reaches(source) && one.reaches(target))
    {
        // Reading first: the ledger then refuses a copy of bytes onto themselves.
        let source = far(from, Access::KernelRead)?;
        let work = vec![Carry::pieces(far(to, Access::KernelWrite)?, source, pieces)?];
        return Ok(Prepared { carrier, work, after: None });
    }
    let packed = Layout::contiguous(to.1.dtype(), to.1.shape())?;
    let staging = carrier_for(source)?.staging(packed.span().end)?;
    prepare((&staging, &packed), from)?.finish()?;
    prepare(to, (&staging, &packed))
}

/// From main memory.
fn upload(to: Side<'_>, from: Side<'_>, walk: &WalkPair) -> Result<Prepared> {
    let carrier = carrier_for(to.0.raw()?)?;
    if let Some(pieces) = pieces(walk, to.1, from.1) {
        let source = near(from, Access::KernelRead)?;
        let work = vec![Carry::pieces(far(to, Access::KernelWrite)?, Held::Near(source), pieces)?];
        return Ok(Prepared { carrier, work, after: None });
    }
    let packed = Layout::contiguous(to.1.dtype(), to.1.shape())?;
    if let Some(pieces) = pieces(&WalkPair::new(to.1, &packed)?, to.1, &packed) {
        let staging = carrier.staging(packed.span().end)?;
        {
            let (own, source) = (near((&staging, &packed), Access::KernelWrite)?, from);
            let source = (near(source, Access::KernelRead)?, source.1.span().start);
            kernel::copy(&WalkPair::new(&packed, from.1)?, (&own, 0), (&source.0, source.1));
        }
        let source = Held::Near(near((&staging, &packed), Access::KernelRead)?);
        let work = vec![Carry::pieces(far(to, Access::KernelWrite)?, source, pieces)?];
        return Ok(Prepared { carrier, work, after: None });
    }
    weave(to, from, walk, carrier)
}

/// Into places that lie too finely for pieces: what is between them comes here and goes back.
fn weave(
    to: Side<'_>,
    from: Side<'_>,
    walk: &WalkPair,
    carrier: Arc<dyn Carrier>,
) -> Result<Prepared> {
    let span = to.1.span();
    let staging = carrier.staging(span.len())?;
    let source = near(from, Access::KernelRead)?;
    // Held for writing all along, so that nobody writes the bytes between meanwhile.
    let there = far(to, Access::KernelWrite)?;
    let all = 0..span.len();
    let here = Held::Near(staging.hold(Access::KernelWrite, all.clone())?);
    Arc::clone(&carrier).carry(vec![Carry::all(here, reading(&there)?)?])?;
    let here = staging.hold(Access::KernelWrite, all.clone())?;
    kernel::copy(walk, (&here, span.start), (&source, from.1.span().start));
    drop(here);
    let here = Held::Near(staging.hold(Access::KernelRead, all)?);
    Ok(Prepared { carrier, work: vec![Carry::all(there, here)?], after: None })
}

/// To main memory.
fn download(to: Side<'_>, from: Side<'_>, walk: &WalkPair) -> Result<Prepared> {
    let carrier = carrier_for(from.0.raw()?)?;
    if let Some(pieces) = pieces(walk, to.1, from.1) {
        let source = far(from, Access::KernelRead)?;
        let to = Held::Near(near(to, Access::KernelWrite)?);
        let work = vec![Carry::pieces(to, source, pieces)?];
        return Ok(Prepared { carrier, work, after: None });
    }
    let span = from.1.span();
    let staging = carrier.staging(span.len())?;
    let source = far(from, Access::KernelRead)?;
    let (target, target_start) = (near(to, Access::KernelWrite)?, to.1.span().start);
    let here = Held::Near(staging.hold(Access::KernelWrite, 0..span.len())?);
    let work = vec![Carry::all(here, source)?];
    let walk = walk.clone();
    let after: After = Box::new(move || {
        // Nobody else knows the staging memory, so it can be held.
        if let Ok(here) = staging.hold(Access::KernelRead, 0..span.len()) {
            kernel::copy(&walk, (&target, target_start), (&here, span.start));
        }
    });
    Ok(Prepared { carrier, work, after: Some(after) })
}

impl Prepared {
    /// Does it, and waits.
    pub(super) fn finish(self) -> Result<()> {
        self.carrier.carry(self.work)?;
        if let Some(after) = self.after {
            after();
        }
        Ok(())
    }
}

fn near((buffer, layout): Side<'_>, access: Access) -> Result<Hold> {
    Ok(buffer.hold(access, layout.span())?)
}

fn far((buffer, layout): Side<'_>, access: Access) -> Result<Held> {
    let range = buffer.range_in_raw(layout.span())?;
    let hold = DeviceHold::over(Arc::clone(buffer.raw()?), access, range);
    Ok(Held::Far(hold.map_err(|error| buffer.named_in(error))?))
}

/// The same bytes to be read by whoever holds them for writing: a foreign reader in the ledger,
/// which kernels do not exclude.
fn reading(there: &Held) -> Result<Held> {
    match there {
        Held::Far(hold) => {
            let (raw, range) = (Arc::clone(hold.raw()), hold.range());
            Ok(Held::Far(DeviceHold::over(raw, Access::ExportRead, range)?))
        }
        Held::Near(_) => unreachable!("only far memory is woven into"),
    }
}

/// The runs of a walk, counted from the spans of both sides; `None` if they are too short and too
/// many to be carried one by one.
fn pieces(walk: &WalkPair, to: &Layout, from: &Layout) -> Option<SmallVec<[Piece; 1]>> {
    let count = walk.axes.iter().try_fold(1usize, |count, axis| count.checked_mul(axis.len))?;
    if count > 1 && (walk.run < SHORTEST_RUN || count > MOST_PIECES) {
        return None;
    }
    let mut all = SmallVec::new();
    let first = Piece {
        to: walk.write_start - to.span().start,
        from: walk.read_start - from.span().start,
        bytes: walk.run,
    };
    if walk.run > 0 {
        visit(&walk.axes, first, &mut all);
    }
    Some(all)
}

fn visit(axes: &[Axis], piece: Piece, all: &mut SmallVec<[Piece; 1]>) {
    match axes {
        [] => all.push(piece),
        [axis, inner @ ..] => {
            for step in 0..axis.len as isize {
                let to = piece.to.wrapping_add_signed(axis.write * step);
                let from = piece.from.wrapping_add_signed(axis.read * step);
                visit(inner, Piece { to, from, ..piece }, all);
            }
        }
    }
}
