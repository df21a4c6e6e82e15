//! The elements of any tensor as numbers, and what they are like.

use serde::Serialize;
use tenure::{DType, TensorDyn};

use crate::copied;

/// Bars of a histogram.
pub(super) const BARS: usize = 64;

/// The elements of a tensor, in their order and without gaps.
pub(super) struct Elements {
    bytes: Vec<u8>,
    width: usize,
    read: fn(&[u8]) -> f64,
}

impl Elements {
    /// Copies them; says why not otherwise.
    pub(super) fn of(tensor: &TensorDyn) -> Result<Elements, String> {
        /// The number in the first bytes of some.
        macro_rules! number {
            ($kind:ty) => {
                |bytes: &[u8]| {
                    let first = bytes.first_chunk().copied().unwrap_or_default();
                    <$kind>::from_ne_bytes(first) as f64
                }
            };
        }
        let read: fn(&[u8]) -> f64 = match tensor.dtype() {
            DType::U8 | DType::Bool => number!(u8),
            DType::I8 => number!(i8),
            DType::U16 => number!(u16),
            DType::I16 => number!(i16),
            DType::U32 => number!(u32),
            DType::I32 => number!(i32),
            DType::U64 => number!(u64),
            DType::I64 => number!(i64),
            DType::F32 => number!(f32),
            DType::F64 => number!(f64),
            DType::F16 => |bytes| {
                half::f16::from_ne_bytes(bytes.first_chunk().copied().unwrap_or_default()).to_f64()
            },
            DType::Bf16 => |bytes| {
                half::bf16::from_ne_bytes(bytes.first_chunk().copied().unwrap_or_default()).to_f64()
            },
            other => return Err(format!("elements of type {other} cannot be shown")),
        };
        let width = tensor.dtype().bytes_for(1).unwrap_or(1).max(1);
        let bytes = copied::flat(tensor).map_err(|error| error.to_string())?;
        Ok(Elements { bytes, width, read })
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len() / self.width
    }

    /// One of them; not a number beyond the end.
    pub(super) fn at(&self, index: usize) -> f64 {
        let from = index * self.width;
        self.bytes.get(from..from + self.width).map_or(f64::NAN, self.read)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = f64> {
        self.bytes.chunks_exact(self.width).map(self.read)
    }
}

/// What many numbers are like.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Values {
    /// The smallest and the largest that are numbers; `null` if none is.
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    pub(super) mean: Option<f64>,
    /// Infinite, or not a number.
    pub(super) odd: u64,
}

impl Values {
    pub(super) fn of(numbers: impl Iterator<Item = f64>) -> Values {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        let (mut sum, mut count, mut odd) = (0.0, 0u64, 0);
        for number in numbers {
            if number.is_finite() {
                (low, high) = (low.min(number), high.max(number));
                (sum, count) = (sum + number, count + 1);
            } else {
                odd += 1;
            }
        }
        let some = |number: f64| (count > 0).then_some(number);
        Values { low: some(low), high: some(high), mean: some(sum / count.max(1) as f64), odd }
    }

    /// Where a number lies between the smallest and the largest, from zero to one.
    pub(super) fn place(&self, number: f64) -> f64 {
        let (low, high) = (self.low.unwrap_or(0.0), self.high.unwrap_or(1.0));
        if high > low { ((number - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 }
    }

    /// How many numbers lie in each part of the way from the smallest to the largest.
    pub(super) fn histogram(&self, numbers: impl Iterator<Item = f64>) -> Vec<u32> {
        let mut bars = vec![0; BARS];
        for number in numbers.filter(|number| number.is_finite()) {
            let bar = (self.place(number) * BARS as f64) as usize;
            if let Some(bar) = bars.get_mut(bar.min(BARS - 1)) {
                *bar += 1;
            }
        }
        bars
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure::Tensor;

    #[test]
    fn every_type_is_read() {
        let tensor = Tensor::<f32>::from_slice(&[-1.0, 0.5, f32::NAN, 3.0], &[2, 2]).unwrap();
        let elements = Elements::of(&tensor.to_dyn()).unwrap();
        assert_eq!((elements.len(), elements.at(1), elements.at(3)), (4, 0.5, 3.0));
        assert!(elements.at(2).is_nan() && elements.at(4).is_nan());
        let values = Values::of(elements.iter());
        assert_eq!((values.low, values.high, values.odd), (Some(-1.0), Some(3.0), 1));
        let bars = values.histogram(elements.iter());
        assert_eq!((bars[0], bars[24], bars[BARS - 1]), (1, 1, 1));
        let half = Tensor::<half::f16>::from_slice(&[half::f16::from_f32(2.5)], &[1]).unwrap();
        assert_eq!(Elements::of(&half.to_dyn()).unwrap().at(0), 2.5);
        let signed = Tensor::<i8>::from_slice(&[-128], &[1]).unwrap();
        assert_eq!(Elements::of(&signed.to_dyn()).unwrap().at(0), -128.0);
    }

    #[test]
    fn nothing_has_no_values() {
        let values = Values::of([f64::NAN].into_iter());
        assert_eq!((values.low, values.mean, values.odd), (None, None, 1));
        assert_eq!(values.place(7.0), 1.0);
    }
}
