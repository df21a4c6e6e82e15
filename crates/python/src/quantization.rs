//! The quantisation of a tensor: what its integers stand for.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use tenure::TensorDyn;
use tenure::layout::{Quantization, ZeroPoints};

use crate::fail::Answer;
use crate::list::List;

/// Scale, zero point and None; or scales, zero points and the axis whose indices they are for.
pub(crate) fn told<'py>(
    py: Python<'py>,
    quantization: &Quantization,
) -> PyResult<Bound<'py, PyTuple>> {
    let scales = quantization.scales();
    let zero_points = match quantization.zero_points() {
        ZeroPoints::Each(each) => each.to_vec(),
        _ => vec![0; scales.len()],
    };
    match quantization.axis() {
        Some(axis) => {
            (PyList::new(py, scales)?, PyList::new(py, zero_points)?, axis).into_pyobject(py)
        }
        None => {
            let first = (scales.first().copied(), zero_points.first().copied());
            (first.0, first.1, py.None()).into_pyobject(py)
        }
    }
}

/// The same tensor with this quantisation: numbers, or lists of them and an axis.
pub(crate) fn with(
    tensor: &TensorDyn,
    scale: &Bound<'_, PyAny>,
    zero_point: Option<&Bound<'_, PyAny>>,
    axis: Option<usize>,
) -> Answer<TensorDyn> {
    let quantization = match (scale.extract::<f32>(), axis) {
        (Ok(scale), None) => {
            let zero_point = zero_point.map_or(Ok(0), |given| given.extract())?;
            Quantization::per_tensor(scale, zero_point)?
        }
        (Ok(_), Some(axis)) => {
            let message = format!("axis {axis} needs a scale for each of its indices: give a list");
            return Err(PyTypeError::new_err(message).into());
        }
        (Err(_), None) => {
            let message = "scale is a number; or a list of numbers, with the axis they are for";
            // A number of another kind, that no f32 is.
            scale.extract::<List<f32>>().map_err(|_| PyTypeError::new_err(message))?;
            return Err(PyValueError::new_err("scales of a list need an axis").into());
        }
        (Err(_), Some(axis)) => {
            let List(scales) = scale.extract::<List<f32>>()?;
            let zero_points = match zero_point {
                None => vec![],
                Some(given) => match given.extract::<i32>() {
                    Ok(all) => vec![all; scales.len()],
                    Err(_) => given.extract::<List<i32>>()?.0,
                },
            };
            Quantization::per_axis(scales, zero_points, axis)?
        }
    };
    Ok(tensor.clone().with_quantization(quantization)?)
}
