//! What `tenure.usage` and `tenure.live_memory` make their answers of.

use pyo3::prelude::*;
use tenure::TensorMemory;
use tenure::memory::statistics;

use crate::fail::Answer;
use crate::gate;

/// Bytes now, bytes at the peak, allocations now, allocations ever.
#[pyfunction]
pub(crate) fn usage_of(memory: &str) -> Answer<(u64, u64, u64, u64)> {
    let usage = statistics::usage(memory.parse::<TensorMemory>()?);
    Ok((usage.live, usage.peak, usage.count, usage.made))
}

/// One allocation: its number, memory, bytes and name.
type Live = (u64, &'static str, usize, Option<String>);

/// Every allocation that there is, the largest first.
#[pyfunction]
pub(crate) fn allocations(py: Python<'_>) -> Vec<Live> {
    let all = gate::detach(py, statistics::report);
    all.into_iter()
        .map(|live| {
            (live.id, live.memory.name(), live.bytes, live.name.map(|name| name.to_string()))
        })
        .collect()
}
