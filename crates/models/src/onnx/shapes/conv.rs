//! Convolutions and what slides a window like them.

use super::Rule;
use crate::ElementType;
use crate::onnx::ShapeIssue;
use crate::onnx::fact::Fact;
use crate::onnx::op::{Op, Ruling, dim};

/// How a window slides along one axis.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slide {
    pub(super) kernel: i128,
    pub(super) stride: i128,
    pub(super) dilation: i128,
    pub(super) pad: i128,
    pub(super) pad_end: i128,
}

impl Slide {
    /// Elements that the window covers.
    pub(super) fn reach(&self) -> i128 {
        (self.kernel - 1) * self.dilation + 1
    }
}

/// Padding as the attribute `auto_pad` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Auto {
    Given,
    Valid,
    Same,
}

pub(super) fn auto_pad(op: &Op<'_, '_>) -> Ruling<Auto> {
    match op.word("auto_pad")?.as_deref() {
        None | Some("NOTSET" | "") => Ok(Auto::Given),
        Some("VALID") => Ok(Auto::Valid),
        Some("SAME_UPPER" | "SAME_LOWER") => Ok(Auto::Same),
        Some(word) => Err(ShapeIssue::Word { name: "auto_pad", found: word.to_owned() }),
    }
}

/// The windows of all spatial axes, from `strides`, `dilations` and `pads`.
pub(super) fn slides(op: &Op<'_, '_>, kernel: &[u64]) -> Ruling<Vec<Slide>> {
    let axes = kernel.len();
    let list = |name: &'static str, len: usize, default: i64, least: i64| {
        let list = op.ints(name)?.unwrap_or_else(|| vec![default; len]);
        if list.len() != len {
            let (left, right) = (list.len() as u64, len as u64);
            return Err(ShapeIssue::Mismatch { what: name, left, right });
        }
        // Anything larger than 32 bits is nonsense, and would need care below.
        match list.iter().find(|&&entry| entry < least || entry > i64::from(u32::MAX)) {
            Some(&found) => {
                Err(ShapeIssue::Attribute { name, found, wanted: "a small number, not negative" })
            }
            None => Ok(list),
        }
    };
    let strides = list("strides", axes, 1, 1)?;
    let dilations = list("dilations", axes, 1, 1)?;
    let auto = auto_pad(op)?;
    let pads = match auto {
        Auto::Given => list("pads", 2 * axes, 0, -i64::from(u32::MAX))?,
        _ => vec![0; 2 * axes],
    };
    let (starts, ends) = pads.split_at_checked(axes).unwrap_or((&[], &[]));
    let padded = starts.iter().zip(ends);
    let all = kernel.iter().zip(&strides).zip(&dilations).zip(padded);
    all.map(|(((&kernel, &stride), &dilation), (&pad, &pad_end))| {
        if kernel > u64::from(u32::MAX) {
            return Err(ShapeIssue::Length { what: "the kernel", value: kernel.into() });
        }
        let (kernel, stride, dilation) = (kernel.into(), stride.into(), dilation.into());
        Ok(Slide { kernel, stride, dilation, pad: pad.into(), pad_end: pad_end.into() })
    })
    .collect()
}

/// Positions of the window along an axis.
pub(super) fn positions(auto: Auto, input: u64, slide: &Slide, ceil: bool) -> Ruling<u64> {
    let input = i128::from(input);
    if auto == Auto::Same {
        return dim("an output axis", (input + slide.stride - 1).div_euclid(slide.stride));
    }
    let room = input + slide.pad + slide.pad_end - slide.reach();
    let steps = if ceil {
        let steps = (room + slide.stride - 1).div_euclid(slide.stride);
        // The last window must begin in the input or in the padding before it.
        if steps * slide.stride >= input + slide.pad { steps - 1 } else { steps }
    } else {
        room.div_euclid(slide.stride)
    };
    // An empty axis stays empty.
    dim("an output axis", if input == 0 && room < 0 { 0 } else { steps + 1 })
}

/// The kernel's spatial shape: the attribute, or the weight's axes after the first two.
fn kernel_shape(op: &Op<'_, '_>, weight: usize, spatial: usize) -> Ruling<Vec<u64>> {
    let shape = match op.ints("kernel_shape")? {
        Some(given) => crate::onnx::op::dims("kernel_shape", &given)?,
        None => op.shape(weight)?.get(2..).unwrap_or_default().to_vec(),
    };
    if shape.len() != spatial {
        let (left, right) = (shape.len() as u64, spatial as u64);
        return Err(ShapeIssue::Mismatch { what: "axes of kernel and input", left, right });
    }
    Ok(shape)
}

