//! From real numbers to integers and back.

use super::Rule;
use crate::ElementType;
use crate::onnx::fact::Fact;
use crate::onnx::op::{Op, Ruling, broadcast};

fn quantize(op: &Op<'_, '_>) -> Ruling {
    let dtype = match (op.optional(2), op.element_type_or_none("output_dtype")?) {
        (Some(zero), _) => zero.dtype,
        (None, Some(dtype)) => dtype,
        (None, None) => ElementType::U8,
    };
    Ok(vec![Fact::new(dtype, op.shape(0)?.to_vec())])
}

fn dequantize(op: &Op<'_, '_>) -> Ruling {
    let dtype = op.element_type_or_none("output_dtype")?.unwrap_or(op.dtype(1)?);
    Ok(vec![Fact::new(dtype, op.shape(0)?.to_vec())])
}

fn dynamic_quantize(op: &Op<'_, '_>) -> Ruling {
    Ok(vec![
        Fact::new(ElementType::U8, op.shape(0)?.to_vec()),
        Fact::new(ElementType::F32, Vec::new()),
        Fact::new(ElementType::U8, Vec::new()),
    ])
}

/// `com.microsoft`: value, scale and zero point of the left, then of the right.
fn qlinear_binary(op: &Op<'_, '_>) -> Ruling {
    Ok(vec![Fact::new(op.dtype(0)?, broadcast(op.shape(0)?, op.shape(3)?)?)])
}

fn qlinear_unary(op: &Op<'_, '_>) -> Ruling {
    Ok(vec![Fact::new(op.dtype(0)?, op.shape(0)?.to_vec())])
}

/// `com.microsoft`: scale and zero point of the output, then three inputs per tensor.
fn qlinear_concat(op: &Op<'_, '_>) -> Ruling {
    let parts: Vec<&[u64]> =
        (2..op.inputs.len()).step_by(3).map(|index| op.shape(index)).collect::<Ruling<_>>()?;
    let shape = super::parts::joined(&parts, op.need_int("axis")?)?;
    Ok(vec![Fact::new(op.dtype(2)?, shape)])
}

pub(super) const RULES: &[(&str, Rule)] = &[
    ("DequantizeLinear", dequantize),
    ("DynamicQuantizeLinear", dynamic_quantize),
    ("QuantizeLinear", quantize),
    ("com.microsoft.QLinearAdd", qlinear_binary),
    ("com.microsoft.QLinearConcat", qlinear_concat),
    ("com.microsoft.QLinearLeakyRelu", qlinear_unary),
    ("com.microsoft.QLinearMul", qlinear_binary),
    ("com.microsoft.QLinearSigmoid", qlinear_unary),
    ("com.microsoft.QLinearSoftmax", qlinear_unary),
];
