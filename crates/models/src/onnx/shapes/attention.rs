//! Attention as one operator, in ONNX's form and in that of com.microsoft.

use super::Rule;
use crate::onnx::ShapeIssue;
use crate::onnx::fact::Fact;
use crate::onnx::op::{Op, Ruling, dim};

fn per_head(what: &'static str, hidden: u64, heads: i64) -> Ruling<u64> {
    let heads = dim(what, heads.into())?;
    hidden.checked_div(heads).ok_or(ShapeIssue::Length { what, value: 0 })
}

/// `[batch, heads, length, width]` of an input of three or four axes.
fn heads(op: &Op<'_, '_>, index: usize, count: &'static str) -> Ruling<[u64; 4]> {
    match *op.shape(index)? {
        [batch, heads, length, width] => Ok([batch, heads, length, width]),
        [batch, length, hidden] => {
            let count = op.need_int(count)?;
            let width = per_head("heads", hidden, count)?;
            Ok([batch, dim("heads", count.into())?, length, width])
        }
        ref shape => {
            let wanted = "three or four axes";
            Err(ShapeIssue::Rank { input: index, shape: shape.to_vec(), wanted })
        }
    }
}

fn attention(op: &Op<'_, '_>) -> Ruling {
    let dtype = op.dtype(0)?;
    let [batch, q_heads, q_len, _] = heads(op, 0, "q_num_heads")?;
    let [_, kv_heads, k_len, k_width] = heads(op, 1, "kv_num_heads")?;
    let [_, _, _, v_width] = heads(op, 2, "kv_num_heads")?;
    let past = if op.optional(4).is_some() { op.dim(4, 2)? } else { 0 };
    let total = dim("the length with the past", i128::from(k_len) + i128::from(past))?;
    let output = if op.shape(0)?.len() == 3 {
        let hidden = i128::from(q_heads).saturating_mul(v_width.into());
        vec![batch, q_len, dim("hidden size", hidden)?]
    } else {
        vec![batch, q_heads, q_len, v_width]
    };
    Ok(vec![
        Fact::new(dtype, output),
        Fact::new(dtype, vec![batch, kv_heads, total, k_width]),
        Fact::new(op.dtype(2)?, vec![batch, kv_heads, total, v_width]),
        Fact::new(dtype, vec![batch, q_heads, q_len, total]),
    ])
}

/// The first input's shape, with and without its partner.
fn rotary(op: &Op<'_, '_>) -> Ruling {
    let input = op.input(0)?;
    Ok(vec![Fact::new(input.dtype, input.shape.clone())])
}

/// `com.microsoft.Attention`: one weight for query, key and value.
fn packed(op: &Op<'_, '_>) -> Ruling {
    let mut shape = op.ranked(0, |rank| rank == 3, "three axes")?.to_vec();
    let columns = op.dim(1, 1)?;
    let hidden = match op.ints("qkv_hidden_sizes")?.as_deref() {
        Some([_, _, value]) => dim("qkv_hidden_sizes", (*value).into())?,
        _ => columns / 3,
    };
    if let Some(last) = shape.last_mut() {
        *last = hidden;
    }
    // With a past the second output depends on more than shapes say here.
    Ok(vec![Fact::new(op.dtype(0)?, shape)])
}

/// `com.microsoft.MultiHeadAttention`: as wide as the value, or as the query.
fn multi_head(op: &Op<'_, '_>) -> Ruling {
    let mut shape = op.ranked(0, |rank| rank == 3, "three axes")?.to_vec();
    if let (Some(last), Some([.., hidden])) =
        (shape.last_mut(), op.optional(2).map(|value| value.shape.as_slice()))
    {
        *last = *hidden;
    }
    Ok(vec![Fact::new(op.dtype(0)?, shape)])
}

/// `com.microsoft.GroupQueryAttention`: presents have the shapes of the pasts (shared buffers).
fn group_query(op: &Op<'_, '_>) -> Ruling {
    let query = op.ranked(0, |rank| rank == 3, "three axes")?;
    let mut shape = query.to_vec();
    if op.optional(1).is_none() {
        let (heads, kv) = (op.need_int("num_heads")?, op.need_int("kv_num_heads")?);
        let all = i128::from(heads) + 2 * i128::from(kv);
        let width = i128::from(op.dim(0, 2)?).checked_div(all).unwrap_or(0);
        if let Some(last) = shape.last_mut() {
            *last = dim("hidden size", width.saturating_mul(heads.into()))?;
        }
    }
    let mut facts = vec![Fact::new(op.dtype(0)?, shape)];
    for index in [3, 4] {
        if let Some(past) = op.optional(index) {
            let mut shape = past.shape.clone();
            if let (Some(length), Ok(now)) = (shape.get_mut(2), op.dim(0, 1)) {
                *length = dim("the length with the past", i128::from(*length) + i128::from(now))?;
            }
            facts.push(Fact::new(past.dtype, shape));
        }
    }
    Ok(facts)
}

fn embed_layer_norm(op: &Op<'_, '_>) -> Ruling {
    let (batch, length) = (op.dim(0, 0)?, op.dim(0, 1)?);
    let table = op.input(2)?;
    let hidden = op.dim(2, 1)?;
    let output = Fact::new(table.dtype, vec![batch, length, hidden]);
    let mask = Fact::new(crate::ElementType::I32, vec![batch]);
    Ok(vec![output.clone(), mask, output])
}

pub(super) const RULES: &[(&str, Rule)] = &[
    ("Attention", attention),
    ("RotaryEmbedding", rotary),
    ("com.microsoft.Attention", packed),
    ("com.microsoft.EmbedLayerNormalization", embed_layer_norm),
    ("com.microsoft.GroupQueryAttention", group_query),
    ("com.microsoft.MultiHeadAttention", multi_head),
];