fn conv_shape(op: &Op<'_, '_>, weight: usize) -> Ruling<Vec<u64>> {
    let input = op.ranked(0, |rank| rank >= 3, "at least three axes")?;
    let kernel = kernel_shape(op, weight, input.len() - 2)?;
    let (channels, filters) = (op.dim(0, 1)?, op.dim(weight, 0)?);
    let group = dim("group", op.int("group", 1)?.into())?;
    let taken = op.dim(weight, 1)?.checked_mul(group);
    if taken != Some(channels) {
        let (left, right) = (channels, taken.unwrap_or(u64::MAX));
        return Err(ShapeIssue::Mismatch { what: "channels of input and weight", left, right });
    }
    let auto = auto_pad(op)?;
    let mut shape = vec![op.dim(0, 0)?, filters];
    for (&input, slide) in input.iter().skip(2).zip(&slides(op, &kernel)?) {
        shape.push(positions(auto, input, slide, false)?);
    }
    Ok(shape)
}

fn conv(op: &Op<'_, '_>) -> Ruling {
    Ok(vec![Fact::new(op.dtype(0)?, conv_shape(op, 1)?)])
}

fn conv_integer(op: &Op<'_, '_>) -> Ruling {
    Ok(vec![Fact::new(ElementType::I32, conv_shape(op, 1)?)])
}

fn qlinear_conv(op: &Op<'_, '_>) -> Ruling {
    Ok(vec![Fact::new(op.dtype(7)?, conv_shape(op, 3)?)])
}

fn conv_transpose(op: &Op<'_, '_>) -> Ruling {
    let input = op.ranked(0, |rank| rank >= 3, "at least three axes")?;
    let kernel = kernel_shape(op, 1, input.len() - 2)?;
    let group = dim("group", op.int("group", 1)?.into())?;
    let filters = i128::from(op.dim(1, 1)?) * i128::from(group);
    let mut shape = vec![op.dim(0, 0)?, dim("channels", filters)?];
    if let Some(given) = op.ints("output_shape")? {
        let spatial = given.get(given.len().saturating_sub(kernel.len())..).unwrap_or_default();
        shape.extend(crate::onnx::op::dims("output_shape", spatial)?);
        return Ok(vec![Fact::new(op.dtype(0)?, shape)]);
    }
    let auto = auto_pad(op)?;
    let extra = op.ints("output_padding")?.unwrap_or_else(|| vec![0; kernel.len()]);
    let slides = slides(op, &kernel)?;
    let spatial = input.iter().skip(2).zip(&slides).zip(&extra);
    for ((&input, slide), &extra) in spatial {
        let input = i128::from(input);
        let length = match auto {
            Auto::Same => input * slide.stride,
            _ => {
                slide.stride * (input - 1) + i128::from(extra) + slide.reach()
                    - slide.pad
                    - slide.pad_end
            }
        };
        shape.push(dim("an output axis", length)?);
    }
    Ok(vec![Fact::new(op.dtype(0)?, shape)])
}

/// The offsets say nothing of the shape.
fn deform_conv(op: &Op<'_, '_>) -> Ruling {
    conv(op)
}

/// Convolution along the last axis that keeps its length, and the inputs kept for the next call.
fn causal_conv(op: &Op<'_, '_>) -> Ruling {
    let input = op.ranked(0, |rank| rank == 3, "three axes")?;
    let kernel = op.shape(1)?.last().copied().unwrap_or(1);
    let (batch, channels) = (op.dim(0, 0)?, op.dim(0, 1)?);
    let state = vec![batch, channels, kernel.saturating_sub(1)];
    Ok(vec![Fact::new(op.dtype(0)?, input.to_vec()), Fact::new(op.dtype(0)?, state)])
}

pub(super) const RULES: &[(&str, Rule)] = &[
    ("Conv", conv),
    ("CausalConvWithState", causal_conv),
    ("ConvInteger", conv_integer),
    ("ConvTranspose", conv_transpose),
    ("DeformConv", deform_conv),
    ("QLinearConv", qlinear_conv),
    ("com.microsoft.FusedConv", conv),
];
