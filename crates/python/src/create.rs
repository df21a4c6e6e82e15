//! New tensors and pictures, for everything that makes some: `Tensor`, `Device` and `Pool`.

use pyo3::prelude::*;
use tenure::tensor::{Dyn, TensorBuilder};
use tenure::{DType, DynTensor, TensorDyn};

use crate::fail::Answer;
use crate::place::Place;
use crate::shape::Shape;
use crate::tensor::Tensor;
use crate::{gate, words};

/// How a tensor is made, besides what it is.
#[derive(Clone, Copy, Default)]
pub(crate) struct How<'a> {
    pub(crate) name: Option<&'a str>,
    pub(crate) lazy: bool,
    pub(crate) without_zeroing: bool,
}

/// A tensor of this shape, of `f32` if no type is said.
pub(crate) fn tensor(
    py: Python<'_>,
    shape: &Shape,
    dtype: Option<&Bound<'_, PyAny>>,
    place: &Place,
    how: How<'_>,
) -> Answer<Tensor> {
    let dtype = dtype.map_or(Ok(DType::F32), words::dtype)?;
    build(py, TensorDyn::builder(&shape.0, dtype), place, how)
}

/// Width, height and format of a picture.
pub(crate) type Size<'a> = (usize, usize, &'a str);

/// A picture of this size and format, of bytes if no type is said.
pub(crate) fn image(
    py: Python<'_>,
    (width, height, format): Size<'_>,
    dtype: Option<&Bound<'_, PyAny>>,
    place: &Place,
    how: How<'_>,
) -> Answer<Tensor> {
    let dtype = dtype.map_or(Ok(DType::U8), words::dtype)?;
    let format = words::format(format)?;
    build(py, TensorDyn::image_builder(width, height, format, dtype), place, how)
}

fn build(
    py: Python<'_>,
    builder: TensorBuilder<'_, Dyn>,
    place: &Place,
    how: How<'_>,
) -> Answer<Tensor> {
    Ok(Tensor::new(gate::detach(py, || {
        let mut builder = builder.place(place.to()).name(how.name);
        if how.lazy {
            builder = builder.lazy();
        }
        if how.without_zeroing {
            builder = builder.without_zeroing();
        }
        builder.build()
    })?))
}
