//! Whether two tensors share bytes.

use crate::ElementKind;
use tenure_layout::Layout;
use tenure_memory::Buffer;

use crate::Tensor;

impl<E: ElementKind> Tensor<E> {
    /// Whether some byte belongs to elements of both tensors.
    ///
    /// Decided by place, so that it sees views, arenas, and memory that was imported again. The
    /// left and the right half of an image do not alias, although their rows interleave, and both can
    /// be mapped at once.
    ///
    /// The answer is exact. The ledger, which decides what may be mapped at the same time, gives the
    /// same for tensors whose elements are rows at one stride (regions of packed images, planes,
    /// columns and rows of matrices) if the strides are equal or one of them has no gaps. For other
    /// layouts, such as regions of a planar image or of a batch, and for rows at different strides,
    /// it goes by everything between the first and the last byte: two tensors that do not alias may
    /// then exclude each other, never the other way round.
    ///
    /// ```
    /// use tenure_tensor::{PixelFormat, Region, Tensor};
    /// let image = Tensor::<u8>::image(16, 8, PixelFormat::Rgb, None, None)?;
    /// let left = image.view(Region::new(0, 0, 8, 8))?;
    /// let right = image.view(Region::new(8, 0, 8, 8))?;
    /// assert!(!left.aliases(&right) && left.aliases(&image));
    /// let (_left, _right) = (left.map_rows()?, right.map_rows()?);
    /// assert!(image.map_read().is_err());
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    pub fn aliases<F: ElementKind>(&self, other: &Tensor<F>) -> bool {
        let theirs = other.parts();
        self.parts().iter().any(|(own, own_layout)| {
            theirs.iter().any(|(buffer, layout)| share(own, own_layout, buffer, layout))
        })
    }

    /// Every buffer of the tensor with what it shows of it.
    fn parts(&self) -> Vec<(&Buffer, Layout)> {
        let whole = || vec![(&self.parts.buffer, self.parts.meta.layout.clone())];
        match &self.parts.meta.image {
            Some(image) if !self.parts.meta.batched() => (0..image.layout.planes().len())
                .map(|plane| {
                    Some((self.plane_buffer(plane).ok()?, image.layout.plane_layout(plane).ok()?))
                })
                .collect::<Option<Vec<_>>>()
                .unwrap_or_else(whole),
            _ => whole(),
        }
    }
}

fn share(own: &Buffer, own_layout: &Layout, other: &Buffer, layout: &Layout) -> bool {
    if !own.aliases(other) {
        return false;
    }
    // Parts of one allocation: count both layouts from its start and compare elements.
    match (own_layout.shifted(own.start()), layout.shifted(other.start())) {
        (Ok(here), Ok(there)) => here.shares_bytes(&there),
        _ => true,
    }
}
