//! Operators whose output has the shape of an input, or of all inputs broadcast together.

use super::Rule;
use crate::ElementType;
use crate::onnx::fact::Fact;
use crate::onnx::op::{Op, Ruling, broadcast};

/// Type and shape of the first input.
fn same(op: &Op<'_, '_>) -> Ruling {
    let input = op.input(0)?;
    Ok(vec![Fact::new(input.dtype, input.shape.clone())])
}

/// Shape of the first input; a truth value per element.
fn test(op: &Op<'_, '_>) -> Ruling {
    Ok(vec![Fact::new(ElementType::Bool, op.shape(0)?.to_vec())])
}

/// Shape of the first input; single precision.
fn to_f32(op: &Op<'_, '_>) -> Ruling {
    Ok(vec![Fact::new(ElementType::F32, op.shape(0)?.to_vec())])
}

fn together(op: &Op<'_, '_>) -> Ruling<Vec<u64>> {
    let mut shape = op.shape(0)?.to_vec();
    // Before version 7 only the second input was stretched, along an axis that it named.
    if op.version < 7 && op.node.domain.is_empty() && op.has("broadcast") {
        return Ok(shape);
    }
    for index in 1..op.inputs.len() {
        shape = broadcast(&shape, op.shape(index)?)?;
    }
    Ok(shape)
}

fn stretched(op: &Op<'_, '_>) -> Ruling {
    Ok(vec![Fact::new(op.dtype(0)?, together(op)?)])
}

fn compared(op: &Op<'_, '_>) -> Ruling {
    Ok(vec![Fact::new(ElementType::Bool, together(op)?)])
}

fn chosen(op: &Op<'_, '_>) -> Ruling {
    Ok(vec![Fact::new(op.dtype(1)?, together(op)?)])
}

fn cast(op: &Op<'_, '_>) -> Ruling {
    let dtype = op.element_type("to")?;
    let dtype = dtype.ok_or(crate::onnx::ShapeIssue::MissingAttribute { name: "to" })?;
    Ok(vec![Fact::new(dtype, op.shape(0)?.to_vec())])
}

fn cast_like(op: &Op<'_, '_>) -> Ruling {
    Ok(vec![Fact::new(op.dtype(1)?, op.shape(0)?.to_vec())])
}

/// Like `Cast`, but of the bits: the last axis grows or shrinks with the width.
fn bitcast(op: &Op<'_, '_>) -> Ruling {
    cast(op)
}

fn like_with_dtype(op: &Op<'_, '_>) -> Ruling {
    let dtype = op.element_type("dtype")?.unwrap_or(op.dtype(0)?);
    Ok(vec![Fact::new(dtype, op.shape(0)?.to_vec())])
}

fn dropout(op: &Op<'_, '_>) -> Ruling {
    let input = op.input(0)?;
    // The mask had the type of the data before version 10.
    let mask = if op.version < 10 { input.dtype } else { ElementType::Bool };
    Ok(vec![Fact::new(input.dtype, input.shape.clone()), Fact::new(mask, input.shape.clone())])
}

fn batch_norm(op: &Op<'_, '_>) -> Ruling {
    let input = op.ranked(0, |rank| rank >= 1, "at least one axis")?;
    let mut facts = vec![Fact::new(op.dtype(0)?, input.to_vec())];
    // Mean and variance, running and (in old versions) saved.
    for index in [3, 4, 3, 4] {
        let statistic = op.input(index)?;
        facts.push(Fact::new(statistic.dtype, statistic.shape.clone()));
    }
    Ok(facts)
}

/// Normalised over the last axes, from `axis` on; mean and deviation keep the axes before.
fn layer_norm(op: &Op<'_, '_>) -> Ruling {
    let input = op.input(0)?;
    let axis = crate::onnx::op::axis(op.int("axis", -1)?, input.rank())?;
    let reduced = input.shape.iter().enumerate();
    let reduced: Vec<u64> =
        reduced.map(|(index, &dim)| if index < axis { dim } else { 1 }).collect();
    let stash = op.element_type("stash_type")?.unwrap_or(ElementType::F32);
    let output = Fact::new(input.dtype, input.shape.clone());
    let statistic = Fact::new(stash, reduced);
    Ok(vec![output.clone(), statistic.clone(), statistic, output])
}

