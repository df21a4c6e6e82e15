//! Boxes and regions of images.

use super::Rule;
use crate::ElementType;
use crate::onnx::fact::Fact;
use crate::onnx::op::{Op, Ruling, dim, dims};

/// At most so many boxes of each class in each image.
fn non_max_suppression(op: &Op<'_, '_>) -> Ruling {
    let (batches, boxes, classes) = (op.dim(0, 0)?, op.dim(0, 1)?, op.dim(1, 1)?);
    let each = match op.optional(2).map(Fact::as_ints) {
        // Left out, it is 0: no output at all.
        None => 0,
        Some(Some([most, ..])) => dim("max_output_boxes_per_class", (*most).into())?.min(boxes),
        Some(_) => boxes,
    };
    let most = i128::from(batches).saturating_mul(classes.into());
    let selected = most.checked_mul(each.into()).unwrap_or(i128::MAX);
    Ok(vec![Fact::new(ElementType::I64, vec![dim("selected boxes", selected)?, 3])])
}

fn roi_align(op: &Op<'_, '_>) -> Ruling {
    let side = |name| dim(name, op.int(name, 1)?.into());
    let shape = vec![op.dim(1, 0)?, op.dim(0, 1)?, side("output_height")?, side("output_width")?];
    Ok(vec![Fact::new(op.dtype(0)?, shape)])
}

fn col2im(op: &Op<'_, '_>) -> Ruling {
    let (image, block) = (dims("image_shape", op.values(1)?)?, op.values(2)?);
    let block: i128 =
        block.iter().fold(1i128, |product, &side| product.saturating_mul(side.into())).max(1);
    let channels = i128::from(op.dim(0, 1)?) / block;
    let mut shape = vec![op.dim(0, 0)?, dim("channels", channels)?];
    shape.extend(image);
    Ok(vec![Fact::new(op.dtype(0)?, shape)])
}

pub(super) const RULES: &[(&str, Rule)] =
    &[("Col2Im", col2im), ("NonMaxSuppression", non_max_suppression), ("RoiAlign", roi_align)];
