//! Operators that keep the elements and change the axes.

use super::Rule;
use crate::onnx::ShapeIssue;
use crate::onnx::fact::Fact;
use crate::onnx::op::{Op, Ruling, axes, axis, broadcast, dim, dims, product};

/// The shape that `Reshape` makes: 0 copies an axis, one -1 takes what is left.
pub(super) fn reshaped(input: &[u64], target: &[i64], zero_is_zero: bool) -> Ruling<Vec<u64>> {
    let mut shape = Vec::with_capacity(target.len());
    let mut open = None;
    for (index, &entry) in target.iter().enumerate() {
        shape.push(match entry {
            0 if !zero_is_zero => {
                let issue = ShapeIssue::Axis { axis: index as i64, rank: input.len() };
                input.get(index).copied().ok_or(issue)?
            }
            -1 if open.is_none() => {
                open = Some(index);
                1
            }
            _ => dim("an entry of the shape", entry.into())?,
        });
    }
    let (all, given) = (product(input)?, product(&shape)?);
    if let Some(open) = open.and_then(|open| shape.get_mut(open)) {
        *open = all.checked_div(given).unwrap_or(0);
    }
    let made = product(&shape)?;
    if made != all {
        return Err(ShapeIssue::Mismatch { what: "elements", left: all, right: made });
    }
    Ok(shape)
}

fn reshape(op: &Op<'_, '_>) -> Ruling {
    let input = op.input(0)?;
    let target = op.list("shape", 1)?.ok_or(ShapeIssue::MissingInput { input: 1 })?;
    let shape = reshaped(&input.shape, &target, op.flag("allowzero")?)?;
    Ok(vec![Fact::new(input.dtype, shape)])
}

fn flatten(op: &Op<'_, '_>) -> Ruling {
    let input = op.input(0)?;
    let given = op.int("axis", 1)?;
    let rank = input.rank();
    let at = if given == rank as i64 { rank } else { axis(given, rank)? };
    let (left, right) = input.shape.split_at_checked(at).unwrap_or((&[], &[]));
    Ok(vec![Fact::new(input.dtype, vec![product(left)?, product(right)?])])
}

fn squeeze(op: &Op<'_, '_>) -> Ruling {
    let input = op.input(0)?;
    let list = op.list("axes", 1)?;
    let marked = match &list {
        Some(list) => axes(list, input.rank())?,
        None => input.shape.iter().map(|&dim| dim == 1).collect(),
    };
    let mut shape = Vec::new();
    for (&dim, marked) in input.shape.iter().zip(marked) {
        match (marked, dim) {
            (false, _) => shape.push(dim),
            (true, 1) => {}
            (true, _) => {
                return Err(ShapeIssue::Mismatch { what: "squeezed axis", left: dim, right: 1 });
            }
        }
    }
    Ok(vec![Fact::new(input.dtype, shape)])
}

fn unsqueeze(op: &Op<'_, '_>) -> Ruling {
    let input = op.input(0)?;
    let list = op.list("axes", 1)?.ok_or(ShapeIssue::MissingAttribute { name: "axes" })?;
    let marked = axes(&list, input.rank() + list.len())?;
    let mut dims = input.shape.iter().copied();
    let shape: Vec<u64> = marked
        .iter()
        .map(|&new| if new { Some(1) } else { dims.next() })
        .map_while(|dim| dim)
        .collect();
    if shape.len() != marked.len() || dims.next().is_some() {
        let (left, right) = (shape.len() as u64, marked.len() as u64);
        return Err(ShapeIssue::Mismatch { what: "axes, some given twice", left, right });
    }
    Ok(vec![Fact::new(input.dtype, shape)])
}

/// The order of axes that `Transpose` makes.
pub(crate) fn order(op: &Op<'_, '_>, rank: usize) -> Ruling<Vec<usize>> {
    let Some(given) = op.ints("perm")? else { return Ok((0..rank).rev().collect()) };
    let order: Vec<usize> = given.iter().map(|&at| axis(at, rank)).collect::<Ruling<_>>()?;
    if order.len() != rank || axes(&given, rank)?.contains(&false) {
        let (left, right) = (given.len() as u64, rank as u64);
        return Err(ShapeIssue::Mismatch { what: "perm and rank", left, right });
    }
    Ok(order)
}

