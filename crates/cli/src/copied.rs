//! Copies of tensors whose size somebody else says: a producer, a file. None is made before it is
//! known that the tensor has as much memory as it says, and that there is room for the copy.

use tenure::TensorDyn;

use crate::units;

/// Copies may take this part of the memory that is available.
const SHARE: u64 = 4;
/// Copies up to this need not ask how much there is.
const SMALL: u64 = 16 << 20;
/// The largest copy where nobody says how much memory is available.
const UNKNOWN: u64 = 1 << 30;

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Uncopied {
    /// Strides that show the same bytes again and again.
    #[error(
        "the frame says that it has {}, and came with {} of memory: it is not copied",
        units::bytes(*bytes), units::bytes(*memory)
    )]
    Inflated {
        /// Bytes of its elements without gaps.
        bytes: u64,
        /// Bytes of its memory.
        memory: u64,
    },
    /// More than there is room for.
    #[error(
        "copying {} needs more than a quarter of the available memory: at most {} can be copied now",
        units::bytes(*bytes), units::bytes(*most)
    )]
    TooLarge {
        /// Bytes of the copy.
        bytes: u64,
        /// The largest copy.
        most: u64,
    },
    /// A size beyond every address.
    #[error("the copy would have more bytes than can be counted ({})", usize::MAX)]
    Uncounted,
    /// The system has no more memory.
    #[error("no memory for a copy of {}", units::bytes(*.0))]
    NoMemory(u64),
    /// The tensor cannot be read.
    #[error(transparent)]
    Tensor(#[from] tenure::tensor::Error),
}

/// The largest copy that is made now.
fn most() -> u64 {
    tenure::memory::available_memory().map_or(UNKNOWN, |bytes| bytes / SHARE)
}

/// So many zeros, if there is room for them.
#[cfg(any(linux_like, test))]
pub(crate) fn zeros<T: Copy + Default>(count: usize) -> Result<Vec<T>, Uncopied> {
    allocate(count)
}

fn allocate<T: Copy + Default>(count: usize) -> Result<Vec<T>, Uncopied> {
    let bytes = count.checked_mul(size_of::<T>()).ok_or(Uncopied::Uncounted)?;
    check_bytes(bytes)?;
    let mut zeros = vec![];
    zeros.try_reserve_exact(count).map_err(|_| Uncopied::NoMemory(bytes as u64))?;
    zeros.resize(count, T::default());
    Ok(zeros)
}

/// Checks that a tensor is no larger than its memory, and that there is room for a copy. For
/// writers in other crates that make one.
pub(crate) fn check(tensor: &TensorDyn) -> Result<(), Uncopied> {
    check_bytes(honest(tensor)?)
}

/// Checks that there is room for so many bytes.
pub(crate) fn check_bytes(bytes: usize) -> Result<(), Uncopied> {
    let bytes = bytes as u64;
    if bytes <= SMALL {
        return Ok(());
    }
    let most = most();
    if bytes > most { Err(Uncopied::TooLarge { bytes, most }) } else { Ok(()) }
}

/// The bytes of a tensor's elements, if its memory has as many.
fn honest(tensor: &TensorDyn) -> Result<usize, Uncopied> {
    let planes = match tensor.image_layout() {
        Some(layout) if tensor.is_multi_buffer() => layout.planes().len(),
        _ => 1,
    };
    let mut memory = 0u64;
    for plane in 0..planes {
        let buffer = if planes == 1 { tensor.buffer() } else { tensor.plane_buffer(plane)? };
        memory = memory.saturating_add(buffer.len() as u64);
    }
    let bytes = tensor.flat_bytes();
    if bytes as u64 > memory {
        return Err(Uncopied::Inflated { bytes: bytes as u64, memory });
    }
    Ok(bytes)
}

/// The elements of a tensor without gaps.
pub(crate) fn flat(tensor: &TensorDyn) -> Result<Vec<u8>, Uncopied> {
    let mut flat = allocate(honest(tensor)?)?;
    tensor.copy_to_flat(&mut flat)?;
    Ok(flat)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure::{DType, DynTensor, PixelFormat, Tensor, TensorMemory};

    #[test]
    fn what_is_larger_than_its_memory_is_not_copied() {
        let few = Tensor::<u8>::new(&[4096], Some(TensorMemory::Mem), None).unwrap().to_dyn();
        let many = few.broadcast_to(&[1 << 30, 4096]).unwrap();
        for answer in [flat(&many).map(drop), check(&many)] {
            assert!(matches!(answer, Err(Uncopied::Inflated { memory: 4096, .. })), "{answer:?}");
        }
        assert_eq!(flat(&few).unwrap().len(), 4096);
    }

    #[test]
    fn there_must_be_room() {
        assert!(matches!(zeros::<u8>(1 << 45), Err(Uncopied::TooLarge { .. })));
        assert!(matches!(zeros::<f32>(1 << 43), Err(Uncopied::TooLarge { .. })));
        assert!(matches!(zeros::<u8>(usize::MAX), Err(Uncopied::TooLarge { .. })));
        assert!(matches!(zeros::<f32>(usize::MAX / 2), Err(Uncopied::Uncounted)));
        assert_eq!(zeros::<u8>(3).unwrap(), [0; 3]);
        assert_eq!(zeros::<f32>(3).unwrap(), [0.0; 3]);
    }

    #[test]
    fn every_picture_is_copied() {
        for format in PixelFormat::all() {
            let dtype = if format == PixelFormat::P010 { DType::U16 } else { DType::U8 };
            let heap = Some(TensorMemory::Mem);
            for (width, height) in [(5, 3), (64, 48)] {
                let image = TensorDyn::image(width, height, format, dtype, heap, None).unwrap();
                assert_eq!(flat(&image).unwrap(), vec![0; image.flat_bytes()], "{format}");
            }
        }
    }
}
