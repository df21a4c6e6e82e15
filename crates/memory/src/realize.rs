//! From a plan to memory: its arenas are allocated, and lazy buffers are placed in them.
//!
//! Nobody's handle is exchanged: a buffer made before the plan, its clones, slices and the tensors
//! over it get their bytes inside the arena. Use of two buffers at a time at which the plan did
//! not keep them apart is refused by the ledger of the arena, as every overlapping use is.

mod replay;

use std::collections::HashSet;

use tenure_layout::ErrorKind;
use tenure_plan::{Arena, Plan, Schedule};

use crate::{Allocator, Buffer, Error, Request};

pub use replay::{ReplayError, replay};

/// Why a plan was not realized, or not replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RealizeError {
    /// The schedule makes no sense.
    #[error(transparent)]
    Schedule(#[from] tenure_plan::ScheduleError),
    /// The plan, the schedule and the buffers are not of each other.
    #[error("{what} has {given} buffers, the schedule has {expected}")]
    Count {
        /// What does not match.
        what: &'static str,
        /// How many it has.
        given: usize,
        /// How many the schedule has.
        expected: usize,
    },
    /// A buffer of another size than the schedule says.
    #[error("buffer {name:?} has {given} bytes, the schedule says {expected}")]
    Length {
        /// Its name in the schedule.
        name: String,
        /// Bytes it has.
        given: usize,
        /// Bytes it should have.
        expected: u64,
    },
    /// A buffer that has its bytes already, or is given twice.
    #[error(
        "buffer {name:?} {}: only a lazy buffer that nobody has touched can be placed",
        if *twice { "is given twice" } else { "has its bytes already" }
    )]
    Taken {
        /// Its name in the schedule.
        name: String,
        /// Whether it is another one's handle.
        twice: bool,
    },
    /// A view that has its bytes elsewhere than the plan says.
    #[error("view {name:?} is not where the plan puts it: pass a slice of its base")]
    Elsewhere {
        /// Its name in the schedule.
        name: String,
    },
    /// A plan that points outside its own arenas.
    #[error("the plan puts buffer {name:?} into arena {arena}, which has no such bytes")]
    Outside {
        /// Its name in the schedule.
        name: String,
        /// The arena.
        arena: usize,
    },
    /// Memory was refused.
    #[error(transparent)]
    Memory(#[from] Error),
}

impl RealizeError {
    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            RealizeError::Schedule(error) => error.kind(),
            RealizeError::Memory(error) => error.kind(),
            RealizeError::Count { .. }
            | RealizeError::Length { .. }
            | RealizeError::Taken { .. }
            | RealizeError::Elsewhere { .. }
            | RealizeError::Outside { .. } => ErrorKind::Invalid,
        }
    }
}

