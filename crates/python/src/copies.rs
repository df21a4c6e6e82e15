//! `copy_all` and `copy_all_later`: several copies in one go, each device's share at once.

use pyo3::prelude::*;
use tenure::TensorDyn;

use crate::dlpack;
use crate::fail::Answer;
use crate::fence::Fence;
use crate::gate;
use crate::list::List;
use crate::tensor::Tensor;

/// Tensors to write, each with what is copied into it.
type Pairs<'py> = List<(Bound<'py, Tensor>, Bound<'py, PyAny>)>;

fn tensors(pairs: &Pairs<'_>) -> Answer<Vec<(TensorDyn, TensorDyn)>> {
    let pair = |(to, from): &(Bound<'_, Tensor>, Bound<'_, PyAny>)| {
        Ok((to.get().tensor.clone(), dlpack::from_dlpack(from, None, None)?.tensor.clone()))
    };
    pairs.0.iter().map(pair).collect()
}

/// Copies pairs of tensors (to, from), each device's share in one go, and waits. A tensor cannot be
/// written by one of the copies and be part of another.
#[pyfunction]
pub(crate) fn copy_all(py: Python<'_>, pairs: Pairs<'_>) -> Answer<()> {
    let pairs = tensors(&pairs)?;
    gate::detach(py, || {
        let pairs: Vec<_> = pairs.iter().map(|(to, from)| (to, from)).collect();
        Ok(tenure::copy_all(&pairs)?)
    })
}

/// Begins copies of pairs of tensors (to, from), each device's share in one go: a `Fence` for each
/// device that takes part.
#[pyfunction]
pub(crate) fn copy_all_later(py: Python<'_>, pairs: Pairs<'_>) -> Answer<Vec<Fence>> {
    let pairs = tensors(&pairs)?;
    let fences = gate::detach(py, || {
        let pairs: Vec<_> = pairs.iter().map(|(to, from)| (to, from)).collect();
        tenure::copy_all_later(&pairs)
    })?;
    fences.into_iter().map(|fence| Fence::of_copies(&pairs, fence)).collect()
}
