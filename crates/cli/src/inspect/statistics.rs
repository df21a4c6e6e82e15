//! What elements are like: smallest, largest, mean, and how many are no numbers.

use half::{bf16, f16};
use serde::Serialize;
use tenure::{Bool, DType, Element, Tensor, TensorDyn};

use crate::failure::Failure;

/// What the elements of a tensor are like. Those that are no numbers count as such, and for
/// nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Statistics {
    /// `null` if there are no numbers, or if it is infinite.
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
    pub(super) mean: Option<f64>,
    /// How many are no numbers.
    pub(super) nan: u64,
    /// How many are infinite.
    pub(super) infinite: u64,
}

/// Reads all elements; `None` for types that are only stored.
pub(super) fn of(tensor: &TensorDyn) -> Result<Option<Statistics>, Failure> {
    let found = match tensor.dtype() {
        DType::U8 => gather(&tensor.typed::<u8>()?, |value| f64::from(*value)),
        DType::I8 => gather(&tensor.typed::<i8>()?, |value| f64::from(*value)),
        DType::U16 => gather(&tensor.typed::<u16>()?, |value| f64::from(*value)),
        DType::I16 => gather(&tensor.typed::<i16>()?, |value| f64::from(*value)),
        DType::U32 => gather(&tensor.typed::<u32>()?, |value| f64::from(*value)),
        DType::I32 => gather(&tensor.typed::<i32>()?, |value| f64::from(*value)),
        DType::U64 => gather(&tensor.typed::<u64>()?, |value| *value as f64),
        DType::I64 => gather(&tensor.typed::<i64>()?, |value| *value as f64),
        DType::F16 => gather(&tensor.typed::<f16>()?, |value| f64::from(*value)),
        DType::Bf16 => gather(&tensor.typed::<bf16>()?, |value| f64::from(*value)),
        DType::F32 => gather(&tensor.typed::<f32>()?, |value| f64::from(*value)),
        DType::F64 => gather(&tensor.typed::<f64>()?, |value| *value),
        DType::Bool => gather(&tensor.typed::<Bool>()?, |value| f64::from(u8::from(value.get()))),
        _ => return Ok(None),
    };
    found.map(Some)
}

fn gather<T: Element>(
    tensor: &Tensor<T>,
    number: impl Fn(&T::Stored) -> f64,
) -> Result<Statistics, Failure> {
    let elements = tensor.map_strided_read()?;
    let (mut min, mut max, mut sum) = (f64::INFINITY, f64::NEG_INFINITY, 0.0);
    let (mut nan, mut infinite, mut count) = (0, 0, 0u64);
    for value in elements.iter().map(number) {
        if value.is_nan() {
            nan += 1;
            continue;
        }
        infinite += u64::from(value.is_infinite());
        (min, max) = (min.min(value), max.max(value));
        (sum, count) = (sum + value, count + 1);
    }
    // A file that was cut off meanwhile has zeros for its end.
    elements.intact()?;
    let known = |value: f64| (count > 0 && value.is_finite()).then_some(value);
    let mean = known(sum / count as f64);
    Ok(Statistics { min: known(min), max: known(max), mean, nan, infinite })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure::DynTensor;

    #[test]
    fn what_is_no_number_is_counted_apart() {
        let values = [1.0, f32::NAN, -3.0, f32::INFINITY];
        let tensor = Tensor::from_slice(&values, &[2, 2]).unwrap();
        let expected = Statistics { min: Some(-3.0), max: None, mean: None, nan: 1, infinite: 1 };
        assert_eq!(of(&tensor.to_dyn()).unwrap(), Some(expected));
        let tensor = Tensor::from_slice(&[1u64, 2, 6], &[3]).unwrap();
        let found = of(&tensor.to_dyn()).unwrap().unwrap();
        assert_eq!((found.min, found.max, found.mean), (Some(1.0), Some(6.0), Some(3.0)));
        let none = Tensor::<f32>::from_slice(&[], &[0]).unwrap();
        assert_eq!(of(&none.to_dyn()).unwrap().unwrap().mean, None);
        let stored = TensorDyn::new(&[2], DType::F8E4M3, None, None).unwrap();
        assert_eq!(of(&stored).unwrap(), None);
    }
}
