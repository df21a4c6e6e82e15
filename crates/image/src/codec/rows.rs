//! The rows of a packed picture, with any row stride.

use tenure_tensor::{self as tensor, Dyn, TensorDyn, TensorMap, TensorMemory, TensorRead};

use crate::Result;

/// A mapped picture to write.
pub(super) struct RowsMut {
    map: TensorMap<Dyn>,
    stride: usize,
    bytes: usize,
}

/// A mapped picture to read.
pub(super) struct Rows {
    map: TensorRead<Dyn>,
    stride: usize,
    bytes: usize,
}

/// Bytes from row to row and of a row.
fn pitch(picture: &TensorDyn) -> (usize, usize) {
    let plane = picture.image_layout().and_then(|image| image.planes().first());
    plane.map_or((1, 0), |plane| (plane.row_stride.max(1), plane.row_bytes))
}

impl RowsMut {
    /// Maps the only plane of a picture.
    pub(super) fn new(picture: &TensorDyn) -> Result<RowsMut> {
        let (stride, bytes) = pitch(picture);
        Ok(RowsMut { map: picture.plane(0)?.map()?, stride, bytes })
    }

    /// All rows as one slice, if nothing lies between them.
    pub(super) fn together(&mut self) -> Option<&mut [u8]> {
        (self.stride == self.bytes).then(|| self.map.as_mut_slice())
    }

    /// The rows, from the top.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let bytes = self.bytes;
        self.map.as_mut_slice().chunks_mut(self.stride).filter_map(move |row| row.get_mut(..bytes))
    }
}

impl Rows {
    /// Maps the only plane of a picture; a copy of it, if foreign code may write it meanwhile.
    pub(super) fn new(picture: &TensorDyn) -> Result<Rows> {
        match Rows::of(picture) {
            Err(tensor::Error::Memory(error)) if error.is_busy() => {
                Ok(Rows::of(&picture.to(Some(TensorMemory::Mem))?)?)
            }
            rows => Ok(rows?),
        }
    }

    fn of(picture: &TensorDyn) -> tensor::Result<Rows> {
        let (stride, bytes) = pitch(picture);
        Ok(Rows { map: picture.plane(0)?.map_read()?, stride, bytes })
    }

    /// The rows, from the top.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let bytes = self.bytes;
        self.map.as_slice().chunks(self.stride).filter_map(move |row| row.get(..bytes))
    }

    /// Whether the memory kept its bytes: a file that was cut short meanwhile reads as zeros.
    pub(super) fn intact(&self) -> Result<()> {
        Ok(self.map.intact()?)
    }
}
