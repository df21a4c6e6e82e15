//! What is known of a tensor before the model runs: type, shape, and numbers if they are few.

use std::rc::Rc;

use super::proto::TensorProto;
use crate::{ElementType, Result};

/// Numbers of a tensor are followed if there are at most this many.
pub(crate) const MAX_VALUES: usize = 1024;

/// The numbers of a small tensor.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Values {
    Ints(Rc<[i64]>),
    Floats(Rc<[f64]>),
}

/// What is known of a tensor.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fact {
    pub(crate) dtype: ElementType,
    pub(crate) shape: Vec<u64>,
    pub(crate) values: Option<Values>,
}

impl Fact {
    pub(crate) fn new(dtype: ElementType, shape: Vec<u64>) -> Fact {
        Fact { dtype, shape, values: None }
    }

    /// A scalar or a list, of which the numbers are known.
    pub(crate) fn ints(shape: Vec<u64>, ints: &[i64]) -> Fact {
        Fact { dtype: ElementType::I64, shape, values: Some(Values::Ints(ints.into())) }
    }

    pub(crate) fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Elements, if that fits into `u64`.
    pub(crate) fn elements(&self) -> Option<u64> {
        if self.shape.contains(&0) {
            return Some(0);
        }
        self.shape.iter().try_fold(1u64, |product, &dim| product.checked_mul(dim))
    }

    /// Elements, if there are few enough to follow their numbers.
    pub(crate) fn few(&self) -> Option<usize> {
        let elements = usize::try_from(self.elements()?).ok()?;
        (elements <= MAX_VALUES).then_some(elements)
    }

    pub(crate) fn as_ints(&self) -> Option<&[i64]> {
        match &self.values {
            Some(Values::Ints(ints)) => Some(ints),
            _ => None,
        }
    }

    /// The numbers as floats, whatever they are stored as.
    pub(crate) fn to_floats(&self) -> Option<Vec<f64>> {
        match self.values.as_ref()? {
            Values::Ints(ints) => Some(ints.iter().map(|&int| int as f64).collect()),
            Values::Floats(floats) => Some(floats.to_vec()),
        }
    }

    /// The fact of a tensor in the file, with its numbers if there are few.
    pub(crate) fn of_tensor(tensor: &TensorProto<'_>) -> Result<Fact> {
        let mut fact = Fact::new(tensor.dtype, tensor.dims.clone());
        if let Some(elements) = fact.few() {
            fact.values = tensor_values(tensor, elements)?;
        }
        Ok(fact)
    }
}

impl Values {
    pub(crate) fn len(&self) -> usize {
        match self {
            Values::Ints(ints) => ints.len(),
            Values::Floats(floats) => floats.len(),
        }
    }

    /// The numbers at these positions; `None` if one is outside.
    pub(crate) fn pick(&self, positions: &[usize]) -> Option<Values> {
        Some(match self {
            Values::Ints(ints) => Values::Ints(
                positions.iter().map(|&at| ints.get(at).copied()).collect::<Option<_>>()?,
            ),
            Values::Floats(floats) => Values::Floats(
                positions.iter().map(|&at| floats.get(at).copied()).collect::<Option<_>>()?,
            ),
        })
    }
}

/// The numbers in a `TensorProto`; `None` if they are elsewhere or of a type not followed.
fn tensor_values(tensor: &TensorProto<'_>, elements: usize) -> Result<Option<Values>> {
    let (mut ints, mut floats) = (Vec::new(), Vec::new());
    let mut raw = None;
    for field in tensor.body.fields() {
        let field = field?;
        match field.number {
            4 => field.append_floats(MAX_VALUES, &mut floats)?,
            5 | 7 | 11 => field.append_signed(MAX_VALUES, &mut ints)?,
            9 => raw = Some(field.message()?.bytes()),
            10 => field.append_doubles(MAX_VALUES, &mut floats)?,
            // Data in another file.
            13 => return Ok(None),
            14 if field.unsigned()? == 1 => return Ok(None),
            _ => {}
        }
    }
    let values = match raw {
        Some(raw) => raw_values(tensor.dtype, raw),
        // Halves are bit patterns among the integers; nothing follows them.
        None if matches!(tensor.dtype, ElementType::F32 | ElementType::F64) => {
            Some(Values::Floats(floats.into()))
        }
        None if tensor.dtype.is_integer() && tensor.dtype.bits() >= 8 => {
            Some(Values::Ints(ints.into()))
        }
        None => None,
    };
    Ok(values.filter(|values| values.len() == elements))
}

fn raw_values(dtype: ElementType, raw: &[u8]) -> Option<Values> {
    fn ints<const N: usize>(raw: &[u8], each: impl Fn([u8; N]) -> i64) -> Values {
        Values::Ints(raw.as_chunks::<N>().0.iter().map(|&bytes| each(bytes)).collect())
    }
    fn floats<const N: usize>(raw: &[u8], each: impl Fn([u8; N]) -> f64) -> Values {
        Values::Floats(raw.as_chunks::<N>().0.iter().map(|&bytes| each(bytes)).collect())
    }
    // Only the start can be wanted.
    let raw = raw.get(..MAX_VALUES * 8 + 8).unwrap_or(raw);
    Some(match dtype {
        ElementType::I64 => ints(raw, i64::from_le_bytes),
        ElementType::U64 => ints(raw, |bytes| u64::from_le_bytes(bytes).cast_signed()),
        ElementType::I32 => ints(raw, |bytes| i32::from_le_bytes(bytes).into()),
        ElementType::U32 => ints(raw, |bytes| u32::from_le_bytes(bytes).into()),
        ElementType::I16 => ints(raw, |bytes| i16::from_le_bytes(bytes).into()),
        ElementType::U16 => ints(raw, |bytes| u16::from_le_bytes(bytes).into()),
        ElementType::I8 => ints(raw, |bytes| i8::from_le_bytes(bytes).into()),
        ElementType::U8 | ElementType::Bool => ints(raw, |bytes| u8::from_le_bytes(bytes).into()),
        ElementType::F32 => floats(raw, |bytes| f32::from_le_bytes(bytes).into()),
        ElementType::F64 => floats(raw, f64::from_le_bytes),
        _ => return None,
    })
}
