//! Sub-allocation: our TLSF beside rlsf and offset-allocator.
//!
//! edgefirst-tensor has no sub-allocator, so the rivals are the usual crates for it. rlsf keeps
//! its tables in the memory it manages, the other two beside it.

mod arena;
mod rlsf;
mod trace;

use tenure_benches::{Bench, Error, Stopwatch, Unit};

use arena::{Arena, offset_allocator, tenure};
use rlsf::Reserve;
use trace::{Sizes, Step, Trace};

/// Address space for all, several times what the traces have live. Tables of rlsf are all that is
/// ever written to.
const ROOM: u64 = 64 << 30;

/// Room in the tight arenas, as a part of the most that is ever live.
const TIGHT: f64 = 1.02;

pub(crate) fn rows(bench: &mut Bench) -> Result<(), Error> {
    let live = if bench.quick() { 500 } else { 10_000 };
    let mut reserve =
        Reserve::new(ROOM).map_err(|error| format!("{ROOM} bytes of address space: {error}"))?;
    for (name, sizes) in [("256 B to 16 MiB", Sizes::Mixed), ("tensors", Sizes::Tensors)] {
        times(bench, name, &Trace::replacing(1, sizes, live, 8 * live), &mut reserve);
        // How an arena falls apart depends on chance, so there are several traces.
        let traces = (1..=8).map(|seed| Trace::wandering(seed, sizes, live / 10, 10 * live));
        footprints(bench, name, &traces.collect::<Vec<_>>(), &mut reserve);
    }
    Ok(())
}

fn times(bench: &mut Bench, name: &str, trace: &Trace, reserve: &mut Reserve) {
    if let Some(row) = bench.row(&format!("tlsf pair, {name}"), Unit::Nanoseconds) {
        row.ours(|| pair(trace, tenure(ROOM)))
            .rival("rlsf", || pair(trace, reserve.arena(ROOM)))
            .rival("offset-allocator", || pair(trace, offset_allocator(ROOM)))
            .measure();
    }
}

fn footprints(bench: &mut Bench, name: &str, traces: &[Trace], reserve: &mut Reserve) {
    if let Some(row) = bench.row(&format!("tlsf footprint, {name}"), Unit::Bytes) {
        let mean = |usage: &mut dyn FnMut(&Trace) -> Option<Usage>| {
            mean(traces, |trace| Some(usage(trace)?.footprint))
        };
        row.once()
            .ours(|| mean(&mut |trace| use_up(trace, tenure(ROOM))))
            .rival("rlsf", || mean(&mut |trace| use_up(trace, reserve.arena(ROOM))))
            .rival("offset-allocator", || mean(&mut |trace| use_up(trace, offset_allocator(ROOM))))
            .measure();
    }
    if let Some(row) = bench.row(&format!("tlsf refusals, {name}"), Unit::Count) {
        let mean = |usage: &mut dyn FnMut(&Trace, u64) -> Option<Usage>| {
            let tight = |trace: &Trace| (trace.most_live() as f64 * TIGHT) as u64;
            mean(traces, |trace| Some(usage(trace, tight(trace))?.refusals))
        };
        row.once()
            .ours(|| mean(&mut |trace, room| use_up(trace, tenure(room))))
            .rival("rlsf", || mean(&mut |trace, room| use_up(trace, reserve.arena(room))))
            .rival("offset-allocator", || {
                mean(&mut |trace, room| use_up(trace, offset_allocator(room)))
            })
            .measure();
    }
}

/// Nanoseconds of an allocation and a free with all slots of the trace in use. Whoever cannot
/// serve the trace has no number, which does not pass.
fn pair<A: Arena>(trace: &Trace, arena: Option<A>) -> f64 {
    timed_pair(trace, arena).unwrap_or(f64::NAN)
}

fn timed_pair<A: Arena>(trace: &Trace, arena: Option<A>) -> Option<f64> {
    let mut arena = arena?;
    // Filling the slots is not measured, nor is half of the rest, after which all is well mixed.
    let (fill, rest) = trace.steps.split_at(trace.slots);
    let (mix, measured) = rest.split_at(rest.len() / 2);
    let mut slots =
        fill.iter().map(|step| arena.allocate(step.size)).collect::<Option<Vec<_>>>()?;
    let mut replace = |steps: &[Step]| {
        for step in steps {
            let block = arena.allocate(step.size)?;
            arena.free(std::mem::replace(slots.get_mut(step.slot)?, block));
        }
        Some(())
    };
    replace(mix)?;
    let stopwatch = Stopwatch::start();
    replace(measured)?;
    Some(stopwatch.nanoseconds() / measured.len() as f64)
}

/// What came of a trace.
struct Usage {
    /// The highest end of any block.
    footprint: u64,
    /// Requests that were not served.
    refusals: u64,
}

fn use_up<A: Arena>(trace: &Trace, arena: Option<A>) -> Option<Usage> {
    let mut arena = arena?;
    let mut slots: Vec<Option<A::Block>> = (0..trace.slots).map(|_| None).collect();
    let mut usage = Usage { footprint: 0, refusals: 0 };
    for &Step { slot, size } in &trace.steps {
        let slot = slots.get_mut(slot)?;
        if let Some(block) = slot.take() {
            arena.free(block);
        }
        if size != 0 {
            *slot = arena.allocate(size);
            match slot {
                Some(block) => usage.footprint = usage.footprint.max(arena.offset(block) + size),
                None => usage.refusals += 1,
            }
        }
    }
    Some(usage)
}

/// The mean over all traces; if one has no number, there is none.
fn mean(traces: &[Trace], of: impl FnMut(&Trace) -> Option<u64>) -> f64 {
    let sum: Option<u64> = traces.iter().map(of).sum();
    sum.map_or(f64::NAN, |sum| sum as f64 / traces.len() as f64)
}
