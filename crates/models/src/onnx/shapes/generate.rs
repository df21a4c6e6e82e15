//! Operators that make tensors from numbers: constants, ranges, random fields, windows.

use super::Rule;
use crate::ElementType;
use crate::onnx::ShapeIssue;
use crate::onnx::fact::{Fact, Values};
use crate::onnx::op::{Op, Ruling, dim, dims};

fn constant(op: &Op<'_, '_>) -> Ruling {
    for name in ["value", "sparse_value"] {
        if let Some(tensor) = op.tensor(name)? {
            return Ok(vec![Fact::of_tensor(&tensor)?]);
        }
    }
    if let Some(int) = op.maybe_int("value_int")? {
        return Ok(vec![Fact::ints(Vec::new(), &[int])]);
    }
    if let Some(ints) = op.ints("value_ints")? {
        return Ok(vec![Fact::ints(vec![ints.len() as u64], &ints)]);
    }
    let floats = |shape, floats: Vec<f64>| {
        let values = Some(Values::Floats(floats.into()));
        vec![Fact { dtype: ElementType::F32, shape, values }]
    };
    if let Some(float) = op.maybe_float("value_float")? {
        return Ok(floats(Vec::new(), vec![float.into()]));
    }
    if let Some(list) = op.floats("value_floats")? {
        return Ok(floats(vec![list.len() as u64], list));
    }
    if op.has("value_string") {
        return Ok(vec![Fact::new(ElementType::Text, Vec::new())]);
    }
    if let Some(words) = op.words("value_strings")? {
        return Ok(vec![Fact::new(ElementType::Text, vec![words])]);
    }
    Err(ShapeIssue::MissingAttribute { name: "value" })
}

fn constant_of_shape(op: &Op<'_, '_>) -> Ruling {
    let value = op.tensor("value")?;
    let dtype = value.map_or(ElementType::F32, |tensor| tensor.dtype);
    // A shape without entries is that of a scalar, whether its numbers are known or not.
    if op.shape(0)? == [0] {
        return Ok(vec![Fact::new(dtype, Vec::new())]);
    }
    Ok(vec![Fact::new(dtype, dims("an entry of the shape", op.values(0)?)?)])
}

fn shape_attribute(op: &Op<'_, '_>) -> Ruling {
    let shape = op.ints("shape")?.ok_or(ShapeIssue::MissingAttribute { name: "shape" })?;
    let dtype = op.element_type("dtype")?.unwrap_or(ElementType::F32);
    Ok(vec![Fact::new(dtype, dims("an entry of the shape", &shape)?)])
}

fn multinomial(op: &Op<'_, '_>) -> Ruling {
    let dtype = op.element_type("dtype")?.unwrap_or(ElementType::I32);
    let samples = dim("sample_size", op.int("sample_size", 1)?.into())?;
    Ok(vec![Fact::new(dtype, vec![op.dim(0, 0)?, samples])])
}

fn range(op: &Op<'_, '_>) -> Ruling {
    let number = |index: usize| {
        let first = op.input(index)?.to_floats().and_then(|list| list.first().copied());
        first.ok_or(ShapeIssue::Values { input: index })
    };
    let (start, limit, step) = (number(0)?, number(1)?, number(2)?);
    let count = ((limit - start) / step).ceil();
    if !count.is_finite() || count >= 9e18 {
        return Err(ShapeIssue::Length { what: "the step", value: step as i128 });
    }
    Ok(vec![Fact::new(op.dtype(0)?, vec![count.max(0.0) as u64])])
}

/// The shape as a tensor: `start` and `end` cut it.
fn shape(op: &Op<'_, '_>) -> Ruling {
    let input = op.shape(0)?;
    let rank = input.len() as i64;
    let at = |name, default: i64| -> Ruling<usize> {
        let given = op.int(name, default)?;
        let given = if given < 0 { given.saturating_add(rank) } else { given };
        Ok(given.clamp(0, rank) as usize)
    };
    let (start, end) = (at("start", 0)?, at("end", rank)?);
    let cut = input.get(start..end).unwrap_or_default();
    let ints: Option<Vec<i64>> = cut.iter().map(|&dim| i64::try_from(dim).ok()).collect();
    let issue = ShapeIssue::Length { what: "an axis", value: i128::from(u64::MAX) };
    Ok(vec![Fact::ints(vec![cut.len() as u64], &ints.ok_or(issue)?)])
}

fn size(op: &Op<'_, '_>) -> Ruling {
    let elements = op.input(0)?.elements().and_then(|count| i64::try_from(count).ok());
    let issue = ShapeIssue::Length { what: "the number of elements", value: i128::MAX };
    Ok(vec![Fact::ints(Vec::new(), &[elements.ok_or(issue)?])])
}

fn window(op: &Op<'_, '_>) -> Ruling {
    let dtype = op.element_type("output_datatype")?.unwrap_or(ElementType::F32);
    Ok(vec![Fact::new(dtype, vec![dim("the window", op.value(0)?.into())?])])
}

pub(super) const RULES: &[(&str, Rule)] = &[
    ("BlackmanWindow", window),
    ("Constant", constant),
    ("ConstantOfShape", constant_of_shape),
    ("HammingWindow", window),
    ("HannWindow", window),
    ("Multinomial", multinomial),
    ("RandomNormal", shape_attribute),
    ("RandomUniform", shape_attribute),
    ("Range", range),
    ("Shape", shape),
    ("Size", size),
];