/// `com.microsoft`: input and skip are added first; the sum is the fourth output.
fn skip_layer_norm(op: &Op<'_, '_>) -> Ruling {
    layer_norm(op)
}

pub(super) const RULES: &[(&str, Rule)] = &[
    ("Abs", same),
    ("Acos", same),
    ("Acosh", same),
    ("Asin", same),
    ("Asinh", same),
    ("Atan", same),
    ("Atanh", same),
    ("BitwiseNot", same),
    ("Ceil", same),
    ("Celu", same),
    ("Clip", same),
    ("Cos", same),
    ("Cosh", same),
    ("CumProd", same),
    ("CumSum", same),
    ("Elu", same),
    ("Erf", same),
    ("Exp", same),
    ("Floor", same),
    ("Gelu", same),
    ("GroupNormalization", same),
    ("HardSigmoid", same),
    ("HardSwish", same),
    ("Hardmax", same),
    ("Identity", same),
    ("InstanceNormalization", same),
    ("LRN", same),
    ("LeakyRelu", same),
    ("Log", same),
    ("LogSoftmax", same),
    ("LpNormalization", same),
    ("MeanVarianceNormalization", same),
    ("Mish", same),
    ("Neg", same),
    ("Not", same),
    ("PRelu", same),
    ("Reciprocal", same),
    ("Relu", same),
    ("ReverseSequence", same),
    ("Round", same),
    ("Selu", same),
    ("Shrink", same),
    ("Sigmoid", same),
    ("Sign", same),
    ("Sin", same),
    ("Sinh", same),
    ("Softmax", same),
    ("Softplus", same),
    ("Softsign", same),
    ("Sqrt", same),
    ("Swish", same),
    ("Tan", same),
    ("Tanh", same),
    ("ThresholdedRelu", same),
    ("Trilu", same),
    ("Add", stretched),
    ("BitShift", stretched),
    ("BitwiseAnd", stretched),
    ("BitwiseOr", stretched),
    ("BitwiseXor", stretched),
    ("Div", stretched),
    ("Max", stretched),
    ("Mean", stretched),
    ("Min", stretched),
    ("Mod", stretched),
    ("Mul", stretched),
    ("Pow", stretched),
    ("Sub", stretched),
    ("Sum", stretched),
    ("And", compared),
    ("Equal", compared),
    ("Greater", compared),
    ("GreaterOrEqual", compared),
    ("Less", compared),
    ("LessOrEqual", compared),
    ("Or", compared),
    ("Xor", compared),
    ("IsInf", test),
    ("IsNaN", test),
    ("Where", chosen),
    ("BitCast", bitcast),
    ("Cast", cast),
    ("CastLike", cast_like),
    ("Bernoulli", like_with_dtype),
    ("EyeLike", like_with_dtype),
    ("RandomNormalLike", like_with_dtype),
    ("RandomUniformLike", like_with_dtype),
    ("BatchNormalization", batch_norm),
    ("Dropout", dropout),
    ("LayerNormalization", layer_norm),
    ("RMSNormalization", layer_norm),
    ("SimplifiedLayerNormalization", layer_norm),
    ("ai.onnx.ml.Binarizer", same),
    ("ai.onnx.ml.Imputer", same),
    ("ai.onnx.ml.Normalizer", to_f32),
    ("ai.onnx.ml.Scaler", to_f32),
    ("com.microsoft.BiasGelu", same),
    ("com.microsoft.BiasAdd", same),
    ("com.microsoft.BiasSoftmax", same),
    ("com.microsoft.FastGelu", same),
    ("com.microsoft.GroupNorm", same),
    ("com.microsoft.QuickGelu", same),
    ("com.microsoft.RotaryEmbedding", same),
    ("com.microsoft.SkipLayerNormalization", skip_layer_norm),
    ("com.microsoft.SkipSimplifiedLayerNormalization", skip_layer_norm),
];
