//! From a plan to memory: its arenas are allocated, and lazy tensors are placed in them.
//!
//! Nobody's handle is exchanged: a tensor made before the plan, its views and other handles to it
//! get their bytes inside the arena. Use of two tensors at a time at which the plan did not keep them
//! apart is refused by the ledger of the arena, as every overlapping use is.
//!
//! A plan of the mode [`Disabled`](tenure_plan::PlannerMode::Disabled) has no arenas: nothing is
//! allocated and no tensor is touched, and each gets memory of its own when it is used. Views have
//! to be slices of their bases then.

pub mod detail;
mod error;
mod replay;

use std::collections::HashSet;

use tenure_memory::{Allocator, Buffer, Error, RawBuffer, Request};
use tenure_plan::{Arena, Plan, PlannerMode, Schedule};

pub use error::{RealizeError, ReplayError, Who};
pub use replay::replay;

/// Allocates the arenas of `plan` in the memory that their tensors are to be made in, and places
/// `tensors`, one for each buffer of `schedule`, in them. Anything that lends its buffer is taken:
/// [`Tensor`](crate::Tensor)s of any element type, references to them, bare [`Buffer`]s.
///
/// A tensor that the plan leaves out is not touched. A view may be a slice of its base, or, at
/// an offset that is aligned as every lazy tensor is, a tensor of its own, which then gets the
/// base's bytes. The answer is the arenas, which live for as long as a tensor in them does; it may
/// be dropped.
///
/// ```
/// use tenure_tensor::realize::realize;
/// use tenure_plan::{BufferSpec, Options, Packer, PlannerMode, Schedule, Step, plan};
/// use tenure_tensor::{DType, DynTensor, TensorDyn, TensorMemory};
/// let schedule = Schedule {
///     buffers: vec![
///         BufferSpec { input: true, ..BufferSpec::new("x", 1024) },
///         BufferSpec::new("a", 4096),
///         BufferSpec::new("b", 4096),
///         BufferSpec::new("c", 4096),
///         BufferSpec { output: true, ..BufferSpec::new("y", 1024) },
///     ],
///     steps: vec![
///         Step::new("one", [0], [1]),
///         Step::new("two", [1], [2]),
///         Step::new("three", [2], [3]),
///         Step::new("four", [3], [4]),
///     ],
/// };
/// let plan = plan(&schedule, PlannerMode::Arena, Packer::Best, &Options::default())?;
/// let lazy = |spec: &BufferSpec| {
///     let shape = [spec.bytes as usize / 4];
///     TensorDyn::builder(&shape, DType::F32).memory(TensorMemory::Mem).name(&*spec.name).lazy().build()
/// };
/// let tensors = schedule.buffers.iter().map(lazy).collect::<Result<Vec<_>, _>>()?;
/// let arenas = realize(&schedule, &plan, &tensors)?;
/// assert_eq!(arenas[0].len(), 8192);
/// assert!(tensors[1].aliases(&tensors[3]) && !tensors[1].aliases(&tensors[2]));
/// // Both at once is what the plan excluded, and the ledger sees to it.
/// let _first = tensors[1].map()?;
/// assert!(tensors[3].map_read().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the three do not belong together, a tensor has its bytes already, tensors of one arena were
/// to be made in different memories, or memory is refused. No tensor has been placed then.
pub fn realize<B: AsRef<Buffer>>(
    schedule: &Schedule,
    plan: &Plan,
    tensors: &[B],
) -> Result<Vec<Buffer>, RealizeError> {
    let buffers = lent(tensors);
    let placements = check(schedule, plan, &buffers)?;
    if plan.mode == PlannerMode::Disabled {
        return Ok(vec![]);
    }
    let own = own_allocators(schedule, plan, &buffers, &placements)?;
    let arenas = allocate(schedule, plan, &buffers, &placements, |arena| match own[arena] {
        Some(allocator) => make(&plan.arenas[arena], allocator),
        None => make_anywhere(&plan.arenas[arena]),
    })?;
    place(schedule, &buffers, &placements, arenas)
}

