//! Whether two tensors share bytes.

use crate::ElementKind;
use tenure_layout::Layout;
use tenure_memory::Buffer;

use crate::Tensor;

impl<E: ElementKind> Tensor<E> {
    /// Whether some byte belongs to elements of both tensors.
    ///
    /// Decided by place, so that it sees views, arenas, and memory that was imported again. The
    /// left and the right half of an image do not alias, although their rows interleave.
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
