//! `tensor[…]`: views by numbers, slices, `...` and `None`, as numpy has them.
//!
//! What is a picture stays one where it can: one of a batch, a part of a batch, and a rectangle that
//! cuts no chroma sample.

use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PySlice, PyTuple};
use tenure::{Layout, Region, TensorDyn};

use crate::fail::Answer;

/// The view that `key` names.
pub(crate) fn view(tensor: &TensorDyn, key: &Bound<'_, PyAny>) -> Answer<TensorDyn> {
    let keys: Vec<_> = match key.cast::<PyTuple>() {
        Ok(keys) => keys.iter().collect(),
        Err(_) => vec![key.clone()],
    };
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
    for (at, key) in keys.iter().enumerate() {
        if axis == 0
            && view.format().is_some()
            && let Some(picture) = picture(&view, keys.get(at..).unwrap_or_default())?
        {
            return Ok(picture);
        }
        if is_dots(key) {
            axis += rank - named;
        } else if key.is_none() {
            view = view.unsqueeze(axis)?;
            axis += 1;
        } else if let Ok(slice) = key.cast::<PySlice>() {
            view = sliced(&view, axis, slice)?;
            axis += 1;
        } else {
            let index = position(&view, axis, key)?;
            // One of a batch is a picture; of a single picture it is a row or a channel.
            let one = (axis == 0 && view.format().is_some()).then(|| view.batch(index).ok());
            view = one.flatten().map_or_else(|| view.index(axis, index), Ok)?;
        }
    }
    Ok(view)
}

fn is_dots(key: &Bound<'_, PyAny>) -> bool {
    key.is_instance_of::<PyEllipsis>()
}

/// What `keys` name of a picture or a batch, if they are all slices of step 1 and what they name is
/// a picture or a batch too.
fn picture(view: &TensorDyn, keys: &[Bound<'_, PyAny>]) -> Answer<Option<TensorDyn>> {
    let (Some(format), Some(width), Some(height)) = (view.format(), view.width(), view.height())
    else {
        return Ok(None);
    };
    let shape = view.shape();
    // First index and number of indices of each dimension.
    let mut parts: Vec<_> = shape.iter().map(|&dim| (0, dim)).collect();
    let mut axis = 0;
    for key in keys {
        if is_dots(key) {
            axis += (shape.len() + 1).saturating_sub(keys.len());
            continue;
        }
        let (Ok(slice), Some(part)) = (key.cast::<PySlice>(), parts.get_mut(axis)) else {
            return Ok(None);
        };
        // Dimensions fit an `isize`.
        let at = slice.indices(part.1 as isize)?;
        if at.step != 1 || at.slicelength == 0 {
            return Ok(None);
        }
        *part = (at.start.unsigned_abs(), at.slicelength);
        axis += 1;
    }
    let whole = |axis: usize| parts.get(axis) == shape.get(axis).map(|&dim| (0, dim)).as_ref();
    if (0..shape.len()).all(whole) {
        return Ok(Some(view.clone()));
    }
    let mut plain = view.clone();
    for (axis, &(start, count)) in parts.iter().enumerate() {
        plain = plain.slice(axis, start..start + count)?;
    }
    // Rows and columns are dimensions of some formats only, and whichever of all fits is theirs.
    for (rows, sides) in shape.windows(2).enumerate() {
        let others =
            || (0..shape.len()).all(|axis| axis == rows || axis == rows + 1 || whole(axis));
        if *sides != [height, width] || !others() {
            continue;
        }
        let (Some(&(y, high)), Some(&(x, wide))) = (parts.get(rows), parts.get(rows + 1)) else {
            continue;
        };
        if let Ok(region) = view.view(Region::new(x, y, wide, high))
            && same_elements(&region, &plain)
        {
            return Ok(Some(region));
        }
    }
    // A part of a batch.
    let batch = plain.clone().with_format(format).ok();
    Ok(batch.filter(|batch| {
        let size = (batch.width(), batch.height()) == (Some(width), Some(height));
        size && view.batch(0).is_ok() && same_elements(batch, &plain)
    }))
}

/// Whether two views have the same elements at the same indices.
fn same_elements(one: &TensorDyn, other: &TensorDyn) -> bool {
    let place = |tensor: &TensorDyn| tensor.buffer().start() + tensor.layout().offset();
    (one.shape(), one.strides(), place(one)) == (other.shape(), other.strides(), place(other))
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
