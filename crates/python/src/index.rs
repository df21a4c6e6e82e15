//! `tensor[…]`: views by numbers, slices, `...` and `None`, as numpy has them.

use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PySlice, PyTuple};
use tenure::{Layout, TensorDyn};

use crate::fail::Answer;

/// The view that `key` names.
pub(crate) fn view(tensor: &TensorDyn, key: &Bound<'_, PyAny>) -> Answer<TensorDyn> {
    let keys: Vec<_> = match key.cast::<PyTuple>() {
        Ok(keys) => keys.iter().collect(),
        Err(_) => vec![key.clone()],
    };
    let is_dots = |key: &Bound<'_, PyAny>| key.is_instance_of::<PyEllipsis>();
    let dots = keys.iter().filter(|key| is_dots(key)).count();
    let named = keys.iter().filter(|key| !is_dots(key) && !key.is_none()).count();
    let rank = tensor.rank();
    if named > rank || dots > 1 {
        let message = if dots > 1 {
            "an index can have one \"...\" only".to_owned()
        } else {
            format!("{named} indices, but the tensor has {rank} dimensions")
        };
        return Err(PyIndexError::new_err(message).into());
    }
    let mut view = tensor.clone();
    let mut axis = 0;
    for key in &keys {
        if is_dots(key) {
            axis += rank - named;
        } else if key.is_none() {
            view = view.unsqueeze(axis)?;
            axis += 1;
        } else if let Ok(slice) = key.cast::<PySlice>() {
            view = sliced(&view, axis, slice)?;
            axis += 1;
        } else {
            view = view.index(axis, position(&view, axis, key)?)?;
        }
    }
    Ok(view)
}

fn dimension(view: &TensorDyn, axis: usize) -> usize {
    view.shape().get(axis).copied().unwrap_or(0)
}

/// An index, counted from the end if it is negative.
fn position(view: &TensorDyn, axis: usize, key: &Bound<'_, PyAny>) -> Answer<usize> {
    let given = key.call_method0("__index__").map_err(|_| {
        let kind = key.get_type().name().map_or_else(|_| "this".to_owned(), |n| n.to_string());
        PyTypeError::new_err(format!(
            "an index is a number, a slice, ... or None, not an object of {kind}"
        ))
    })?;
    let dim = dimension(view, axis);
    let index: Option<isize> = given.extract().ok();
    // Dimensions fit an `isize`.
    let found = index.map(|index| if index < 0 { index + dim as isize } else { index });
    found.and_then(|index| usize::try_from(index).ok()).filter(|&index| index < dim).ok_or_else(
        || {
            let message = format!("index {given} is outside dimension {axis}, which has {dim}");
            PyIndexError::new_err(message).into()
        },
    )
}

fn sliced(view: &TensorDyn, axis: usize, slice: &Bound<'_, PySlice>) -> Answer<TensorDyn> {
    let dim = dimension(view, axis);
    // Dimensions fit an `isize`.
    let at = slice.indices(dim as isize)?;
    if at.slicelength == 0 {
        return Ok(view.slice(axis, 0..0)?);
    }
    let (first, count) = (at.start.unsigned_abs(), at.slicelength);
    if at.step > 0 {
        let (stop, step) = (at.stop.unsigned_abs().min(dim), at.step.unsigned_abs());
        return Ok(view.slice_step(axis, first..stop, step)?);
    }
    backwards(view, axis, first, count, at.step)
}

/// The elements from `first` on, in the other direction. Such a view is no image, and has no
/// quantisation.
fn backwards(
    view: &TensorDyn,
    axis: usize,
    first: usize,
    count: usize,
    step: isize,
) -> Answer<TensorDyn> {
    let from = view.slice(axis, first..first + 1)?;
    let layout = view.layout();
    let (mut shape, mut strides) = (layout.shape().to_vec(), layout.strides().to_vec());
    if let (Some(dim), Some(stride)) = (shape.get_mut(axis), strides.get_mut(axis)) {
        *dim = count;
        // What does not fit is the stride of a single element, which leads nowhere.
        *stride = stride.checked_mul(step).unwrap_or(0);
    }
    // The slice has a buffer cut to its own bytes, which starts this far into the whole one.
    let inside = from.buffer().start() - view.buffer().start();
    let offset = inside + from.layout().offset();
    let layout = Layout::strided(layout.dtype(), &shape, &strides, offset)?;
    Ok(TensorDyn::from_unaligned_buffer(view.buffer().clone(), layout)?)
}