/// As [`realize`], with arenas from allocators that are said: a pool's, a device's, one for each
/// lane. `allocator` is asked once for each arena.
///
/// ```
/// use tenure_memory::{Buffer, TensorMemory, kind};
/// use tenure_plan::{BufferSpec, Options, Packer, PlannerMode, Schedule, Step, plan};
/// use tenure_tensor::realize::realize_in;
/// let schedule = Schedule {
///     buffers: vec![BufferSpec::new("a", 4096), BufferSpec::new("b", 4096)],
///     steps: vec![Step::new("one", [], [0]), Step::new("two", [], [1])],
/// };
/// let plan = plan(&schedule, PlannerMode::Arena, Packer::Best, &Options::default())?;
/// let heap = kind::allocator(TensorMemory::Mem)?;
/// let buffers = [Buffer::lazy(heap, 4096, None)?, Buffer::lazy(heap, 4096, None)?];
/// let arenas = realize_in(&schedule, &plan, &buffers, |_| Ok(heap))?;
/// assert_eq!(arenas[0].len(), 4096);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`realize`], and what `allocator` answers.
pub fn realize_in<'a, B: AsRef<Buffer>>(
    schedule: &Schedule,
    plan: &Plan,
    tensors: &[B],
    mut allocator: impl FnMut(&Arena) -> Result<&'a dyn Allocator, Error>,
) -> Result<Vec<Buffer>, RealizeError> {
    let buffers = lent(tensors);
    let placements = check(schedule, plan, &buffers)?;
    if plan.mode == PlannerMode::Disabled {
        return Ok(vec![]);
    }
    let arenas = allocate(schedule, plan, &buffers, &placements, |arena| {
        let arena = &plan.arenas[arena];
        make(arena, allocator(arena)?)
    })?;
    place(schedule, &buffers, &placements, arenas)
}

fn lent<B: AsRef<Buffer>>(tensors: &[B]) -> Vec<&Buffer> {
    tensors.iter().map(AsRef::as_ref).collect()
}

/// The names that an error gives.
fn who(schedule: &Schedule, buffers: &[&Buffer], index: usize) -> Who {
    let tensor = buffers[index].name().map(str::to_owned);
    Who { buffer: schedule.buffers[index].name.clone(), tensor }
}

/// For each arena the allocator that its tensors would have got their bytes from.
fn own_allocators<'a>(
    schedule: &Schedule,
    plan: &Plan,
    buffers: &[&'a Buffer],
    placements: &[To],
) -> Result<Vec<Option<&'a dyn Allocator>>, RealizeError> {
    let mut first: Vec<Option<(usize, &'a dyn Allocator)>> = vec![None; plan.arenas.len()];
    for &(index, arena, _) in placements {
        if schedule.buffers[index].view_of.is_some() {
            continue;
        }
        let Some(own) = buffers[index].allocator() else { continue };
        let (before, chosen) = *first[arena].get_or_insert((index, own));
        if (own.memory(), own.space()) != (chosen.memory(), chosen.space()) {
            return Err(RealizeError::from(detail::Mixed {
                arena,
                first: who(schedule, buffers, before),
                memory: chosen.memory(),
                second: who(schedule, buffers, index),
                other: own.memory(),
            }));
        }
    }
    Ok(first.into_iter().map(|chosen| chosen.map(|(_, allocator)| allocator)).collect())
}

/// All arenas, each by `make`.
fn allocate(
    schedule: &Schedule,
    plan: &Plan,
    buffers: &[&Buffer],
    placements: &[To],
    mut make: impl FnMut(usize) -> Result<Buffer, Error>,
) -> Result<Vec<Buffer>, RealizeError> {
    let all = 0..plan.arenas.len();
    let made = all.map(|arena| {
        make(arena).map_err(|source| {
            let inside = placements.iter().filter(|placement| placement.1 == arena);
            let of = inside.map(|&(index, ..)| who(schedule, buffers, index)).collect();
            detail::Arena { arena, bytes: plan.arenas[arena].bytes, of, source }.into()
        })
    });
    made.collect()
}

