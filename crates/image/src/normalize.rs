//! From 8-bit values to what a model wants.

use tenure_layout::{DType, Quantization, ZeroPoints};

use crate::{Error, Result};

/// How 8-bit values (0 to 255 in each channel) become what is stored:
/// `real = (value * scale - mean) / std`, and for integers `stored = real / q.scale + q.zero_point`.
///
/// ```
/// use tenure_image::Normalize;
/// let unit = Normalize::scale(1.0 / 255.0);
/// let imagenet = Normalize::IMAGENET;
/// assert_eq!(imagenet.scale, unit.scale);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use = "a description does nothing until a conversion is given it"]
pub struct Normalize {
    /// What every value is multiplied by.
    pub scale: f32,
    /// What is subtracted from red, green and blue (or grey, the first) after that. Alpha keeps
    /// its value.
    pub mean: [f32; 3],
    /// What red, green and blue are divided by after that.
    pub std: [f32; 3],
    /// Scale and zero point of integers. If `None`, those of the destination tensor.
    pub quantize: Option<(f32, i32)>,
}

impl Default for Normalize {
    fn default() -> Normalize {
        Normalize::NONE
    }
}

impl Normalize {
    /// Values as they are: 0 to 255 for u8 and floats, less 128 for i8.
    pub const NONE: Normalize =
        Normalize { scale: 1.0, mean: [0.0; 3], std: [1.0; 3], quantize: None };

    /// What most models trained on ImageNet want.
    pub const IMAGENET: Normalize = Normalize {
        scale: 1.0 / 255.0,
        mean: [0.485, 0.456, 0.406],
        std: [0.229, 0.224, 0.225],
        quantize: None,
    };

    /// Every value multiplied by `scale`.
    pub const fn scale(scale: f32) -> Normalize {
        Normalize { scale, ..Normalize::NONE }
    }

    /// As [`Normalize::scale`], then less `mean`, then divided by `std`, in red, green and blue.
    pub const fn mean_std(scale: f32, mean: [f32; 3], std: [f32; 3]) -> Normalize {
        Normalize { scale, mean, std, quantize: None }
    }

    /// Stored as integers with this scale and zero point.
    pub const fn quantized(self, scale: f32, zero_point: i32) -> Normalize {
        Normalize { quantize: Some((scale, zero_point)), ..self }
    }

    fn is_none(&self) -> bool {
        *self == Normalize::NONE
    }

    /// What is done to each channel (red, green, blue, alpha) for elements of this type.
    ///
    /// # Errors
    /// For numbers that are not finite, or whose quotients are not, divisions by zero, integers without a quantisation, and
    /// element types that images are not converted to.
    pub(crate) fn affine(&self, dtype: DType, own: Option<&Quantization>) -> Result<Affine> {
        let wrong = |what, value: f32| Err(Error::Normalize { what, value });
        let numbers = [self.scale]
            .into_iter()
            .chain(self.mean)
            .chain(self.std)
            .chain(self.quantize.map(|q| q.0));
        if let Some(value) = numbers.into_iter().find(|value| !value.is_finite()) {
            return wrong("a number", value);
        }
        if let Some(&value) = self.std.iter().find(|std| **std == 0.0) {
            return wrong("std", value);
        }
        let mut affine = Affine::of_floats(self);
        match dtype {
            DType::F32 | DType::F16 | DType::Bf16 => affine.finite(),
            DType::U8 | DType::I8 if self.is_none() => {
                Ok(if dtype == DType::I8 { Affine::LESS_128 } else { Affine::IDENTITY })
            }
            DType::U8 | DType::I8 => {
                let (scale, zero_point) = match (self.quantize, own) {
                    (Some(given), _) => given,
                    (None, Some(own)) => per_tensor(own)?,
                    (None, None) => return Err(Error::IntegersWithoutScale { dtype }),
                };
                if scale <= 0.0 {
                    return wrong("the scale of the quantisation", scale);
                }
                affine.quantize(scale, zero_point);
                affine.finite()
            }
            _ => Err(Error::TargetType { dtype }),
        }
    }
}

