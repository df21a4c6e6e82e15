//! What a tensor prints: shape, element type, memory, name and the first elements.
//!
//! Printing never waits and makes no memory for what it shows: elements are written one by one from
//! where they are, where the CPU reaches them at once and nobody writes them. Asking the ledger may
//! allocate: an entry beside others, or the answer that somebody writes.

use std::fmt;

use half::{bf16, f16};
use num_complex::Complex;
use tenure_layout::DType;
use tenure_memory::TensorMemory;

use crate::{Bool, Element, ElementKind, Tensor, TensorDyn};

/// How many elements are shown.
const SHOWN: usize = 8;

/// Shape, element type, memory, name and the first elements, or why they are not shown: the tensor
/// is lazy and has none yet, somebody writes it (busy), or the CPU does not reach it.
///
/// ```
/// use tenure_tensor::{Tensor, TensorMemory};
/// let tensor = Tensor::builder(&[3]).memory(TensorMemory::Mem).name("weights").build_from(&[1u8, 2, 3])?;
/// let text = format!("{tensor:?}");
/// assert!(text.starts_with("Tensor<u8>[3] in mem \"weights\": [1, 2, 3]"), "{text}");
/// let map = tensor.map()?;
/// assert!(format!("{tensor:?}").ends_with("(busy)"));
/// # Ok::<(), tenure_tensor::Error>(())
/// ```
impl<E: ElementKind> fmt::Debug for Tensor<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor<{}>{:?} in {}", self.dtype(), self.shape(), self.memory())?;
        if let Some(format) = self.format() {
            write!(f, ", {format}")?;
        }
        if !self.is_contiguous() {
            write!(f, ", strides {:?}", self.strides())?;
        }
        if let Some(name) = self.name() {
            write!(f, " {name:?}")?;
        }
        f.write_str(": ")?;
        self.as_dyn().fmt_elements(f)
    }
}

impl TensorDyn {
    fn fmt_elements(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What else there is may wait: for a device's fences, for a disk.
        let at_once = matches!(self.memory(), TensorMemory::Mem | TensorMemory::Shm);
        if !self.buffer().is_placed() {
            return f.write_str("(lazy)");
        }
        if !at_once {
            return f.write_str("(not read)");
        }
        match self.dtype() {
            DType::U8 => self.fmt_as::<u8>(f),
            DType::I8 => self.fmt_as::<i8>(f),
            DType::U16 => self.fmt_as::<u16>(f),
            DType::I16 => self.fmt_as::<i16>(f),
            DType::U32 => self.fmt_as::<u32>(f),
            DType::I32 => self.fmt_as::<i32>(f),
            DType::U64 => self.fmt_as::<u64>(f),
            DType::I64 => self.fmt_as::<i64>(f),
            DType::F16 => self.fmt_as::<f16>(f),
            DType::Bf16 => self.fmt_as::<bf16>(f),
            DType::F32 => self.fmt_as::<f32>(f),
            DType::F64 => self.fmt_as::<f64>(f),
            DType::Bool => self.fmt_as::<Bool>(f),
            DType::Complex64 => self.fmt_as::<Complex<f32>>(f),
            DType::Complex128 => self.fmt_as::<Complex<f64>>(f),
            _ => f.write_str("(stored)"),
        }
    }

    fn fmt_as<T: Element>(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(map) = self.typed::<T>().and_then(|typed| typed.map_strided_read()) else {
            return f.write_str("(busy)");
        };
        f.write_str("[")?;
        for (shown, element) in map.iter().take(SHOWN).enumerate() {
            f.write_str(if shown == 0 { "" } else { ", " })?;
            element.fmt(f)?;
        }
        f.write_str(if self.len() > SHOWN { ", …]" } else { "]" })
    }
}

#[cfg(test)]
mod tests {
    use tenure_memory::Pool;

    use super::*;

    #[test]
    fn printing_shows_what_is_there_and_disturbs_nothing() {
        let tensor = Tensor::from((0_i16..12).collect::<Vec<_>>()).reshape(&[3, 4]).unwrap();
        let text = format!("{tensor:?}");
        assert_eq!(text, "Tensor<i16>[3, 4] in mem: [0, 1, 2, 3, 4, 5, 6, 7, …]");
        let turned = format!("{:?}", tensor.permute(&[1, 0]).unwrap());
        assert!(turned.ends_with("strides [1, 4]: [0, 4, 8, 1, 5, 9, 2, 6, …]"), "{turned}");
        let guard = tensor.map().unwrap();
        assert!(format!("{tensor:?}").ends_with("(busy)"));
        drop(guard);
        let pool = Pool::new(TensorMemory::Mem);
        let lazy = Tensor::<f32>::builder(&[2]).pool(&pool).lazy().build().unwrap();
        assert!(format!("{lazy:?}").ends_with("(lazy)"));
        assert!(!lazy.buffer().is_placed());
        let empty = format!("{:?}", Tensor::<u8>::from(vec![]));
        assert!(empty.ends_with("[]"), "{empty}");
        let scalar = Tensor::from(vec![7_u8]).reshape(&[]).unwrap();
        assert!(format!("{scalar:?}").ends_with(": [7]"));
    }
}
