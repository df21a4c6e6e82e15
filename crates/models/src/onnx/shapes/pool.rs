//! Pooling: windows without weights.

use super::Rule;
use super::conv::{Slide, auto_pad, positions, slides};
use crate::ElementType;
use crate::onnx::ShapeIssue;
use crate::onnx::fact::Fact;
use crate::onnx::op::{Op, Ruling, dim, dims};

fn kernel(op: &Op<'_, '_>, spatial: usize) -> Ruling<Vec<u64>> {
    let name = "kernel_shape";
    let kernel = op.ints(name)?.ok_or(ShapeIssue::MissingAttribute { name })?;
    if kernel.len() != spatial {
        let (left, right) = (kernel.len() as u64, spatial as u64);
        return Err(ShapeIssue::Mismatch { what: "axes of kernel and input", left, right });
    }
    dims(name, &kernel)
}

fn pooled(op: &Op<'_, '_>) -> Ruling<Vec<u64>> {
    let input = op.ranked(0, |rank| rank >= 3, "at least three axes")?;
    let kernel = kernel(op, input.len() - 2)?;
    let (auto, ceil) = (auto_pad(op)?, op.flag("ceil_mode")?);
    let mut shape = vec![op.dim(0, 0)?, op.dim(0, 1)?];
    for (&input, slide) in input.iter().skip(2).zip(&slides(op, &kernel)?) {
        shape.push(positions(auto, input, slide, ceil)?);
    }
    Ok(shape)
}

fn pool(op: &Op<'_, '_>) -> Ruling {
    let shape = pooled(op)?;
    Ok(vec![Fact::new(op.dtype(0)?, shape.clone()), Fact::new(ElementType::I64, shape)])
}

fn global_pool(op: &Op<'_, '_>) -> Ruling {
    let input = op.ranked(0, |rank| rank >= 2, "at least two axes")?;
    let ones = input.iter().enumerate();
    let shape = ones.map(|(axis, &dim)| if axis < 2 { dim } else { 1 }).collect();
    Ok(vec![Fact::new(op.dtype(0)?, shape)])
}

fn unpool(op: &Op<'_, '_>) -> Ruling {
    let input = op.ranked(0, |rank| rank >= 3, "at least three axes")?;
    if op.optional(2).is_some() {
        return Ok(vec![Fact::new(op.dtype(0)?, dims("output_shape", op.values(2)?)?)]);
    }
    let kernel = kernel(op, input.len() - 2)?;
    let mut shape = vec![op.dim(0, 0)?, op.dim(0, 1)?];
    for (&input, slide) in input.iter().skip(2).zip(&slides(op, &kernel)?) {
        let Slide { kernel, stride, pad, pad_end, .. } = *slide;
        let length = (i128::from(input) - 1) * stride + kernel - pad - pad_end;
        shape.push(dim("an output axis", length)?);
    }
    Ok(vec![Fact::new(op.dtype(0)?, shape)])
}

fn max_roi_pool(op: &Op<'_, '_>) -> Ruling {
    let name = "pooled_shape";
    let pooled = op.ints(name)?.ok_or(ShapeIssue::MissingAttribute { name })?;
    let mut shape = vec![op.dim(1, 0)?, op.dim(0, 1)?];
    shape.extend(dims(name, &pooled)?);
    Ok(vec![Fact::new(op.dtype(0)?, shape)])
}

/// `com.microsoft`: channels may be last.
fn qlinear_pool(op: &Op<'_, '_>) -> Ruling {
    if op.flag("channels_last")? {
        return Err(ShapeIssue::Unknown { what: "channels_last" });
    }
    pool(op).map(|facts| facts.into_iter().take(1).collect())
}

fn qlinear_global_pool(op: &Op<'_, '_>) -> Ruling {
    if op.flag("channels_last")? {
        let input = op.ranked(0, |rank| rank >= 2, "at least two axes")?;
        let last = input.len() - 1;
        let ones = input.iter().enumerate();
        let shape = ones.map(|(axis, &dim)| if axis == 0 || axis == last { dim } else { 1 });
        return Ok(vec![Fact::new(op.dtype(0)?, shape.collect())]);
    }
    global_pool(op)
}

pub(super) const RULES: &[(&str, Rule)] = &[
    ("AveragePool", pool),
    ("LpPool", pool),
    ("MaxPool", pool),
    ("GlobalAveragePool", global_pool),
    ("GlobalLpPool", global_pool),
    ("GlobalMaxPool", global_pool),
    ("MaxRoiPool", max_roi_pool),
    ("MaxUnpool", unpool),
    ("com.microsoft.QLinearAveragePool", qlinear_pool),
    ("com.microsoft.QLinearGlobalAveragePool", qlinear_global_pool),
];
