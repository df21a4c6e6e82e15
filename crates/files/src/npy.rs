//! `npy`: one array in a file, the format of numpy (written as version 1.0).
//!
//! Elements are in the order of their indices, the last index fastest, and in the byte order of
//! this machine, which the file names; either order is read. Images are written in the shape that they have without row
//! padding, all planes together: NV12 is one array of luma rows and then chroma rows.

use std::fmt::Write as _;
use std::io::Write;

use tenure_tensor::{DType, ElementKind, Tensor};

use crate::flat::{self, Elements};
use crate::order::Order;
use crate::{Error, Result};

mod read;
mod save;

#[cfg(test)]
mod tests;

pub use read::read;
pub use save::save;

pub(crate) use read::{LONGEST_HEAD, MAGIC as MAGIC_WORD, catalogue, entry};

/// Magic word, version 1.0.
const MAGIC: &[u8; 8] = b"\x93NUMPY\x01\x00";
/// Where elements begin is a multiple of this, so that the file can be mapped.
const ALIGNMENT: usize = 64;

/// Writes a tensor. An array that lies together is written from where it is; any other is copied
/// once, to put its elements in order.
///
/// ```
/// use tenure_files::npy;
/// use tenure_tensor::{PixelFormat, Tensor};
/// let frame = Tensor::<u8>::image(640, 480, PixelFormat::Nv12, None, None)?;
/// let mut file = vec![];
/// npy::write(&mut file, &frame)?;
/// let head = String::from_utf8_lossy(&file[10..128]);
/// assert!(head.contains("'descr': '|u1'") && head.contains("'shape': (720, 640)"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::NoSuchType`] for types that numpy does not have (bf16 and those below 16 bits that are
/// no integers), before anything is written; if the tensor cannot be read (somebody maps it to
/// write; what foreign code may write is read as it is); and [`Error::Io`], after a part of the
/// file was written.
pub fn write<E: ElementKind>(mut writer: impl Write, tensor: &Tensor<E>) -> Result<()> {
    let descr = descr(tensor.dtype())?;
    // Held from here on, so that a tensor that cannot be read leaves nothing written.
    let elements = Elements::hold(flat::together(tensor)?)?;
    writer.write_all(&head(descr, elements.shape()))?;
    elements.write(&mut writer, Order::NATIVE)?;
    Ok(writer.flush()?)
}

/// Numpy's word for an element type in the byte order of this machine.
fn descr(dtype: DType) -> Result<&'static str> {
    let pick = |little, big| match Order::NATIVE {
        Order::Little => little,
        Order::Big => big,
    };
    Ok(match dtype {
        DType::Bool => "|b1",
        DType::U8 => "|u1",
        DType::I8 => "|i1",
        DType::U16 => pick("<u2", ">u2"),
        DType::I16 => pick("<i2", ">i2"),
        DType::U32 => pick("<u4", ">u4"),
        DType::I32 => pick("<i4", ">i4"),
        DType::U64 => pick("<u8", ">u8"),
        DType::I64 => pick("<i8", ">i8"),
        DType::F16 => pick("<f2", ">f2"),
        DType::F32 => pick("<f4", ">f4"),
        DType::F64 => pick("<f8", ">f8"),
        DType::Complex64 => pick("<c8", ">c8"),
        DType::Complex128 => pick("<c16", ">c16"),
        DType::Bf16 => return Err(missing(dtype, "convert to f32, which holds every value")),
        DType::F8E4M3 | DType::F8E5M2 | DType::F4E2M1 => {
            return Err(missing(dtype, "convert to f16, which holds every value"));
        }
        DType::U4 => return Err(missing(dtype, "convert to u8, which holds every value")),
        DType::I4 => return Err(missing(dtype, "convert to i8, which holds every value")),
    })
}

fn missing(dtype: DType, instead: &'static str) -> Error {
    Error::from(crate::detail::NoSuchType { format: "npy", dtype, instead })
}

/// Everything before the elements.
fn head(descr: &str, shape: &[usize]) -> Vec<u8> {
    let mut words = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (");
    for (index, extent) in shape.iter().enumerate() {
        // A tuple of one has a comma after it.
        let after = if shape.len() == 1 { "," } else { "" };
        let before = if index > 0 { ", " } else { "" };
        let _ = write!(words, "{before}{extent}{after}");
    }
    words.push_str("), }");
    let length = MAGIC.len() + size_of::<u16>();
    // Spaces, and a line's end as the last byte.
    let padded = (length + words.len() + 1).next_multiple_of(ALIGNMENT) - length;
    let mut head = MAGIC.to_vec();
    // Tensors have at most 64 dimensions, of at most 20 digits: it always fits.
    head.extend(u16::try_from(padded).unwrap_or(u16::MAX).to_le_bytes());
    head.extend(words.into_bytes());
    head.resize(length + padded - 1, b' ');
    head.push(b'\n');
    head
}
