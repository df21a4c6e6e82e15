//! Element types as data: name, width, and the codes other systems use for them.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// The type of a tensor's elements, known at run time.
///
/// ```
/// use tenure_layout::DType;
/// assert_eq!(DType::F16.bits(), 16);
/// assert_eq!("bf16".parse::<DType>()?, DType::Bf16);
/// assert_eq!(DType::from_dlpack(2, 32, 1)?, DType::F32);
/// # Ok::<(), tenure_layout::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum DType {
    /// Unsigned 8-bit integer.
    U8 = 0,
    /// Signed 8-bit integer.
    I8 = 1,
    /// Unsigned 16-bit integer.
    U16 = 2,
    /// Signed 16-bit integer.
    I16 = 3,
    /// Unsigned 32-bit integer.
    U32 = 4,
    /// Signed 32-bit integer.
    I32 = 5,
    /// Unsigned 64-bit integer.
    U64 = 6,
    /// Signed 64-bit integer.
    I64 = 7,
    /// IEEE 754 half precision.
    F16 = 8,
    /// Brain floating point: the upper half of an `f32`.
    Bf16 = 9,
    /// IEEE 754 single precision.
    F32 = 10,
    /// IEEE 754 double precision.
    F64 = 11,
    /// A truth value in a byte.
    Bool = 12,
    /// 8-bit float with 4 exponent bits, finite (`e4m3fn`); stored, not computed with.
    F8E4M3 = 13,
    /// 8-bit float with 5 exponent bits; stored, not computed with.
    F8E5M2 = 14,
    /// Unsigned 4-bit integer, two to a byte, the first in the low half; stored only.
    U4 = 15,
    /// Signed 4-bit integer, two to a byte, the first in the low half; stored only.
    I4 = 16,
    /// 4-bit float with 2 exponent bits (`e2m1fn`), two to a byte; stored only.
    F4E2M1 = 17,
    /// Complex number of two `f32`, the real part first.
    Complex64 = 18,
    /// Complex number of two `f64`, the real part first.
    Complex128 = 19,
}

/// DLPack type codes (`DLDataTypeCode`).
mod dl {
    pub(super) const INT: u8 = 0;
    pub(super) const UINT: u8 = 1;
    pub(super) const FLOAT: u8 = 2;
    pub(super) const BFLOAT: u8 = 4;
    pub(super) const COMPLEX: u8 = 5;
    pub(super) const BOOL: u8 = 6;
    pub(super) const F8_E4M3FN: u8 = 10;
    pub(super) const F8_E5M2: u8 = 12;
    pub(super) const F4_E2M1FN: u8 = 17;
}

struct Row {
    dtype: DType,
    name: &'static str,
    bits: u8,
    dlpack: u8,
}

const fn row(dtype: DType, name: &'static str, bits: u8, dlpack: u8) -> Row {
    Row { dtype, name, bits, dlpack }
}

/// One row per type, in the order of the discriminants.
const TABLE: [Row; 20] = [
    row(DType::U8, "u8", 8, dl::UINT),
    row(DType::I8, "i8", 8, dl::INT),
    row(DType::U16, "u16", 16, dl::UINT),
    row(DType::I16, "i16", 16, dl::INT),
    row(DType::U32, "u32", 32, dl::UINT),
    row(DType::I32, "i32", 32, dl::INT),
    row(DType::U64, "u64", 64, dl::UINT),
    row(DType::I64, "i64", 64, dl::INT),
    row(DType::F16, "f16", 16, dl::FLOAT),
    row(DType::Bf16, "bf16", 16, dl::BFLOAT),
    row(DType::F32, "f32", 32, dl::FLOAT),
    row(DType::F64, "f64", 64, dl::FLOAT),
    row(DType::Bool, "bool", 8, dl::BOOL),
    row(DType::F8E4M3, "f8e4m3", 8, dl::F8_E4M3FN),
    row(DType::F8E5M2, "f8e5m2", 8, dl::F8_E5M2),
    row(DType::U4, "u4", 4, dl::UINT),
    row(DType::I4, "i4", 4, dl::INT),
    row(DType::F4E2M1, "f4e2m1", 4, dl::F4_E2M1FN),
    row(DType::Complex64, "complex64", 64, dl::COMPLEX),
    row(DType::Complex128, "complex128", 128, dl::COMPLEX),
];

impl DType {
    /// Every element type.
    pub fn all() -> impl Iterator<Item = DType> {
        TABLE.iter().map(|row| row.dtype)
    }

    const fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// The word for this type: `"f32"`.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Bits of one element.
    pub const fn bits(self) -> usize {
        self.row().bits as usize
    }

