//! Losses, optimisers, text, sequences and tables of classical machine learning.

use super::Rule;
use crate::ElementType;
use crate::onnx::ShapeIssue;
use crate::onnx::fact::Fact;
use crate::onnx::op::{Op, Ruling, broadcast, dim};

fn loss_shape(op: &Op<'_, '_>) -> Ruling<Vec<u64>> {
    match op.word("reduction")?.as_deref() {
        Some("none") => Ok(op.shape(1)?.to_vec()),
        _ => Ok(Vec::new()),
    }
}

fn loss(op: &Op<'_, '_>) -> Ruling {
    let input = op.input(0)?;
    let scores = Fact::new(input.dtype, input.shape.clone());
    Ok(vec![Fact::new(input.dtype, loss_shape(op)?), scores])
}

/// Rate and count first, then groups of tensors: parameters, gradients, states. Outputs are the
/// parameters and the states.
fn optimiser(op: &Op<'_, '_>, groups: usize) -> Ruling {
    let each = op.inputs.len().saturating_sub(2) / groups;
    let mut facts = Vec::new();
    for group in (0..groups).filter(|&group| group != 1) {
        for index in 0..each {
            let fact = op.input(2 + group * each + index)?;
            facts.push(Fact::new(fact.dtype, fact.shape.clone()));
        }
    }
    Ok(facts)
}

fn three_groups(op: &Op<'_, '_>) -> Ruling {
    optimiser(op, 3)
}

fn four_groups(op: &Op<'_, '_>) -> Ruling {
    optimiser(op, 4)
}

fn text_join(op: &Op<'_, '_>) -> Ruling {
    Ok(vec![Fact::new(ElementType::Text, broadcast(op.shape(0)?, op.shape(1)?)?)])
}

fn text_match(op: &Op<'_, '_>) -> Ruling {
    Ok(vec![Fact::new(ElementType::Bool, op.shape(0)?.to_vec())])
}

/// How many words there are is known only in a run; text takes no planned bytes.
fn text_split(op: &Op<'_, '_>) -> Ruling {
    let mut words = op.shape(0)?.to_vec();
    words.push(0);
    let count = Fact::new(ElementType::I64, op.shape(0)?.to_vec());
    Ok(vec![Fact::new(ElementType::Text, words), count])
}

fn text_normal(op: &Op<'_, '_>) -> Ruling {
    Ok(vec![Fact::new(ElementType::Text, op.shape(0)?.to_vec())])
}

fn tf_idf(op: &Op<'_, '_>) -> Ruling {
    let name = "ngram_indexes";
    let indexes = op.ints(name)?.ok_or(ShapeIssue::MissingAttribute { name })?;
    let most = indexes.iter().max().copied().unwrap_or(-1);
    let mut shape = op.shape(0)?.to_vec();
    shape.pop();
    shape.push(dim(name, i128::from(most) + 1)?);
    Ok(vec![Fact::new(ElementType::F32, shape)])
}

fn opaque(op: &Op<'_, '_>) -> Ruling {
    let _ = op;
    Ok(vec![Fact::new(ElementType::Opaque, Vec::new())])
}

fn sequence_length(op: &Op<'_, '_>) -> Ruling {
    op.input(0)?;
    Ok(vec![Fact::new(ElementType::I64, Vec::new())])
}

fn has_element(op: &Op<'_, '_>) -> Ruling {
    let _ = op;
    Ok(vec![Fact::new(ElementType::Bool, Vec::new())])
}

fn get_element(op: &Op<'_, '_>) -> Ruling {
    let input = op.input(0)?;
    if input.dtype == ElementType::Opaque {
        return Err(ShapeIssue::Unknown { what: "what is in the optional" });
    }
    Ok(vec![Fact::new(input.dtype, input.shape.clone())])
}

fn label_encoder(op: &Op<'_, '_>) -> Ruling {
    const VALUES: [(&str, ElementType); 3] = [
        ("values_int64s", ElementType::I64),
        ("values_strings", ElementType::Text),
        ("values_floats", ElementType::F32),
    ];
    let shape = op.shape(0)?.to_vec();
    let found = VALUES.into_iter().find(|&(name, _)| op.has(name)).map(|(_, dtype)| dtype);
    let dtype = match (found, op.tensor("values_tensor")?) {
        (Some(dtype), _) => dtype,
        (None, Some(tensor)) => tensor.dtype,
        (None, None) => return Err(ShapeIssue::MissingAttribute { name: "values_tensor" }),
    };
    Ok(vec![Fact::new(dtype, shape)])
}

fn tree_ensemble(op: &Op<'_, '_>) -> Ruling {
    let targets = dim("n_targets", op.int("n_targets", 1)?.into())?;
    Ok(vec![Fact::new(op.dtype(0)?, vec![op.dim(0, 0)?, targets])])
}

pub(super) const RULES: &[(&str, Rule)] = &[
    ("NegativeLogLikelihoodLoss", loss),
    ("Optional", opaque),
    ("OptionalGetElement", get_element),
    ("OptionalHasElement", has_element),
    ("RegexFullMatch", text_match),
    ("SequenceConstruct", opaque),
    ("SequenceEmpty", opaque),
    ("SequenceErase", opaque),
    ("SequenceInsert", opaque),
    ("SequenceLength", sequence_length),
    ("SequenceMap", opaque),
    ("SoftmaxCrossEntropyLoss", loss),
    ("SplitToSequence", opaque),
    ("StringConcat", text_join),
    ("StringNormalizer", text_normal),
    ("StringSplit", text_split),
    ("TfIdfVectorizer", tf_idf),
    ("ai.onnx.ml.LabelEncoder", label_encoder),
    ("ai.onnx.ml.TreeEnsemble", tree_ensemble),
    ("ai.onnx.preview.training.Adagrad", three_groups),
    ("ai.onnx.preview.training.Adam", four_groups),
    ("ai.onnx.preview.training.Momentum", three_groups),
];