fn transpose(op: &Op<'_, '_>) -> Ruling {
    let input = op.input(0)?;
    let order = order(op, input.rank())?;
    let shape = order.iter().filter_map(|&at| input.shape.get(at).copied()).collect();
    Ok(vec![Fact::new(input.dtype, shape)])
}

fn expand(op: &Op<'_, '_>) -> Ruling {
    let target = dims("an entry of the shape", op.values(1)?)?;
    Ok(vec![Fact::new(op.dtype(0)?, broadcast(op.shape(0)?, &target)?)])
}

fn tile(op: &Op<'_, '_>) -> Ruling {
    let input = op.input(0)?;
    let mut shape = input.shape.clone();
    if op.version < 6 {
        // Inputs: tiles and axis, one number each.
        let (tiles, at) = (dim("tiles", op.value(1)?.into())?, axis(op.value(2)?, shape.len())?);
        if let Some(along) = shape.get_mut(at) {
            *along = dim("an output axis", i128::from(*along) * i128::from(tiles))?;
        }
        return Ok(vec![Fact::new(input.dtype, shape)]);
    }
    let repeats = dims("repeats", op.values(1)?)?;
    if repeats.len() != shape.len() {
        let (left, right) = (repeats.len() as u64, shape.len() as u64);
        return Err(ShapeIssue::Mismatch { what: "repeats and rank", left, right });
    }
    for (along, &repeat) in shape.iter_mut().zip(&repeats) {
        *along = u64::try_from(u128::from(*along) * u128::from(repeat))
            .map_err(|_| ShapeIssue::Length { what: "an output axis", value: i128::MAX })?;
    }
    Ok(vec![Fact::new(input.dtype, shape)])
}

/// Block size, and the four axes of the input.
fn blocks(op: &Op<'_, '_>) -> Ruling<(i128, [i128; 4])> {
    let shape = op.ranked(0, |rank| rank == 4, "four axes")?;
    let found = op.need_int("blocksize")?;
    let (&[n, c, h, w], 1..=0xffff) = (shape, found) else {
        let wanted = "between 1 and 65535";
        return Err(ShapeIssue::Attribute { name: "blocksize", found, wanted });
    };
    Ok((found.into(), [n.into(), c.into(), h.into(), w.into()]))
}

fn depth_to_space(op: &Op<'_, '_>) -> Ruling {
    let (block, [n, c, h, w]) = blocks(op)?;
    let axes = [n, c / (block * block), h * block, w * block];
    let shape = axes.map(|axis| dim("an output axis", axis));
    Ok(vec![Fact::new(op.dtype(0)?, shape.into_iter().collect::<Ruling<_>>()?)])
}

fn space_to_depth(op: &Op<'_, '_>) -> Ruling {
    let (block, [n, c, h, w]) = blocks(op)?;
    let axes = [n, c.saturating_mul(block * block), h / block, w / block];
    let shape = axes.map(|axis| dim("an output axis", axis));
    Ok(vec![Fact::new(op.dtype(0)?, shape.into_iter().collect::<Ruling<_>>()?)])
}

fn center_crop_pad(op: &Op<'_, '_>) -> Ruling {
    let mut shape = op.shape(0)?.to_vec();
    let target = dims("an entry of the shape", op.values(1)?)?;
    let all = || (0..shape.len() as i64).collect();
    let list = op.ints("axes")?.unwrap_or_else(all);
    for (&at, &length) in list.iter().zip(&target) {
        let at = axis(at, shape.len())?;
        if let Some(along) = shape.get_mut(at) {
            *along = length;
        }
    }
    Ok(vec![Fact::new(op.dtype(0)?, shape)])
}

pub(super) const RULES: &[(&str, Rule)] = &[
    ("CenterCropPad", center_crop_pad),
    ("DepthToSpace", depth_to_space),
    ("Expand", expand),
    ("Flatten", flatten),
    ("Reshape", reshape),
    ("SpaceToDepth", space_to_depth),
    ("Squeeze", squeeze),
    ("Tile", tile),
    ("Transpose", transpose),
    ("Unsqueeze", unsqueeze),
];
