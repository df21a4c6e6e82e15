//! Operators that join, cut and pad.

use super::Rule;
use crate::onnx::ShapeIssue;
use crate::onnx::fact::Fact;
use crate::onnx::op::{Op, Ruling, axis, dim, dims};

/// Shapes joined along an axis.
pub(super) fn joined(parts: &[&[u64]], along: i64) -> Ruling<Vec<u64>> {
    let Some((first, rest)) = parts.split_first() else {
        return Err(ShapeIssue::MissingInput { input: 0 });
    };
    let mut shape = first.to_vec();
    let at = axis(along, shape.len())?;
    for part in rest {
        if part.len() != shape.len() {
            let (left, right) = (shape.len() as u64, part.len() as u64);
            return Err(ShapeIssue::Mismatch { what: "ranks", left, right });
        }
        for (index, (whole, &piece)) in shape.iter_mut().zip(*part).enumerate() {
            if index == at {
                *whole = dim("an output axis", i128::from(*whole) + i128::from(piece))?;
            } else if *whole != piece {
                return Err(ShapeIssue::Mismatch { what: "axes", left: *whole, right: piece });
            }
        }
    }
    Ok(shape)
}

fn concat(op: &Op<'_, '_>) -> Ruling {
    let parts = (0..op.inputs.len()).map(|index| op.shape(index)).collect::<Ruling<Vec<_>>>()?;
    // Before version 4 the axis had a default.
    let along = if op.version < 4 { op.int("axis", 1)? } else { op.need_int("axis")? };
    Ok(vec![Fact::new(op.dtype(0)?, joined(&parts, along)?)])
}

fn split(op: &Op<'_, '_>) -> Ruling {
    let input = op.input(0)?;
    let at = axis(op.int("axis", 0)?, input.rank())?;
    let whole = input.shape.get(at).copied().unwrap_or(0);
    let outputs = op.node.outputs.len() as u64;
    let lengths = match op.list("split", 1)? {
        Some(list) => {
            let lengths = dims("a part", &list)?;
            let sum = lengths.iter().map(|&length| u128::from(length)).sum::<u128>();
            if sum != u128::from(whole) {
                let right = u64::try_from(sum).unwrap_or(u64::MAX);
                return Err(ShapeIssue::Mismatch { what: "axis and parts", left: whole, right });
            }
            lengths
        }
        None => {
            let parts = op.int("num_outputs", outputs as i64)?;
            let parts = dim("num_outputs", parts.into())?.max(1);
            if parts < outputs {
                return Err(ShapeIssue::Output { output: parts as usize });
            }
            let each = whole.div_ceil(parts);
            let start = |part: u64| each.saturating_mul(part).min(whole);
            (0..outputs).map(|part| start(part + 1) - start(part)).collect()
        }
    };
    let part = |length: u64| {
        let mut shape = input.shape.clone();
        if let Some(along) = shape.get_mut(at) {
            *along = length;
        }
        Fact::new(input.dtype, shape)
    };
    Ok(lengths.into_iter().map(part).collect())
}

/// One axis of a slice: where it starts, in which steps, and how many elements it takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    pub(crate) start: i128,
    pub(crate) step: i128,
    pub(crate) len: u64,
}

/// What a `Slice` takes of each axis; axes not named are whole.
pub(crate) fn cuts(op: &Op<'_, '_>) -> Ruling<Vec<Cut>> {
    let input = op.input(0)?;
    let attributes = op.version < 10 && op.node.domain.is_empty();
    let list = |name: &'static str, index| -> Ruling<Option<Vec<i64>>> {
        if attributes { op.ints(name) } else { op.list(name, index) }
    };
    let need =
        |name: &'static str, index| list(name, index)?.ok_or(ShapeIssue::MissingAttribute { name });
    let (starts, ends) = (need("starts", 1)?, need("ends", 2)?);
    let axes = list("axes", 3)?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = list("steps", 4)?.unwrap_or_else(|| vec![1; starts.len()]);
    let whole = |&dim: &u64| Cut { start: 0, step: 1, len: dim };
    let mut cuts: Vec<Cut> = input.shape.iter().map(whole).collect();
    if ends.len() != starts.len() || axes.len() != starts.len() || steps.len() != starts.len() {
        let (left, right) = (starts.len() as u64, ends.len() as u64);
        return Err(ShapeIssue::Mismatch { what: "starts, ends, axes and steps", left, right });
    }
    for (((&start, &end), &at), &step) in starts.iter().zip(&ends).zip(&axes).zip(&steps) {
        let at = axis(at, input.rank())?;
        if let (Some(cut), Some(&length)) = (cuts.get_mut(at), input.shape.get(at)) {
            *cut = cut_axis(length, start.into(), end.into(), step.into())?;
        }
    }
    Ok(cuts)
}

fn cut_axis(length: u64, start: i128, end: i128, step: i128) -> Ruling<Cut> {
    let length = i128::from(length);
    let from_start = |at: i128| if at < 0 { at + length } else { at };
    // Going down, the end is one before the last element taken: -1 when that is the first.
    let (start, distance) = if step > 0 {
        let (start, end) = (from_start(start).clamp(0, length), from_start(end).clamp(0, length));
        (start, end - start)
    } else {
        let last = (length - 1).max(0);
        let (start, end) = (from_start(start).clamp(0, last), from_start(end).clamp(-1, last));
        (start, if length == 0 { 0 } else { start - end })
    };
    if step == 0 {
        return Err(ShapeIssue::Length { what: "a step", value: 0 });
    }
    let width = step.abs();
    let len = if distance <= 0 { 0 } else { (distance + width - 1) / width };
    Ok(Cut { start, step, len: dim("an output axis", len)? })
}

fn slice(op: &Op<'_, '_>) -> Ruling {
    let shape = cuts(op)?.iter().map(|cut| cut.len).collect();
    Ok(vec![Fact::new(op.dtype(0)?, shape)])
}

fn pad(op: &Op<'_, '_>) -> Ruling {
    let input = op.input(0)?;
    let name = if op.version < 2 { "paddings" } else { "pads" };
    let pads = op.list(name, 1)?.ok_or(ShapeIssue::MissingAttribute { name: "pads" })?;
    let all: Vec<i64> = (0..input.rank() as i64).collect();
    let axes = match op.optional(3) {
        Some(_) => op.values(3)?.to_vec(),
        None => all,
    };
    if pads.len() != 2 * axes.len() {
        let (left, right) = (pads.len() as u64, 2 * axes.len() as u64);
        return Err(ShapeIssue::Mismatch { what: "pads and axes", left, right });
    }
    let mut shape = input.shape.clone();
    let (before, after) = pads.split_at_checked(axes.len()).unwrap_or((&[], &[]));
    for ((&at, &before), &after) in axes.iter().zip(before).zip(after) {
        let at = axis(at, input.rank())?;
        if let Some(along) = shape.get_mut(at) {
            let length = i128::from(*along) + i128::from(before) + i128::from(after);
            *along = dim("an output axis", length)?;
        }
    }
    Ok(vec![Fact::new(input.dtype, shape)])
}

pub(super) const RULES: &[(&str, Rule)] =
    &[("Concat", concat), ("Pad", pad), ("Slice", slice), ("Split", split)];
