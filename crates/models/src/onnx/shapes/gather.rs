//! Picking by index, scattering by index, and what depends on the data itself.

use super::Rule;
use crate::ElementType;
use crate::onnx::ShapeIssue;
use crate::onnx::fact::Fact;
use crate::onnx::op::{Op, Ruling, axis, dim, product};

fn gather(op: &Op<'_, '_>) -> Ruling {
    let (data, indices) = (op.input(0)?, op.input(1)?);
    let at = axis(op.int("axis", 0)?, data.rank())?;
    let before = data.shape.iter().take(at);
    let after = data.shape.iter().skip(at + 1);
    let shape = before.chain(&indices.shape).chain(after).copied().collect();
    Ok(vec![Fact::new(data.dtype, shape)])
}

fn gather_elements(op: &Op<'_, '_>) -> Ruling {
    Ok(vec![Fact::new(op.dtype(0)?, op.shape(1)?.to_vec())])
}

fn gather_nd(op: &Op<'_, '_>) -> Ruling {
    let (data, indices) = (op.input(0)?, op.input(1)?);
    let batch = dim("batch_dims", op.int("batch_dims", 0)?.into())?;
    let Some((&depth, front)) = indices.shape.split_last() else {
        let wanted = "at least one axis";
        return Err(ShapeIssue::Rank { input: 1, shape: Vec::new(), wanted });
    };
    let used = batch.saturating_add(depth);
    if used > data.rank() as u64 {
        let (left, right) = (used, data.rank() as u64);
        return Err(ShapeIssue::Mismatch { what: "index depth and rank", left, right });
    }
    let rest = data.shape.iter().skip(used as usize);
    Ok(vec![Fact::new(data.dtype, front.iter().chain(rest).copied().collect())])
}

/// The data with some elements replaced.
fn scatter(op: &Op<'_, '_>) -> Ruling {
    let data = op.input(0)?;
    Ok(vec![Fact::new(data.dtype, data.shape.clone())])
}

fn one_hot(op: &Op<'_, '_>) -> Ruling {
    let depth = match &op.input(1)?.values {
        Some(_) => op.input(1)?.to_floats().and_then(|list| list.first().copied()),
        None => None,
    };
    let depth = depth.ok_or(ShapeIssue::Values { input: 1 })?;
    let mut shape = op.shape(0)?.to_vec();
    let at = axis(op.int("axis", -1)?, shape.len() + 1)?;
    shape.insert(at.min(shape.len()), dim("depth", depth as i128)?);
    Ok(vec![Fact::new(op.dtype(2)?, shape)])
}

/// At most every element is not zero.
fn non_zero(op: &Op<'_, '_>) -> Ruling {
    let input = op.input(0)?;
    let most = match input.to_floats() {
        Some(list) => list.iter().filter(|&&value| value != 0.0).count() as u64,
        None => product(&input.shape)?,
    };
    Ok(vec![Fact::new(ElementType::I64, vec![(input.rank() as u64).max(1), most])])
}

/// At most every slice is taken.
fn compress(op: &Op<'_, '_>) -> Ruling {
    let input = op.input(0)?;
    let chosen = op.input(1)?.as_ints();
    let taken = chosen.map(|list| list.iter().filter(|&&value| value != 0).count() as u64);
    let Some(at) = op.maybe_int("axis")? else {
        let most = taken.unwrap_or(product(&input.shape)?);
        return Ok(vec![Fact::new(input.dtype, vec![most])]);
    };
    let at = axis(at, input.rank())?;
    let mut shape = input.shape.clone();
    if let Some(along) = shape.get_mut(at) {
        *along = taken.unwrap_or(*along);
    }
    Ok(vec![Fact::new(input.dtype, shape)])
}

/// At most every element, or slice, is different.
fn unique(op: &Op<'_, '_>) -> Ruling {
    let input = op.input(0)?;
    let mut shape = vec![product(&input.shape)?];
    let mut most = product(&input.shape)?;
    if let Some(at) = op.maybe_int("axis")? {
        let at = axis(at, input.rank())?;
        most = input.shape.get(at).copied().unwrap_or(0);
        shape.clone_from(&input.shape);
    }
    let places = Fact::new(ElementType::I64, vec![most]);
    Ok(vec![Fact::new(input.dtype, shape), places.clone(), places.clone(), places])
}

fn array_feature_extractor(op: &Op<'_, '_>) -> Ruling {
    let mut shape = op.ranked(0, |rank| rank >= 1, "at least one axis")?.to_vec();
    if shape.len() == 1 {
        shape.insert(0, 1);
    }
    if let Some(last) = shape.last_mut() {
        *last = product(op.shape(1)?)?;
    }
    Ok(vec![Fact::new(op.dtype(0)?, shape)])
}

pub(super) const RULES: &[(&str, Rule)] = &[
    ("Compress", compress),
    ("Gather", gather),
    ("GatherElements", gather_elements),
    ("GatherND", gather_nd),
    ("NonZero", non_zero),
    ("OneHot", one_hot),
    ("Scatter", scatter),
    ("ScatterElements", scatter),
    ("ScatterND", scatter),
    ("TensorScatter", scatter),
    ("Unique", unique),
    ("ai.onnx.ml.ArrayFeatureExtractor", array_feature_extractor),
];
