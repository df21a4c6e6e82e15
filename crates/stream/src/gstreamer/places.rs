//! Where the planes of a picture lie, in one memory or in several, and where GStreamer expects them.

use smallvec::SmallVec;
use tenure_layout::ImageLayout;
use tenure_tensor::TensorDyn;

use crate::Result;

/// The bytes of a buffer of GStreamer's that are in one memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    /// The first of them in the memory.
    pub(super) offset: usize,
    /// How many there are.
    pub(super) size: usize,
}

/// The pieces of a buffer, in the order in which they follow each other.
pub(super) type Pieces = SmallVec<[Piece; 1]>;

/// Where a plane is in a buffer of GStreamer's, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Place {
    pub(super) offset: usize,
    pub(super) stride: usize,
}

/// A plane that is not where GStreamer expects it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Elsewhere {
    pub(super) plane: usize,
    /// Where it expects it.
    pub(super) usual: Place,
}

/// A picture as a buffer of GStreamer's.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) pieces: Pieces,
    pub(super) planes: SmallVec<[Place; 4]>,
    /// The first plane that is not where it is expected.
    pub(super) elsewhere: Option<Elsewhere>,
}

/// Where GStreamer expects the planes of a picture that comes without a meta, and how many bytes
/// each has: rows are multiples of four bytes, and subsampled pictures have even heights.
fn usual(layout: &ImageLayout) -> SmallVec<[(Place, usize); 4]> {
    let (_, down) = layout.format().subsampling();
    let height = layout.height().next_multiple_of(down);
    let mut end = 0;
    let usual = layout.planes().iter().map(|plane| {
        // All planes with pairs of chroma have rows as long as those of luma, or twice as long.
        let stride = plane.row_bytes.next_multiple_of(4);
        let rows = if plane.rows == layout.height() { height } else { height / down };
        let place = Place { offset: end, stride };
        end += stride * rows;
        (place, stride * rows)
    });
    usual.collect()
}

impl Placed {
    pub(super) fn of(tensor: &TensorDyn, layout: &ImageLayout) -> Result<Placed> {
        if tensor.is_multi_buffer() {
            Placed::apart(tensor, layout)
        } else {
            Ok(Placed::together(tensor, layout))
        }
    }

    /// All planes are in one memory.
    fn together(tensor: &TensorDyn, layout: &ImageLayout) -> Placed {
        let usual = usual(layout);
        let bytes: usize = usual.iter().map(|(_, bytes)| bytes).sum();
        let first = layout.planes().iter().map(|plane| plane.offset).min().unwrap_or(0);
        let planes: SmallVec<[Place; 4]> = layout
            .planes()
            .iter()
            .map(|plane| Place { offset: plane.offset - first, stride: plane.row_stride })
            .collect();
        let room = tensor.buffer().len().saturating_sub(first);
        let plane = planes.iter().zip(&usual).position(|(plane, (usual, _))| plane != usual);
        let plane = plane.or((bytes > room).then_some(planes.len().saturating_sub(1)));
        let elsewhere = plane.map(|plane| {
            let usual = usual.get(plane).map(|(usual, _)| *usual).unwrap_or_default();
            Elsewhere { plane, usual }
        });
        let size = if elsewhere.is_some() { layout.span().end - first } else { bytes };
        let offset = tensor.buffer().start() + first;
        Placed { pieces: SmallVec::from_slice(&[Piece { offset, size }]), planes, elsewhere }
    }

    /// Every plane is in a memory of its own, and begins where the one before ends.
    fn apart(tensor: &TensorDyn, layout: &ImageLayout) -> Result<Placed> {
        let mut placed = Placed { pieces: Pieces::new(), planes: SmallVec::new(), elsewhere: None };
        let mut end = 0;
        for (index, (plane, (usual, bytes))) in
            layout.planes().iter().zip(usual(layout)).enumerate()
        {
            let buffer = tensor.plane_buffer(index)?;
            let room = buffer.len().saturating_sub(plane.offset);
            let place = Place { offset: end, stride: plane.row_stride };
            let fits = place == usual && bytes <= room;
            if !fits && placed.elsewhere.is_none() {
                placed.elsewhere = Some(Elsewhere { plane: index, usual });
            }
            // With what follows its last row, if it is there.
            let size = if fits { bytes } else { plane.span().len() };
            placed.pieces.push(Piece { offset: buffer.start() + plane.offset, size });
            placed.planes.push(place);
            end += size;
        }
        Ok(placed)
    }
}
