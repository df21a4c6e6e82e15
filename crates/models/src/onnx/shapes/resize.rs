//! Resize, Upsample and sampling on grids.

use super::Rule;
use crate::onnx::ShapeIssue;
use crate::onnx::fact::Fact;
use crate::onnx::op::{Op, Ruling, axis, dim, dims};

fn scaled(length: u64, scale: f64) -> Ruling<u64> {
    // Scales are single precision; so is what runtimes compute from them.
    let made = f64::from(length as f32 * scale as f32).floor();
    if !(0.0..9e18).contains(&made) {
        return Err(ShapeIssue::Length { what: "a scale", value: scale as i128 });
    }
    Ok(made as u64)
}

fn scales(op: &Op<'_, '_>, index: usize) -> Ruling<Vec<f64>> {
    op.input(index)?.to_floats().ok_or(ShapeIssue::Values { input: index })
}

fn resize(op: &Op<'_, '_>) -> Ruling {
    let input = op.input(0)?;
    let mut shape = input.shape.clone();
    let (scale_input, size_input) = if op.version < 11 { (1, usize::MAX) } else { (2, 3) };
    let axes = match op.ints("axes")? {
        Some(list) => list.iter().map(|&at| axis(at, shape.len())).collect::<Ruling<_>>()?,
        None => (0..shape.len()).collect::<Vec<_>>(),
    };
    let fits = |len: usize| {
        let (left, right) = (len as u64, axes.len() as u64);
        let issue = ShapeIssue::Mismatch { what: "scales or sizes and axes", left, right };
        if left == right { Ok(()) } else { Err(issue) }
    };
    // One of the two may be there as an empty tensor.
    let there = |index: usize| op.optional(index).filter(|fact| fact.shape != [0]);
    if there(size_input).is_some() {
        let sizes = dims("a size", op.values(size_input)?)?;
        fits(sizes.len())?;
        let lengths = kept_ratio(op, &shape, &axes, &sizes)?;
        for (&at, length) in axes.iter().zip(lengths) {
            if let Some(along) = shape.get_mut(at) {
                *along = length;
            }
        }
    } else if there(scale_input).is_some() {
        let scales = scales(op, scale_input)?;
        fits(scales.len())?;
        for (&at, &scale) in axes.iter().zip(&scales) {
            if let Some(along) = shape.get_mut(at) {
                *along = scaled(*along, scale)?;
            }
        }
    } else {
        return Err(ShapeIssue::MissingInput { input: size_input.min(scale_input) });
    }
    Ok(vec![Fact::new(input.dtype, shape)])
}

/// Sizes as `keep_aspect_ratio_policy` changes them.
fn kept_ratio(op: &Op<'_, '_>, shape: &[u64], axes: &[usize], sizes: &[u64]) -> Ruling<Vec<u64>> {
    let larger = match op.word("keep_aspect_ratio_policy")?.as_deref() {
        None | Some("stretch" | "") => return Ok(sizes.to_vec()),
        Some("not_larger") => false,
        Some("not_smaller") => true,
        Some(word) => {
            let name = "keep_aspect_ratio_policy";
            return Err(ShapeIssue::Word { name, found: word.to_owned() });
        }
    };
    let lengths: Vec<u64> = axes.iter().filter_map(|&at| shape.get(at).copied()).collect();
    let ratios = sizes.iter().zip(&lengths).map(|(&size, &length)| size as f64 / length as f64);
    let pick = |kept: f64, next: f64| if larger { kept.max(next) } else { kept.min(next) };
    let Some(ratio) = ratios.reduce(pick) else { return Ok(Vec::new()) };
    let length = |&length: &u64| dim("an output axis", (length as f64 * ratio).round() as i128);
    lengths.iter().map(length).collect()
}

fn upsample(op: &Op<'_, '_>) -> Ruling {
    let input = op.input(0)?;
    let scales = match op.floats("scales")? {
        Some(scales) => scales,
        None if op.has("height_scale") => {
            let (height, width) = (op.maybe_float("height_scale")?, op.maybe_float("width_scale")?);
            vec![1.0, 1.0, height.unwrap_or(1.0).into(), width.unwrap_or(1.0).into()]
        }
        None => scales(op, 1)?,
    };
    if scales.len() != input.rank() {
        let (left, right) = (scales.len() as u64, input.rank() as u64);
        return Err(ShapeIssue::Mismatch { what: "scales and rank", left, right });
    }
    let shape = input.shape.iter().zip(&scales).map(|(&length, &scale)| scaled(length, scale));
    Ok(vec![Fact::new(input.dtype, shape.collect::<Ruling<_>>()?)])
}

fn grid_sample(op: &Op<'_, '_>) -> Ruling {
    let grid = op.ranked(1, |rank| rank >= 3, "at least three axes")?;
    let mut shape = vec![op.dim(0, 0)?, op.dim(0, 1)?];
    shape.extend(grid.iter().skip(1).take(grid.len() - 2));
    Ok(vec![Fact::new(op.dtype(0)?, shape)])
}

fn affine_grid(op: &Op<'_, '_>) -> Ruling {
    let size = dims("a size", op.values(1)?)?;
    let spatial = size.len().saturating_sub(2) as u64;
    let batch = size.first().copied().into_iter();
    let shape = batch.chain(size.iter().skip(2).copied()).chain([spatial]).collect();
    Ok(vec![Fact::new(op.dtype(0)?, shape)])
}

pub(super) const RULES: &[(&str, Rule)] = &[
    ("AffineGrid", affine_grid),
    ("GridSample", grid_sample),
    ("Resize", resize),
    ("Upsample", upsample),
];
