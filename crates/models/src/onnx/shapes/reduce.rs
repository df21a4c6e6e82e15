//! Reductions, arg-reductions and top-k.

use super::Rule;
use crate::ElementType;
use crate::onnx::ShapeIssue;
use crate::onnx::fact::Fact;
use crate::onnx::op::{Op, Ruling, axes, axis, dim};

/// A shape without the marked axes, or with 1 in their place.
fn without(shape: &[u64], marked: &[bool], keep: bool) -> Vec<u64> {
    let pairs = shape.iter().zip(marked);
    let kept = pairs.filter(|&(_, &marked)| keep || !marked);
    kept.map(|(&dim, &marked)| if marked { 1 } else { dim }).collect()
}

fn reduce(op: &Op<'_, '_>) -> Ruling {
    let input = op.input(0)?;
    let keep = op.int("keepdims", 1)? != 0;
    let list = op.list("axes", 1)?.unwrap_or_default();
    let marked = if list.is_empty() {
        if op.flag("noop_with_empty_axes")? {
            return Ok(vec![Fact::new(input.dtype, input.shape.clone())]);
        }
        vec![true; input.rank()]
    } else {
        axes(&list, input.rank())?
    };
    Ok(vec![Fact::new(input.dtype, without(&input.shape, &marked, keep))])
}

fn arg(op: &Op<'_, '_>) -> Ruling {
    let input = op.input(0)?;
    let axis = op.int("axis", 0)?;
    let marked = axes(&[axis], input.rank())?;
    let keep = op.int("keepdims", 1)? != 0;
    Ok(vec![Fact::new(ElementType::I64, without(&input.shape, &marked, keep))])
}

fn top_k(op: &Op<'_, '_>) -> Ruling {
    let input = op.input(0)?;
    let axis = axis(op.int("axis", -1)?, input.rank())?;
    let k = if op.version < 10 { op.need_int("k")? } else { op.value(1)? };
    let k = dim("k", k.into())?;
    let mut shape = input.shape.clone();
    if let Some(along) = shape.get_mut(axis) {
        if k > *along {
            return Err(ShapeIssue::Mismatch { what: "k and axis", left: k, right: *along });
        }
        *along = k;
    }
    Ok(vec![Fact::new(input.dtype, shape.clone()), Fact::new(ElementType::I64, shape)])
}

pub(super) const RULES: &[(&str, Rule)] = &[
    ("ReduceL1", reduce),
    ("ReduceL2", reduce),
    ("ReduceLogSum", reduce),
    ("ReduceLogSumExp", reduce),
    ("ReduceMax", reduce),
    ("ReduceMean", reduce),
    ("ReduceMin", reduce),
    ("ReduceProd", reduce),
    ("ReduceSum", reduce),
    ("ReduceSumSquare", reduce),
    ("ArgMax", arg),
    ("ArgMin", arg),
    ("TopK", top_k),
];
