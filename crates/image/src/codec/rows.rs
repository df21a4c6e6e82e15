//! The rows of a packed picture, with any row stride.

use tenure_tensor::{self as tensor, Dyn, RowsMap, RowsRead, TensorDyn, TensorMap, TensorMemory};

use crate::Result;

/// A mapped picture to write.
pub(super) enum RowsMut {
    /// Nothing lies between the rows.
    Together(TensorMap<Dyn>, usize),
    /// With padding between them.
    Apart(RowsMap<Dyn>),
}

/// A mapped picture to read.
pub(super) struct Rows(RowsRead<Dyn>);

impl RowsMut {
    /// Maps the only plane of a picture.
    pub(super) fn new(picture: &TensorDyn) -> Result<RowsMut> {
        let plane = picture.plane(0)?;
        if !plane.is_contiguous() {
            return Ok(RowsMut::Apart(plane.map_rows()?));
        }
        let layout = picture.image_layout().and_then(|image| image.planes().first());
        let bytes = layout.map_or(1, |plane| plane.row_bytes.max(1));
        Ok(RowsMut::Together(plane.map()?, bytes))
    }

    /// All rows as one slice, if nothing lies between them.
    pub(super) fn together(&mut self) -> Option<&mut [u8]> {
        match self {
            RowsMut::Together(map, _) => Some(map),
            RowsMut::Apart(_) => None,
        }
    }

    /// The rows, from the top.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let (together, apart) = match self {
            RowsMut::Together(map, bytes) => (Some(map.chunks_mut(*bytes)), None),
            RowsMut::Apart(map) => (None, Some(map.rows_mut())),
        };
        together.into_iter().flatten().chain(apart.into_iter().flatten())
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
        Ok(Rows(picture.plane(0)?.map_rows_read()?))
    }

    /// The rows, from the top.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.rows()
    }

    /// Whether the memory kept its bytes: a file that was cut short meanwhile reads as zeros.
    pub(super) fn intact(&self) -> Result<()> {
        Ok(self.0.intact()?)
    }
}