/// Gives every tensor its bytes.
fn place(
    schedule: &Schedule,
    buffers: &[&Buffer],
    placements: &[To],
    arenas: Vec<Buffer>,
) -> Result<Vec<Buffer>, RealizeError> {
    let failed = |index, arena, offset| {
        move |source| {
            let who = who(schedule, buffers, index);
            RealizeError::from(detail::Place { who, arena, offset, source })
        }
    };
    for &(index, arena, offset) in placements {
        if schedule.buffers[index].view_of.is_none() {
            let placed =
                buffers[index].place_in_as(&arenas[arena], offset, &schedule.buffers[index].name);
            placed.map_err(failed(index, arena, offset))?;
        }
    }
    for (index, spec) in schedule.buffers.iter().enumerate() {
        if spec.view_of.is_some() {
            let (base, start) = base_of(schedule, index);
            // A slice of its base follows it; its identity is the base's.
            if buffers[index].identity().id() != buffers[base].identity().id() {
                let placed = buffers[index].place_in_as(buffers[base], start, &spec.name);
                placed.map_err(|source| detail::View {
                    who: who(schedule, buffers, index),
                    base: who(schedule, buffers, base),
                    offset: start,
                    source,
                })?;
            }
        }
    }
    for &(index, arena, offset) in placements {
        let buffer = buffers[index];
        let there = arenas[arena].slice(offset..offset + buffer.len());
        if buffer.place() != there.map_err(failed(index, arena, offset))?.place() {
            return Err(RealizeError::Elsewhere { who: Box::new(who(schedule, buffers, index)) });
        }
    }
    Ok(arenas)
}

/// The buffer whose bytes a view has in the end, and from which byte on.
fn base_of(schedule: &Schedule, index: usize) -> (usize, usize) {
    let (mut base, mut start) = (index, 0_usize);
    while let Some(view) = schedule.buffers[base].view_of {
        // More than can be addressed is outside of every buffer.
        start = usize::try_from(view.offset).unwrap_or(usize::MAX).saturating_add(start);
        base = view.buffer;
    }
    (base, start)
}

/// Index of a buffer, and the arena and offset it goes to.
type To = (usize, usize, usize);

/// Everything that can be wrong is found before anything is placed.
fn check(schedule: &Schedule, plan: &Plan, buffers: &[&Buffer]) -> Result<Vec<To>, RealizeError> {
    schedule.validate()?;
    let expected = schedule.buffers.len();
    for (what, given) in [("the plan", plan.placements.len()), ("the list", buffers.len())] {
        if given != expected {
            return Err(detail::Count { what, given, expected }.into());
        }
    }
    let mut known = HashSet::new();
    let mut all = vec![];
    for (index, (spec, buffer)) in schedule.buffers.iter().zip(buffers).enumerate() {
        let who = || Box::new(who(schedule, buffers, index));
        if spec.view_of.is_some() {
            let base = buffers[base_of(schedule, index).0];
            let apart = buffer.identity().id() != base.identity().id();
            if apart && buffer.is_placed() {
                return Err(RealizeError::Taken { who: who(), twice: false });
            }
        }
        let Some((arena, offset)) = plan.place(index) else { continue };
        if buffer.len() as u64 != spec.bytes {
            let (given, expected) = (buffer.len(), spec.bytes);
            return Err(RealizeError::Length { who: who(), given, expected });
        }
        if spec.view_of.is_none() {
            let twice = !known.insert(buffer.identity().id());
            if twice || buffer.is_placed() {
                return Err(RealizeError::Taken { who: who(), twice });
            }
        }
        let room = plan.arenas.get(arena).map_or(0, |arena| arena.bytes);
        let inside = offset.checked_add(spec.bytes).is_some_and(|end| end <= room);
        match usize::try_from(offset) {
            Ok(offset) if inside => all.push((index, arena, offset)),
            _ => return Err(RealizeError::Outside { who: who(), arena }),
        }
    }
    Ok(all)
}

/// An arena's memory from one allocator.
fn make(arena: &Arena, allocator: &dyn Allocator) -> Result<Buffer, Error> {
    with_request(arena, |request| allocator.allocate(request))
}

/// An arena's memory from the automatic choice: nobody in it says which.
fn make_anywhere(arena: &Arena) -> Result<Buffer, Error> {
    with_request(arena, |request| tenure_memory::allocate(None, request))
}

fn with_request(
    arena: &Arena,
    allocate: impl FnOnce(&Request<'_>) -> Result<RawBuffer, Error>,
) -> Result<Buffer, Error> {
    let bytes = usize::try_from(arena.bytes).unwrap_or(usize::MAX);
    let align = usize::try_from(arena.align).unwrap_or(usize::MAX);
    let name = format!("arena of device {}, {}", arena.device, arena.lane);
    let request = Request::new(bytes)?.with_align(align)?.with_name(Some(&name));
    let buffer = Buffer::from_raw(allocate(&request)?);
    if buffer.len() < bytes {
        // Anybody can write an allocator: it is measured, not believed.
        return Err(
            tenure_memory::detail::OutOfBounds { start: 0, end: bytes, len: buffer.len() }.into()
        );
    }
    buffer.slice(0..bytes)
}
