//! An image's bytes, held for a conversion: addresses of rows that stay valid until dropped.
#![expect(unsafe_code, reason = "addresses that holds keep valid cross threads")]

use smallvec::SmallVec;
use tenure_memory::{Access, Hold};
use tenure_tensor::{PlaneLayout, TensorDyn};

use crate::{Error, Result};

/// The planes of an image, held.
#[derive(Debug)]
pub(crate) struct Held {
    /// One, or one for each plane: no format has more than four.
    holds: SmallVec<[Hold; 4]>,
    planes: SmallVec<[PlaneAddress; 4]>,
}

/// Where a plane's first row is, and how its rows lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlaneAddress {
    first: *mut u8,
    layout: PlaneLayout,
}

// SAFETY: an address with its extent; whoever dereferences it promises the rest.
unsafe impl Send for PlaneAddress {}
// SAFETY: as above.
unsafe impl Sync for PlaneAddress {}

/// Checks that the CPU can reach every plane of an image.
///
/// # Errors
/// [`tenure_memory::Error::NotMappable`].
pub(crate) fn check_reachable(image: &TensorDyn) -> Result<()> {
    let planes = image.image_layout().map_or(0, |layout| layout.planes().len());
    for plane in 0..planes {
        // What is not allocated yet will be reachable.
        let Some(raw) = image.plane_buffer(plane)?.raw_if_placed() else { continue };
        if !raw.cpu_accessible() {
            let (memory, space) = (raw.memory(), raw.space());
            return Err(tenure_memory::Error::NotMappable { memory, space }.into());
        }
    }
    Ok(())
}

impl Held {
    /// Holds every plane of an image to read it.
    pub(crate) fn to_read(image: &TensorDyn) -> Result<Held> {
        Held::new(image, Access::KernelRead)
    }

    /// Holds every plane of an image to write it.
    pub(crate) fn to_write(image: &TensorDyn) -> Result<Held> {
        Held::new(image, Access::KernelWrite)
    }

    fn new(image: &TensorDyn, access: Access) -> Result<Held> {
        let Some(layout) = image.image_layout() else {
            let (role, shape) = ("tensor", image.shape().to_vec());
            return Err(Error::from(crate::detail::NotAnImage { role, shape }));
        };
        let mut held = Held { holds: SmallVec::new(), planes: SmallVec::new() };
        if image.is_multi_buffer() {
            for (index, plane) in layout.planes().iter().enumerate() {
                let hold = image.plane_buffer(index)?.hold(access, plane.span())?;
                held.planes.push(PlaneAddress { first: hold.address().as_ptr(), layout: *plane });
                held.holds.push(hold);
            }
        } else {
            // Planes may lie between each other's rows: one hold over all of them.
            let span = layout.span();
            let hold = image.buffer().hold(access, span.clone())?;
            for plane in layout.planes() {
                let first = hold.address().as_ptr().wrapping_add(plane.offset - span.start);
                held.planes.push(PlaneAddress { first, layout: *plane });
            }
            held.holds.push(hold);
        }
        Ok(held)
    }

    pub(crate) fn planes(&self) -> &[PlaneAddress] {
        &self.planes
    }

    /// Whether the memory kept its bytes: a file that was cut short meanwhile reads as zeros.
    pub(crate) fn intact(&self) -> Result<()> {
        self.holds.iter().try_for_each(|hold| hold.raw().intact())?;
        Ok(())
    }
}

impl PlaneAddress {
    /// Rows of scratch memory: how many, bytes from one to the next, and bytes of each.
    pub(crate) fn of_rows(
        bytes: &[u8],
        (rows, row_stride, row_bytes): (usize, usize, usize),
    ) -> Self {
        assert!(rows > 0 && row_bytes <= row_stride && rows * row_stride <= bytes.len());
        let layout = PlaneLayout { offset: 0, row_stride, rows, row_bytes };
        PlaneAddress { first: bytes.as_ptr().cast_mut(), layout }
    }

    /// Address of a row; rows beyond the last give the last.
    pub(crate) fn row(&self, row: usize) -> *mut u8 {
        self.first.wrapping_add(row.min(self.layout.rows - 1) * self.layout.row_stride)
    }

    /// Bytes from a row to the next.
    pub(crate) fn stride(&self) -> usize {
        self.layout.row_stride
    }

    pub(crate) fn rows(&self) -> usize {
        self.layout.rows
    }

    /// Bytes of a row that carry samples.
    pub(crate) fn row_bytes(&self) -> usize {
        self.layout.row_bytes
    }
}