/// Allocates the arenas of `plan` and places `buffers`, one for each buffer of `schedule`, in
/// them. `allocator` says where an arena's memory comes from.
///
/// A buffer that the plan leaves out is not touched. A view may be a slice of its base, or, at
/// an offset that is aligned as every lazy buffer is, a buffer of its own, which then gets the
/// base's bytes. The arenas live for as long as a buffer
/// in them does.
///
/// ```
/// use tenure_memory::{Buffer, TensorMemory, kind, realize};
/// use tenure_plan::{BufferSpec, Options, Packer, PlannerMode, Schedule, Step, plan};
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
/// let heap = kind::allocator(TensorMemory::Mem)?;
/// let buffers = schedule.buffers.iter().map(|spec| Buffer::lazy(heap, spec.bytes as usize, None));
/// let buffers: Vec<Buffer> = buffers.collect::<Result<_, _>>()?;
/// let arenas = realize::realize(&schedule, &plan, &buffers, |_| Ok(heap))?;
/// assert_eq!(arenas[0].len(), 8192);
/// assert!(buffers[1].aliases(&buffers[3]) && !buffers[1].aliases(&buffers[2]));
/// // Both at once is what the plan excluded, and the ledger sees to it.
/// let _first = buffers[1].write()?;
/// assert!(buffers[3].read().unwrap_err().is_busy());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the three do not belong together, a buffer has its bytes already, or memory is refused. No
/// buffer has been placed then.
pub fn realize<'a>(
    schedule: &Schedule,
    plan: &Plan,
    buffers: &[Buffer],
    mut allocator: impl FnMut(&Arena) -> Result<&'a dyn Allocator, Error>,
) -> Result<Vec<Buffer>, RealizeError> {
    let placements = check(schedule, plan, buffers)?;
    let arenas = plan.arenas.iter().map(|arena| make(arena, allocator(arena)?));
    let arenas = arenas.collect::<Result<Vec<Buffer>, Error>>()?;
    for &(index, arena, offset) in &placements {
        if schedule.buffers[index].view_of.is_none() {
            buffers[index].place_in(&arenas[arena], offset)?;
        }
    }
    for (index, (spec, view)) in schedule.buffers.iter().zip(buffers).enumerate() {
        if spec.view_of.is_some() {
            let (base, start) = base_of(schedule, index);
            // A slice of its base follows it; its identity is the base's.
            if view.identity().id() != buffers[base].identity().id() {
                view.place_in(&buffers[base], start)?;
            }
        }
    }
    for &(index, arena, offset) in &placements {
        let (spec, buffer) = (&schedule.buffers[index], &buffers[index]);
        if buffer.place() != arenas[arena].slice(offset..offset + buffer.len())?.place() {
            return Err(RealizeError::Elsewhere { name: spec.name.clone() });
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
fn check(schedule: &Schedule, plan: &Plan, buffers: &[Buffer]) -> Result<Vec<To>, RealizeError> {
    schedule.validate()?;
    let expected = schedule.buffers.len();
    for (what, given) in [("the plan", plan.placements.len()), ("the list", buffers.len())] {
        if given != expected {
            return Err(RealizeError::Count { what, given, expected });
        }
    }
    let mut known = HashSet::new();
    let mut all = vec![];
    for (index, (spec, buffer)) in schedule.buffers.iter().zip(buffers).enumerate() {
        let name = || spec.name.clone();
        if spec.view_of.is_some() {
            let base = &buffers[base_of(schedule, index).0];
            let apart = buffer.identity().id() != base.identity().id();
            if apart && buffer.is_placed() {
                return Err(RealizeError::Taken { name: name(), twice: false });
            }
        }
        let Some((arena, offset)) = plan.place(index) else { continue };
        if buffer.len() as u64 != spec.bytes {
            let (given, expected) = (buffer.len(), spec.bytes);
            return Err(RealizeError::Length { name: name(), given, expected });
        }
        if spec.view_of.is_none() {
            let twice = !known.insert(buffer.identity().id());
            if twice || buffer.is_placed() {
                return Err(RealizeError::Taken { name: name(), twice });
            }
        }
        let room = plan.arenas.get(arena).map_or(0, |arena| arena.bytes);
        let inside = offset.checked_add(spec.bytes).is_some_and(|end| end <= room);
        match usize::try_from(offset) {
            Ok(offset) if inside => all.push((index, arena, offset)),
            _ => return Err(RealizeError::Outside { name: name(), arena }),
        }
    }
    Ok(all)
}

fn make(arena: &Arena, allocator: &dyn Allocator) -> Result<Buffer, Error> {
    let bytes = usize::try_from(arena.bytes).unwrap_or(usize::MAX);
    let align = usize::try_from(arena.align).unwrap_or(usize::MAX);
    let name = format!("arena of device {}, {}", arena.device, arena.lane);
    let request = Request::new(bytes)?.with_align(align)?.with_name(Some(&name));
    let buffer = Buffer::from_raw(allocator.allocate(&request)?);
    if buffer.len() < bytes {
        // Anybody can write an allocator: it is measured, not believed.
        return Err(Error::from(crate::detail::OutOfBounds {
            start: 0,
            end: bytes,
            len: buffer.len(),
        }));
    }
    buffer.slice(0..bytes)
}
