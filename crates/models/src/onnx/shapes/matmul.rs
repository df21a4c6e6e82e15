//! Matrix products.

use super::Rule;
use crate::ElementType;
use crate::onnx::ShapeIssue;
use crate::onnx::fact::Fact;
use crate::onnx::op::{Op, Ruling, broadcast, dim};

/// NumPy's rule: vectors get an axis and lose it again, axes before the last two broadcast.
pub(super) fn product_shape(left: &[u64], right: &[u64]) -> Ruling<Vec<u64>> {
    let rank = |input, shape: &[u64]| ShapeIssue::Rank {
        input,
        shape: shape.to_vec(),
        wanted: "at least one axis",
    };
    let (left_vector, right_vector) = (left.len() == 1, right.len() == 1);
    let (left_batch, rows, inner) = match left {
        [] => return Err(rank(0, left)),
        [inner] => (&[][..], 1, *inner),
        [batch @ .., rows, inner] => (batch, *rows, *inner),
    };
    let (right_batch, other, columns) = match right {
        [] => return Err(rank(1, right)),
        [inner] => (&[][..], *inner, 1),
        [batch @ .., inner, columns] => (batch, *inner, *columns),
    };
    if inner != other {
        return Err(ShapeIssue::Mismatch { what: "inner axes", left: inner, right: other });
    }
    let mut shape = broadcast(left_batch, right_batch)?;
    if !left_vector {
        shape.push(rows);
    }
    if !right_vector {
        shape.push(columns);
    }
    Ok(shape)
}

fn matmul(op: &Op<'_, '_>) -> Ruling {
    Ok(vec![Fact::new(op.dtype(0)?, product_shape(op.shape(0)?, op.shape(1)?)?)])
}

fn matmul_integer(op: &Op<'_, '_>) -> Ruling {
    Ok(vec![Fact::new(ElementType::I32, product_shape(op.shape(0)?, op.shape(1)?)?)])
}

fn matmul_to_float(op: &Op<'_, '_>) -> Ruling {
    Ok(vec![Fact::new(ElementType::F32, product_shape(op.shape(0)?, op.shape(1)?)?)])
}

fn qlinear_matmul(op: &Op<'_, '_>) -> Ruling {
    Ok(vec![Fact::new(op.dtype(7)?, product_shape(op.shape(0)?, op.shape(3)?)?)])
}

fn gemm_shape(op: &Op<'_, '_>, right: usize) -> Ruling<Vec<u64>> {
    let matrix = |input: usize, flag| -> Ruling<(u64, u64)> {
        op.ranked(input, |rank| rank == 2, "two axes")?;
        let (rows, columns) = (op.dim(input, 0)?, op.dim(input, 1)?);
        Ok(if op.flag(flag)? { (columns, rows) } else { (rows, columns) })
    };
    let (rows, inner) = matrix(0, "transA")?;
    let (other, columns) = matrix(right, "transB")?;
    if inner != other {
        return Err(ShapeIssue::Mismatch { what: "inner axes", left: inner, right: other });
    }
    Ok(vec![rows, columns])
}

fn gemm(op: &Op<'_, '_>) -> Ruling {
    Ok(vec![Fact::new(op.dtype(0)?, gemm_shape(op, 1)?)])
}

fn qgemm(op: &Op<'_, '_>) -> Ruling {
    let dtype = op.optional(8).map_or(ElementType::F32, |zero| zero.dtype);
    Ok(vec![Fact::new(dtype, gemm_shape(op, 3)?)])
}

fn fused_matmul(op: &Op<'_, '_>) -> Ruling {
    if op.flag("transBatchA")? || op.flag("transBatchB")? {
        return Err(ShapeIssue::Unknown { what: "transposed batches" });
    }
    let side = |index: usize, flag| -> Ruling<Vec<u64>> {
        let mut shape = op.shape(index)?.to_vec();
        if let (true, [.., rows, columns]) = (op.flag(flag)?, shape.as_mut_slice()) {
            std::mem::swap(rows, columns);
        }
        Ok(shape)
    };
    let shape = product_shape(&side(0, "transA")?, &side(1, "transB")?)?;
    Ok(vec![Fact::new(op.dtype(0)?, shape)])
}

/// `com.microsoft`: the weight is packed in blocks, its true shape is in attributes.
fn matmul_nbits(op: &Op<'_, '_>) -> Ruling {
    let mut shape = op.ranked(0, |rank| rank >= 1, "at least one axis")?.to_vec();
    let columns = dim("N", op.need_int("N")?.into())?;
    if let Some(last) = shape.last_mut() {
        *last = columns;
    }
    Ok(vec![Fact::new(op.dtype(0)?, shape)])
}

pub(super) const RULES: &[(&str, Rule)] = &[
    ("Gemm", gemm),
    ("MatMul", matmul),
    ("MatMulInteger", matmul_integer),
    ("QLinearMatMul", qlinear_matmul),
    ("com.microsoft.DynamicQuantizeMatMul", matmul_to_float),
    ("com.microsoft.FusedGemm", gemm),
    ("com.microsoft.FusedMatMul", fused_matmul),
    ("com.microsoft.MatMulIntegerToFloat", matmul_to_float),
    ("com.microsoft.MatMulNBits", matmul_nbits),
    ("com.microsoft.QGemm", qgemm),
    ("com.microsoft.TransposeMatMul", fused_matmul),
];
