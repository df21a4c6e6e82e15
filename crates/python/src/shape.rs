//! Shapes as Python gives them.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::list::List;

/// A shape as Python gives it: a sequence of numbers, or one.
pub(crate) struct Shape(pub(crate) Vec<usize>);

impl<'py> FromPyObject<'_, 'py> for Shape {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Shape> {
        if let Ok(dim) = given.extract::<i64>() {
            return Ok(Shape(vec![dimension(dim)?]));
        }
        let List::<i64>(dims) = given.extract().map_err(|_: PyErr| {
            PyTypeError::new_err(format!("a shape is a sequence of numbers, not {given:?}"))
        })?;
        Ok(Shape(dims.into_iter().map(dimension).collect::<PyResult<_>>()?))
    }
}

fn dimension(dim: i64) -> PyResult<usize> {
    let wrong = |_| PyValueError::new_err(format!("{dim} is no dimension: 0 and more are"));
    usize::try_from(dim).map_err(wrong)
}
