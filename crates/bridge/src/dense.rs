//! Descriptions of frames as they travel: without gaps, and without a memory.

use tenure_layout::{ImageLayout, Layout};
use tenure_stream::Spec;
use tenure_tensor::wire::{Description, ImageDescription};

use crate::Result;

/// What a frame looks like when its elements lie together, and how many bytes they are.
///
/// Pictures stay pictures; several of them in one tensor become its elements.
pub(crate) fn dense(description: &Description) -> Result<(Description, usize)> {
    let Description { dtype, shape, image, colour, quantization, .. } = description;
    let single = match image {
        Some(ImageDescription { format, width, height, .. }) => {
            let image = ImageLayout::new(*width, *height, *format, *dtype, None)
                .map_err(tenure_tensor::Error::from)?;
            let layout = image.tensor_layout().map_err(tenure_tensor::Error::from)?;
            (layout.rank() >= shape.len()).then_some((image, layout))
        }
        None => None,
    };
    let (layout, image, bytes) = match single {
        Some((image, layout)) => {
            let planes =
                image.planes().iter().map(|plane| (0, plane.offset, plane.row_stride)).collect();
            let bytes = image.packed_bytes();
            let (format, width, height) = (image.format(), image.width(), image.height());
            (layout, Some(ImageDescription { format, width, height, planes }), bytes)
        }
        None => {
            let layout = Layout::contiguous(*dtype, shape).map_err(tenure_tensor::Error::from)?;
            let bytes = layout.span().end;
            (layout, None, bytes)
        }
    };
    let dense = Description {
        dtype: *dtype,
        shape: layout.shape().to_vec(),
        strides: layout.strides().to_vec(),
        offset: layout.offset(),
        read_only: true,
        image,
        colour: *colour,
        quantization: quantization.clone(),
        name: None,
    };
    Ok((dense, bytes))
}

/// The slots that frames of a dense description need.
pub(crate) fn spec(description: &Description) -> Result<Spec> {
    let Description { dtype, shape, image, colour, quantization, .. } = description;
    let mut spec = match image {
        Some(image) => Spec::image_of(image.width, image.height, image.format, *dtype, None)?,
        None => Spec::tensor(*dtype, shape)?,
    };
    if let Some(colour) = colour {
        spec = spec.with_colour(*colour);
    }
    if let Some(quantization) = quantization {
        quantization.check_shape(shape).map_err(tenure_tensor::Error::from)?;
        spec = spec.with_quantization(quantization.clone());
    }
    Ok(spec)
}