fn per_tensor(own: &Quantization) -> Result<(f32, i32)> {
    let &[scale] = own.scales() else {
        return Err(Error::QuantizedByAxis { scales: own.scales().len() });
    };
    let zero_point = match own.zero_points() {
        ZeroPoints::Symmetric => 0,
        ZeroPoints::Each(each) => each.first().copied().unwrap_or(0),
    };
    Ok((scale, zero_point))
}

/// `stored = value * multiply + add`, for red, green, blue and alpha.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Affine {
    pub(crate) multiply: [f32; 4],
    pub(crate) add: [f32; 4],
}

impl Affine {
    pub(crate) const IDENTITY: Affine = Affine { multiply: [1.0; 4], add: [0.0; 4] };
    pub(crate) const LESS_128: Affine = Affine { multiply: [1.0; 4], add: [-128.0; 4] };

    fn of_floats(normalize: &Normalize) -> Affine {
        let Normalize { scale, mean: m, std: s, .. } = *normalize;
        Affine {
            multiply: [scale / s[0], scale / s[1], scale / s[2], scale],
            add: [-m[0] / s[0], -m[1] / s[1], -m[2] / s[2], 0.0],
        }
    }

    fn quantize(&mut self, scale: f32, zero_point: i32) {
        self.multiply = self.multiply.map(|value| value / scale);
        self.add = self.add.map(|value| value / scale + zero_point as f32);
    }

    /// This, if every value of a picture becomes a number.
    ///
    /// # Errors
    /// For finite numbers whose quotients are too large for `f32`.
    fn finite(self) -> Result<Affine> {
        let ends = self.multiply.iter().zip(self.add).flat_map(|(m, a)| [a, 255.0 * m + a]);
        match self.multiply.into_iter().chain(ends).find(|value| !value.is_finite()) {
            Some(value) => Err(Error::Overflow { value }),
            None => Ok(self),
        }
    }

    /// The channels in another order.
    pub(crate) fn picked(&self, channels: &[usize]) -> Affine {
        let pick = |values: [f32; 4]| {
            std::array::from_fn(|at| channels.get(at).map_or(0.0, |&channel| values[channel & 3]))
        };
        Affine { multiply: pick(self.multiply), add: pick(self.add) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_integers_and_what_is_refused() {
        let imagenet = Normalize::IMAGENET.affine(DType::F32, None).unwrap();
        let red = 124.0 * imagenet.multiply[0] + imagenet.add[0];
        assert!((red - (124.0 / 255.0 - 0.485) / 0.229).abs() < 1e-5);
        assert_eq!(Normalize::NONE.affine(DType::I8, None).unwrap(), Affine::LESS_128);
        let own = Quantization::per_tensor(1.0 / 255.0, -128).unwrap();
        let affine = Normalize::scale(1.0 / 255.0).affine(DType::I8, Some(&own)).unwrap();
        assert!((255.0 * affine.multiply[0] + affine.add[0] - 127.0).abs() < 1e-3);
        // What is stored as it is does not care for a quantisation.
        assert_eq!(Normalize::NONE.affine(DType::U8, Some(&own)).unwrap(), Affine::IDENTITY);
        assert!(Normalize::scale(f32::NAN).affine(DType::F32, None).is_err());
        assert!(Normalize::scale(0.5).affine(DType::U8, None).is_err());
        assert!(
            Normalize::mean_std(1.0, [0.0; 3], [1.0, 0.0, 1.0]).affine(DType::F32, None).is_err()
        );
        assert!(Normalize::NONE.affine(DType::I32, None).is_err());
        for huge in [
            Normalize::mean_std(1.0, [1e38; 3], [1e-30; 3]),
            Normalize::mean_std(1e38, [0.0; 3], [1.0, 1e-3, 1.0]),
            Normalize::scale(2e36),
        ] {
            let error = huge.affine(DType::F32, None).unwrap_err();
            assert!(matches!(error, Error::Overflow { .. }), "{error}");
        }
        let tiny = Normalize::scale(1.0).quantized(1e-40, 0).affine(DType::U8, None);
        assert!(matches!(tiny, Err(Error::Overflow { .. })), "{tiny:?}");
    }
}
