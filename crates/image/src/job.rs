//! One conversion, resolved and checked: what every engine is given.

use tenure_layout::{Colour, ColourRange, DType, ImageLayout, PixelFormat};
use tenure_tensor::{ElementKind, Tensor, TensorDyn};

use crate::colour::Model;
use crate::convert::{Convert, Filter, Siting};
use crate::geometry::Geometry;
use crate::import::no_shared_bytes;
use crate::normalize::Affine;
use crate::{Error, Result};

const SOURCES: &str = "u8 images of every format and u16 of p010 can";
const TARGETS: &str = "rgb, bgr, rgba, bgra, grey, planar-rgb, planar-rgba and (of u8) nv12 can";

/// A source, a destination, and everything between them.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) source: TensorDyn,
    pub(crate) target: TensorDyn,
    pub(crate) recipe: Recipe,
}

/// Everything about a conversion but where the bytes are: equal recipes do equal work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Recipe {
    pub(crate) source: Kind,
    pub(crate) target: Kind,
    pub(crate) geometry: Geometry,
    pub(crate) filter: Filter,
    pub(crate) siting: Siting,
    pub(crate) target_siting: Siting,
    pub(crate) affine: Affine,
}

/// What one side of a conversion is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Kind {
    pub(crate) format: PixelFormat,
    pub(crate) dtype: DType,
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) model: Model,
}

impl Job {
    pub(crate) fn new<S: ElementKind, D: ElementKind>(
        source: &Tensor<S>,
        target: &Tensor<D>,
        convert: &Convert,
    ) -> Result<Job> {
        let from = image_of("source", source)?;
        let to = image_of("destination", target)?;
        let readable = match from.format() {
            PixelFormat::P010 => from.dtype() == DType::U16,
            _ => from.dtype() == DType::U8,
        };
        if !readable {
            return Err(format_error("source", from, SOURCES));
        }
        let writable = match to.format() {
            PixelFormat::Nv12 => to.dtype() == DType::U8,
            format => !format.is_yuv(),
        };
        if !writable {
            return Err(format_error("destination", to, TARGETS));
        }
        if !target.is_multi_buffer() {
            // Whoever writes one would write the other.
            no_shared_bytes(to)?;
        }
        let sizes = ((from.width(), from.height()), (to.width(), to.height()));
        let geometry = Geometry::new(sizes.0, sizes.1, to.format(), convert)?;
        let colour = convert.colour.or(source.colour());
        // Whoever reads the destination goes by what it carries itself.
        let target_colour = target.colour();
        colour_is_heard(convert, (from.format(), to.format()), target_colour)?;
        let recipe = Recipe {
            source: Kind::of(from, colour),
            target: Kind::of(to, target_colour),
            geometry,
            filter: convert.filter,
            siting: convert.siting.unwrap_or(usual_siting(colour)),
            target_siting: usual_siting(target_colour),
            affine: convert.normalize.affine(to.dtype(), target.quantization())?,
        };
        Ok(Job { source: source.to_dyn(), target: target.to_dyn(), recipe })
    }
}

impl Kind {
    fn of(image: &ImageLayout, colour: Option<Colour>) -> Kind {
        Kind {
            format: image.format(),
            dtype: image.dtype(),
            width: image.width(),
            height: image.height(),
            model: Model::of(image.format(), colour),
        }
    }
}

/// Checks that a colour given for a source that has none is not one that the destination lacks.
fn colour_is_heard(
    convert: &Convert,
    (from, to): (PixelFormat, PixelFormat),
    target: Option<Colour>,
) -> Result<()> {
    let luma = |format: PixelFormat| format.is_yuv() || format == PixelFormat::Grey;
    let written = target.unwrap_or(Colour::JPEG);
    match convert.colour {
        Some(colour) if !luma(from) && luma(to) && colour != written => {
            Err(Error::ColourOfRgb { colour, source_format: from, destination: to, written })
        }
        _ => Ok(()),
    }
}

fn usual_siting(colour: Option<Colour>) -> Siting {
    match colour.unwrap_or(Colour::JPEG).range {
        ColourRange::Full => Siting::Centre,
        ColourRange::Limited => Siting::Left,
    }
}

fn image_of<'a, E: ElementKind>(
    role: &'static str,
    tensor: &'a Tensor<E>,
) -> Result<&'a ImageLayout> {
    let shape = || tensor.shape().to_vec();
    let image = tensor
        .image_layout()
        .ok_or_else(|| Error::from(crate::detail::NotAnImage { role, shape: shape() }))?;
    if tensor.rank() > image.tensor_layout()?.rank() {
        return Err(tenure_tensor::Error::from(tenure_tensor::detail::Batched {
            tensor: tensor.name().into(),
            shape: tensor.shape().into(),
        })
        .into());
    }
    Ok(image)
}

fn format_error(role: &'static str, image: &ImageLayout, known: &'static str) -> Error {
    Error::from(crate::detail::Format { role, format: image.format(), dtype: image.dtype(), known })
}
