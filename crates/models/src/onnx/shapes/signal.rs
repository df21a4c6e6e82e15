//! Fourier transforms and spectrograms.

use super::Rule;
use crate::ElementType;
use crate::onnx::ShapeIssue;
use crate::onnx::fact::Fact;
use crate::onnx::op::{Op, Ruling, axis, dim};

fn dft(op: &Op<'_, '_>) -> Ruling {
    let mut shape = op.ranked(0, |rank| rank >= 2, "at least two axes")?.to_vec();
    // The axis was an attribute before version 20, and counted from the batch.
    let given = match op.optional(2) {
        Some(_) => op.value(2)?,
        None => op.int("axis", if op.version < 20 { 1 } else { -2 })?,
    };
    let at = axis(given, shape.len())?;
    let length = match op.optional(1) {
        Some(_) => Some(dim("dft_length", op.value(1)?.into())?),
        None => None,
    };
    let (onesided, inverse) = (op.flag("onesided")?, op.flag("inverse")?);
    if let Some(along) = shape.get_mut(at) {
        let whole = length.unwrap_or(*along);
        *along = match (onesided, inverse) {
            (true, false) => whole / 2 + 1,
            (true, true) if length.is_none() => whole.saturating_sub(1).saturating_mul(2),
            _ => whole,
        };
    }
    if let Some(last) = shape.last_mut() {
        *last = if onesided && inverse { 1 } else { 2 };
    }
    Ok(vec![Fact::new(op.dtype(0)?, shape)])
}

fn stft(op: &Op<'_, '_>) -> Ruling {
    let (batch, length) = (op.dim(0, 0)?, op.dim(0, 1)?);
    let step = dim("frame_step", op.value(1)?.into())?;
    let frame = match (op.optional(3), op.optional(2)) {
        (Some(_), _) => dim("frame_length", op.value(3)?.into())?,
        (None, Some(_)) => op.dim(2, 0)?,
        (None, None) => return Err(ShapeIssue::MissingInput { input: 3 }),
    };
    let room = length.checked_sub(frame).and_then(|room| room.checked_div(step));
    let issue = ShapeIssue::Mismatch { what: "signal and frame", left: length, right: frame };
    let frames = room.ok_or(issue)?.saturating_add(1);
    let bins = if op.int("onesided", 1)? != 0 { frame / 2 + 1 } else { frame };
    Ok(vec![Fact::new(op.dtype(0)?, vec![batch, frames, bins, 2])])
}

fn mel_weights(op: &Op<'_, '_>) -> Ruling {
    let dtype = op.element_type("output_datatype")?.unwrap_or(ElementType::F32);
    let (bins, length) =
        (dim("mel bins", op.value(0)?.into())?, dim("dft_length", op.value(1)?.into())?);
    Ok(vec![Fact::new(dtype, vec![length / 2 + 1, bins])])
}

pub(super) const RULES: &[(&str, Rule)] =
    &[("DFT", dft), ("MelWeightMatrix", mel_weights), ("STFT", stft)];
