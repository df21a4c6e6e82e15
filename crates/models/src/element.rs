//! The element types that model files know, and how many bits each takes.

use std::fmt;

/// The type of a tensor's elements in a model file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ElementType {
    /// IEEE 754 single precision.
    F32,
    /// IEEE 754 half precision.
    F16,
    /// Brain floating point.
    Bf16,
    /// IEEE 754 double precision.
    F64,
    /// 8-bit float `e4m3fn`.
    F8E4M3,
    /// 8-bit float `e4m3fnuz`.
    F8E4M3Fnuz,
    /// 8-bit float `e5m2`.
    F8E5M2,
    /// 8-bit float `e5m2fnuz`.
    F8E5M2Fnuz,
    /// 8-bit exponent `e8m0`.
    F8E8M0,
    /// 4-bit float `e2m1`, two to a byte.
    F4E2M1,
    /// Signed 64-bit integer.
    I64,
    /// Signed 32-bit integer.
    I32,
    /// Signed 16-bit integer.
    I16,
    /// Signed 8-bit integer.
    I8,
    /// Signed 4-bit integer, two to a byte.
    I4,
    /// Signed 2-bit integer, four to a byte.
    I2,
    /// Unsigned 64-bit integer.
    U64,
    /// Unsigned 32-bit integer.
    U32,
    /// Unsigned 16-bit integer.
    U16,
    /// Unsigned 8-bit integer.
    U8,
    /// Unsigned 4-bit integer, two to a byte.
    U4,
    /// Unsigned 2-bit integer, four to a byte.
    U2,
    /// A truth value in a byte.
    Bool,
    /// Two `f32`.
    Complex64,
    /// Two `f64`.
    Complex128,
    /// Text; has no fixed size and is not planned.
    Text,
    /// A sequence, map, optional or resource; has no fixed size and is not planned.
    Opaque,
}

impl ElementType {
    /// The word for this type: `"f32"`.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// Bits of one element; 0 for what has no fixed size.
    pub const fn bits(self) -> u64 {
        self.row().1
    }

    const fn row(self) -> (&'static str, u64) {
        match self {
            ElementType::F32 => ("f32", 32),
            ElementType::F16 => ("f16", 16),
            ElementType::Bf16 => ("bf16", 16),
            ElementType::F64 => ("f64", 64),
            ElementType::F8E4M3 => ("f8e4m3", 8),
            ElementType::F8E4M3Fnuz => ("f8e4m3fnuz", 8),
            ElementType::F8E5M2 => ("f8e5m2", 8),
            ElementType::F8E5M2Fnuz => ("f8e5m2fnuz", 8),
            ElementType::F8E8M0 => ("f8e8m0", 8),
            ElementType::F4E2M1 => ("f4e2m1", 4),
            ElementType::I64 => ("i64", 64),
            ElementType::I32 => ("i32", 32),
            ElementType::I16 => ("i16", 16),
            ElementType::I8 => ("i8", 8),
            ElementType::I4 => ("i4", 4),
            ElementType::I2 => ("i2", 2),
            ElementType::U64 => ("u64", 64),
            ElementType::U32 => ("u32", 32),
            ElementType::U16 => ("u16", 16),
            ElementType::U8 => ("u8", 8),
            ElementType::U4 => ("u4", 4),
            ElementType::U2 => ("u2", 2),
            ElementType::Bool => ("bool", 8),
            ElementType::Complex64 => ("complex64", 64),
            ElementType::Complex128 => ("complex128", 128),
            ElementType::Text => ("text", 0),
            ElementType::Opaque => ("opaque", 0),
        }
    }

    /// Whether elements are whole numbers or truth values.
    pub(crate) const fn is_integer(self) -> bool {
        use ElementType::{Bool, I2, I4, I8, I16, I32, I64, U2, U4, U8, U16, U32, U64};
        matches!(self, I64 | I32 | I16 | I8 | I4 | I2 | U64 | U32 | U16 | U8 | U4 | U2 | Bool)
    }

    /// Bytes of a packed tensor of this shape; `None` if that is over `u64`.
    pub fn bytes(self, shape: &[u64]) -> Option<u64> {
        // Empty tensors first: other dims may be as large as they like.
        if self.bits() == 0 || shape.contains(&0) {
            return Some(0);
        }
        let elements = shape.iter().try_fold(1u64, |product, &dim| product.checked_mul(dim))?;
        let bits = u128::from(elements).checked_mul(u128::from(self.bits()))?;
        u64::try_from(bits.div_ceil(8)).ok()
    }

    /// The type with this code in `TensorProto.DataType`.
    pub(crate) const fn from_onnx(code: u64) -> Option<ElementType> {
        Some(match code {
            1 => ElementType::F32,
            2 => ElementType::U8,
            3 => ElementType::I8,
            4 => ElementType::U16,
            5 => ElementType::I16,
            6 => ElementType::I32,
            7 => ElementType::I64,
            8 => ElementType::Text,
            9 => ElementType::Bool,
            10 => ElementType::F16,
            11 => ElementType::F64,
            12 => ElementType::U32,
            13 => ElementType::U64,
            14 => ElementType::Complex64,
            15 => ElementType::Complex128,
            16 => ElementType::Bf16,
            17 => ElementType::F8E4M3,
            18 => ElementType::F8E4M3Fnuz,
            19 => ElementType::F8E5M2,
            20 => ElementType::F8E5M2Fnuz,
            21 => ElementType::U4,
            22 => ElementType::I4,
            23 => ElementType::F4E2M1,
            24 => ElementType::F8E8M0,
            25 => ElementType::U2,
            26 => ElementType::I2,
            _ => return None,
        })
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_round_up_and_refuse_overflow() {
        assert_eq!(ElementType::I4.bytes(&[3, 3]), Some(5));
        assert_eq!(ElementType::F32.bytes(&[]), Some(4));
        assert_eq!(ElementType::F32.bytes(&[1 << 60]), Some(1 << 62));
        assert_eq!(ElementType::F32.bytes(&[1 << 62]), None);
        assert_eq!(ElementType::U8.bytes(&[1 << 40, 1 << 40]), None);
        assert_eq!(ElementType::U8.bytes(&[1 << 40, 1 << 40, 0]), Some(0));
        assert_eq!(ElementType::Text.bytes(&[7]), Some(0));
    }
}
