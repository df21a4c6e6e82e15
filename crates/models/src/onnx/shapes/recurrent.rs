//! LSTM, GRU and the plain recurrent layer.

use super::Rule;
use crate::onnx::ShapeIssue;
use crate::onnx::fact::Fact;
use crate::onnx::op::{Op, Ruling, dim};

fn directions(op: &Op<'_, '_>) -> Ruling<u64> {
    match op.word("direction")?.as_deref() {
        None | Some("" | "forward" | "reverse") => Ok(1),
        Some("bidirectional") => Ok(2),
        Some(word) => Err(ShapeIssue::Word { name: "direction", found: word.to_owned() }),
    }
}

fn recurrent(op: &Op<'_, '_>) -> Ruling {
    op.ranked(0, |rank| rank == 3, "three axes")?;
    let directions = directions(op)?;
    let hidden = match op.maybe_int("hidden_size")? {
        Some(hidden) => dim("hidden_size", hidden.into())?,
        // The recurrence weight is [directions, gates * hidden, hidden].
        None => op.dim(2, 2)?,
    };
    let dtype = op.dtype(0)?;
    let (all, last) = if op.flag("layout")? {
        let (batch, steps) = (op.dim(0, 0)?, op.dim(0, 1)?);
        (vec![batch, steps, directions, hidden], vec![batch, directions, hidden])
    } else {
        let (steps, batch) = (op.dim(0, 0)?, op.dim(0, 1)?);
        (vec![steps, directions, batch, hidden], vec![directions, batch, hidden])
    };
    Ok(vec![Fact::new(dtype, all), Fact::new(dtype, last.clone()), Fact::new(dtype, last)])
}

pub(super) const RULES: &[(&str, Rule)] = &[
    ("GRU", recurrent),
    ("LSTM", recurrent),
    ("RNN", recurrent),
    ("com.microsoft.DynamicQuantizeLSTM", recurrent),
];
