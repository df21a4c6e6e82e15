//! A line of the index, as it is written.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_layout::{Colour, ColourMatrix, ColourRange, Quantization, ZeroPoints};

use crate::{Frame, Spec};

/// Where a frame is, and what it was. Fields are added, never renamed or removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) sequence: u64,
    /// Nanoseconds of the clock `CLOCK_MONOTONIC`.
    pub(super) taken: Option<u64>,
    pub(super) published: u64,
    /// Bytes of `frames.bin`: the elements without gaps, planes one after the other.
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) dtype: String,
    pub(super) shape: Vec<usize>,
    pub(super) image: Option<Image>,
    pub(super) quantization: Option<Scales>,
    /// The producer's own bytes.
    pub(super) blob: Vec<u8>,
}

/// What makes a tensor a picture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Image {
    format: String,
    width: usize,
    height: usize,
    matrix: Option<String>,
    range: Option<String>,
}

/// A quantisation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Scales {
    scales: Vec<f32>,
    zero_points: Vec<i32>,
    axis: Option<usize>,
}

const MATRICES: [(ColourMatrix, &str); 3] = [
    (ColourMatrix::Bt601, "bt601"),
    (ColourMatrix::Bt709, "bt709"),
    (ColourMatrix::Bt2020, "bt2020"),
];
const RANGES: [(ColourRange, &str); 2] =
    [(ColourRange::Limited, "limited"), (ColourRange::Full, "full")];

fn word<T: PartialEq>(table: &[(T, &'static str)], value: &T) -> Option<String> {
    table.iter().find(|(known, _)| known == value).map(|(_, word)| (*word).to_owned())
}

fn value<T: Copy>(table: &[(T, &'static str)], word: &str) -> Result<T, String> {
    let found = table.iter().find(|(_, known)| *known == word).map(|(value, _)| *value);
    let known = || table.iter().map(|(_, word)| *word).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| format!("{word:?} is unknown: there are {}", known()))
}

impl Line {
    pub(super) fn new(frame: &Frame, offset: u64) -> Line {
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let tensor = frame.tensor();
        let colour = tensor.colour();
        let single = |layout: &tenure_layout::ImageLayout| {
            layout.tensor_layout().is_ok_and(|one| one.rank() == tensor.rank())
        };
        let image = tensor.image_layout().filter(|layout| single(layout)).map(|layout| Image {
            format: layout.format().to_string(),
            width: layout.width(),
            height: layout.height(),
            matrix: colour.and_then(|colour| word(&MATRICES, &colour.matrix)),
            range: colour.and_then(|colour| word(&RANGES, &colour.range)),
        });
        let quantization = tensor.quantization().map(|quantization| Scales {
            scales: quantization.scales().to_vec(),
            zero_points: match quantization.zero_points() {
                ZeroPoints::Symmetric => vec![],
                ZeroPoints::Each(all) => all.to_vec(),
            },
            axis: quantization.axis(),
        });
        Line {
            sequence: frame.sequence(),
            taken: frame.timestamp().map(nanoseconds),
            published: nanoseconds(frame.published()),
            offset,
            bytes: tensor.flat_bytes() as u64,
            dtype: tensor.dtype().to_string(),
            shape: tensor.shape().to_vec(),
            image,
            quantization,
            blob: frame.blob().to_vec(),
        }
    }

    /// The slots that such frames need; what is wrong otherwise.
    pub(super) fn spec(&self) -> Result<Spec, String> {
        let said = |error: &dyn std::fmt::Display| error.to_string();
        let dtype = self.dtype.parse().map_err(|error: tenure_layout::Error| said(&error))?;
        let mut spec = match &self.image {
            None => Spec::tensor(dtype, &self.shape).map_err(|error| said(&error))?,
            Some(Image { format, width, height, matrix, range }) => {
                let format = format.parse().map_err(|error: tenure_layout::Error| said(&error))?;
                let spec = Spec::image_of(*width, *height, format, dtype, None);
                let spec = spec.map_err(|error| said(&error))?;
                match (matrix, range) {
                    (Some(matrix), Some(range)) => spec.with_colour(Colour {
                        matrix: value(&MATRICES, matrix)?,
                        range: value(&RANGES, range)?,
                    }),
                    _ => spec,
                }
            }
        };
        if let Some(Scales { scales, zero_points, axis }) = &self.quantization {
            let quantization = match (axis, &scales[..]) {
                (Some(axis), _) => {
                    Quantization::per_axis(scales.clone(), zero_points.clone(), *axis)
                }
                (None, [scale, ..]) => {
                    Quantization::per_tensor(*scale, zero_points.first().copied().unwrap_or(0))
                }
                (None, []) => return Err("a quantisation has no scale".to_owned()),
            };
            let quantization = quantization.map_err(|error| said(&error))?;
            // What an image has for a shape is its layout's business, not the line's.
            if self.image.is_none() {
                quantization.check_shape(&self.shape).map_err(|error| said(&error))?;
            }
            spec = spec.with_quantization(quantization);
        }
        if spec.flat_bytes() as u64 != self.bytes {
            return Err(format!(
                "{} bytes do not make {} {:?}",
                self.bytes, self.dtype, self.shape
            ));
        }
        Ok(spec)
    }
}
