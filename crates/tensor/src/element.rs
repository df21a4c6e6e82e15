//! Element types as Rust types: a sealed trait, so that only plain data can be an element.

use std::fmt;

use bytemuck::Pod;
use half::{bf16, f16};
use num_complex::Complex;

use tenure_layout::DType;

mod sealed {
    pub trait Sealed {}
}

/// What a tensor handle knows of its elements at compile time: a type, or [`Dyn`].
///
/// Sealed: a type with padding, pointers or invalid bit patterns could be broken by another
/// process that shares the memory, so the list of element types is closed.
#[diagnostic::on_unimplemented(
    message = "tensors have no elements of type `{Self}`",
    note = "element types are u8 to u64, i8 to i64, f16, bf16, f32, f64, `Complex` of f32 and f64, and `Bool` for truth values"
)]
pub trait ElementKind: sealed::Sealed + Send + Sync + 'static {
    /// What a mapped slice holds: the element itself; bytes for [`Dyn`].
    type Stored: Pod + Send + Sync + fmt::Debug + PartialEq;

    /// The element type, if it is known at compile time.
    const KNOWN: Option<DType>;
}

/// An element type known at compile time. Slices of such tensors are slices of it, so functions
/// over any element type need no more than what they do with the elements:
///
/// ```
/// use tenure_tensor::{Element, Result, Tensor};
///
/// fn mean<T: Element + Into<f64>>(tensor: &Tensor<T>) -> Result<f64> {
///     let map = tensor.map_read()?;
///     let sum: f64 = map.as_slice().iter().map(|&value| value.into()).sum();
///     Ok(sum / tensor.len() as f64)
/// }
/// assert_eq!(mean(&Tensor::from_slice(&[1u8, 2, 6], &[3])?)?, 3.0);
/// # Ok::<(), tenure_tensor::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no element type of tensors",
    note = "element types are u8 to u64, i8 to i64, f16, bf16, f32, f64, `Complex` of f32 and f64, and `Bool` for truth values",
    note = "a `TensorDyn` is made by the functions of the trait `DynTensor`, to be imported"
)]
pub trait Element: ElementKind<Stored = Self> + Pod + PartialEq + fmt::Debug {
    /// Its run-time name.
    const DTYPE: DType;
}

/// Marks a tensor whose element type is known at run time only; it maps as bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dyn {}

impl sealed::Sealed for Dyn {}

impl ElementKind for Dyn {
    type Stored = u8;
    const KNOWN: Option<DType> = None;
}

/// A stored truth value: 0 is false, every other byte is true. The element type of tensors of
/// truth values.
///
/// A Rust `bool` may only hold 0 or 1, which memory shared with others cannot promise.
///
/// ```
/// use tenure_tensor::Bool;
/// let stored = Bool::from(true);
/// assert!(stored.get());
/// assert_eq!(stored, true);
/// assert_eq!(Bool::from_byte(7), Bool::from(true));
/// ```
#[derive(Clone, Copy, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Bool(u8);

impl Bool {
    /// The truth value.
    pub const fn get(self) -> bool {
        self.0 != 0
    }

    /// From any byte.
    pub const fn from_byte(byte: u8) -> Bool {
        Bool(byte)
    }
}

impl From<bool> for Bool {
    fn from(value: bool) -> Bool {
        Bool(u8::from(value))
    }
}

impl From<Bool> for bool {
    fn from(value: Bool) -> bool {
        value.get()
    }
}

impl PartialEq for Bool {
    fn eq(&self, other: &Bool) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Bool {}

impl PartialEq<bool> for Bool {
    fn eq(&self, other: &bool) -> bool {
        self.get() == *other
    }
}

impl fmt::Debug for Bool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

impl fmt::Display for Bool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

macro_rules! elements {
    ($($rust:ty => $dtype:ident),* $(,)?) => {$(
        impl sealed::Sealed for $rust {}
        impl ElementKind for $rust {
            type Stored = $rust;
            const KNOWN: Option<DType> = Some(DType::$dtype);
        }
        impl Element for $rust {
            const DTYPE: DType = DType::$dtype;
        }
    )*};
}

elements! {
    u8 => U8, i8 => I8, u16 => U16, i16 => I16, u32 => U32, i32 => I32, u64 => U64, i64 => I64,
    f16 => F16, bf16 => Bf16, f32 => F32, f64 => F64, Bool => Bool,
    Complex<f32> => Complex64, Complex<f64> => Complex128,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agrees<T: Element>() {
        assert_eq!(Some(std::mem::size_of::<T>()), T::DTYPE.size());
        // 32-bit x86 aligns eight bytes to four; the table does not depend on the machine.
        assert!(T::DTYPE.align().is_multiple_of(std::mem::align_of::<T>()));
        if cfg!(target_pointer_width = "64") {
            assert_eq!(std::mem::align_of::<T>(), T::DTYPE.align());
        }
        assert_eq!(T::KNOWN, Some(T::DTYPE));
    }

    #[test]
    fn sizes_agree_with_the_table() {
        agrees::<u8>();
        agrees::<i8>();
        agrees::<u16>();
        agrees::<i16>();
        agrees::<u32>();
        agrees::<i32>();
        agrees::<u64>();
        agrees::<i64>();
        agrees::<f16>();
        agrees::<bf16>();
        agrees::<f32>();
        agrees::<f64>();
        agrees::<Bool>();
        agrees::<Complex<f32>>();
        agrees::<Complex<f64>>();
    }

    #[test]
    fn any_byte_is_a_truth_value() {
        let bytes = [0u8, 1, 2, 255];
        let bools: &[Bool] = bytemuck::cast_slice(&bytes);
        assert_eq!(bools, [false, true, true, true].map(Bool::from));
    }
}