    /// Bytes of one element; `None` for the 4-bit types, of which two share a byte.
    pub const fn size(self) -> Option<usize> {
        if self.is_sub_byte() { None } else { Some(self.bits() / 8) }
    }

    /// What an element's byte offset must be a multiple of: the bytes of the number that it is, or of
    /// one of the two that a complex one is.
    ///
    /// ```
    /// use tenure_layout::DType;
    /// assert_eq!((DType::F64.size(), DType::F64.align()), (Some(8), 8));
    /// assert_eq!((DType::Complex64.size(), DType::Complex64.align()), (Some(8), 4));
    /// ```
    pub const fn align(self) -> usize {
        if self.is_sub_byte() {
            1
        } else if self.is_complex() {
            self.bits() / 16
        } else {
            self.bits() / 8
        }
    }

    /// Whether an element is a pair of numbers.
    pub const fn is_complex(self) -> bool {
        matches!(self, DType::Complex64 | DType::Complex128)
    }

    /// Whether several elements share a byte.
    pub const fn is_sub_byte(self) -> bool {
        self.bits() < 8
    }

    /// Bytes that `elements` packed elements take, or `None` if that does not fit.
    pub const fn bytes_for(self, elements: usize) -> Option<usize> {
        if self.is_sub_byte() {
            Some(elements / 2 + elements % 2)
        } else {
            elements.checked_mul(self.bits() / 8)
        }
    }

    /// DLPack's code and bits for this type (lanes are always 1).
    pub const fn dlpack(self) -> (u8, u8) {
        (self.row().dlpack, self.row().bits)
    }

    /// The type with these DLPack codes.
    ///
    /// # Errors
    /// [`Error::UnknownDTypeCode`] for vectors and for types Tenure does not have.
    pub fn from_dlpack(code: u8, bits: u8, lanes: u16) -> Result<DType> {
        TABLE
            .iter()
            .find(|row| lanes == 1 && row.dlpack == code && row.bits == bits)
            .map(|row| row.dtype)
            .ok_or(Error::UnknownDTypeCode { code, bits, lanes })
    }

    /// The type with this discriminant (the code used on the wire and in C).
    pub fn from_code(code: u8) -> Option<DType> {
        TABLE.get(code as usize).map(|row| row.dtype)
    }

    /// The discriminant.
    pub const fn code(self) -> u8 {
        self as u8
    }

    pub(crate) fn words() -> String {
        TABLE.iter().map(|row| row.name).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for DType {
    type Err = Error;

    fn from_str(word: &str) -> Result<DType> {
        TABLE
            .iter()
            .find(|row| row.name.eq_ignore_ascii_case(word))
            .map(|row| row.dtype)
            .ok_or_else(|| Error::UnknownDType { word: word.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_codes() {
        for (code, dtype) in DType::all().enumerate() {
            assert_eq!(dtype.code() as usize, code);
            assert_eq!(DType::from_code(code as u8), Some(dtype));
            assert_eq!(dtype.name().parse::<DType>().unwrap(), dtype);
            let (dl_code, bits) = dtype.dlpack();
            assert_eq!(DType::from_dlpack(dl_code, bits, 1).unwrap(), dtype);
        }
        assert_eq!(DType::from_code(TABLE.len() as u8), None);
        assert!(DType::from_dlpack(2, 32, 4).is_err());
        assert!("f33".parse::<DType>().unwrap_err().to_string().contains("bf16"));
    }

    #[test]
    fn complex_elements_are_aligned_as_their_parts() {
        for (dtype, part, bits) in
            [(DType::Complex64, DType::F32, 64), (DType::Complex128, DType::F64, 128)]
        {
            assert_eq!((dtype.bits(), dtype.align()), (bits, part.align()));
            assert_eq!(dtype.size(), part.size().map(|size| 2 * size));
            assert!(dtype.is_complex() && !part.is_complex());
            assert_eq!(dtype.dlpack(), (5, bits as u8));
            assert_eq!(DType::from_dlpack(5, bits as u8, 1).unwrap(), dtype);
        }
        assert_eq!((DType::Complex64.code(), DType::Complex128.code()), (18, 19));
        assert!(DType::from_dlpack(5, 32, 1).is_err(), "two f16");
    }

    #[test]
    fn four_bit_elements_share_bytes() {
        assert_eq!(DType::I4.bytes_for(3), Some(2));
        assert_eq!(DType::U4.bytes_for(usize::MAX), Some(usize::MAX / 2 + 1));
        assert_eq!(DType::F64.bytes_for(usize::MAX), None);
        assert_eq!(DType::F4E2M1.size(), None);
    }
}
