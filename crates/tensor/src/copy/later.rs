//! Copies that go on while the program does something else, and several copies at once.

use std::sync::Arc;

use tenure_memory::backend::{After, Carrier, Carry};
use tenure_memory::{Allocator, Fence};

use super::{To, carry};
use crate::{ElementKind, Result, Tensor, TensorDyn};

impl<E: ElementKind> Tensor<E> {
    /// Begins a copy of `source` into this tensor. Both are held until the fence is done: mapping
    /// this one, or writing the other, is [`tenure_memory::Error::Busy`] until then; whoever would
    /// rather wait waits for the fence first.
    ///
    /// Between memories that the CPU reaches, the copy is done at once. A mapped file may be cut off
    /// while a device reads it: [`Tensor::intact`] says so when the fence is done.
    ///
    /// # Errors
    /// As [`Tensor::copy_from`].
    pub fn copy_from_later<F: ElementKind>(&self, source: &Tensor<F>) -> Result<Fence> {
        let mut fences = copy_all_later(&[(&self.to_dyn(), &source.to_dyn())])?;
        fences.pop().map_or_else(done, Ok)
    }

    /// Begins a copy as [`Tensor::to`] makes it, and gives the tensor that it goes to.
    ///
    /// # Errors
    /// As [`Tensor::to`].
    pub fn to_later<'a>(&self, place: impl Into<To<'a>>) -> Result<(Tensor<E>, Fence)> {
        let copy = self.like(place.into())?;
        let fence = copy.copy_from_later(self)?;
        Ok((copy, fence))
    }

    /// Begins a copy into memory from any allocator, and gives the tensor that it goes to.
    ///
    /// # Errors
    /// As [`Tensor::to_in`].
    pub fn to_in_later(&self, allocator: &dyn Allocator) -> Result<(Tensor<E>, Fence)> {
        self.to_later(allocator)
    }
}

fn done() -> Result<Fence> {
    let (signal, fence) = Fence::pair()?;
    signal.done();
    Ok(fence)
}

/// The copies that one queue of a device does.
struct Batch {
    carrier: Arc<dyn Carrier>,
    work: Vec<Carry>,
    after: Vec<After>,
}

/// Copies pairs of tensors (to, from), the share of each device's queue in one go, and waits.
///
/// # Errors
/// As [`Tensor::copy_from`] for each of them; a tensor cannot be written by one copy and be part
/// of another. If one is refused, some others may be done.
pub fn copy_all(pairs: &[(&TensorDyn, &TensorDyn)]) -> Result<()> {
    for Batch { carrier, work, after } in prepare(pairs)? {
        carrier.carry(work)?;
        after.into_iter().for_each(|after| after());
    }
    pairs.iter().try_for_each(|(to, from)| from.intact().and_then(|()| to.intact()))
}

/// Begins copies of pairs of tensors (to, from), the share of each device's queue in one go. There is
/// a fence for each queue that takes part.
///
/// # Errors
/// As [`copy_all`].
pub fn copy_all_later(pairs: &[(&TensorDyn, &TensorDyn)]) -> Result<Vec<Fence>> {
    let begin = |Batch { carrier, work, after }: Batch| {
        let after: Option<After> = match after.is_empty() {
            true => None,
            false => Some(Box::new(|| after.into_iter().for_each(|after| after()))),
        };
        Ok(carrier.carry_later(work, after)?)
    };
    prepare(pairs)?.into_iter().map(begin).collect()
}

/// Holds everything that devices have to carry, and does the rest at once.
fn prepare(pairs: &[(&TensorDyn, &TensorDyn)]) -> Result<Vec<Batch>> {
    let mut batches: Vec<Batch> = vec![];
    for (to, from) in pairs {
        // Planes that lie in between each other cannot be held side by side.
        if !to.must_be_carried(from) || to.planes_interleave()? {
            to.copy_from(from)?;
            continue;
        }
        for (to, from) in to.sides(from)? {
            let one = carry::prepare((to.0, &to.1), (from.0, &from.1))?;
            let queue = |carrier: &Arc<dyn Carrier>| (carrier.number(), carrier.queue());
            let own = queue(&one.carrier);
            let known = batches.iter().position(|batch| queue(&batch.carrier) == own);
            let at = known.unwrap_or_else(|| {
                let carrier = Arc::clone(&one.carrier);
                batches.push(Batch { carrier, work: vec![], after: vec![] });
                batches.len() - 1
            });
            if let Some(batch) = batches.get_mut(at) {
                batch.work.extend(one.work);
                batch.after.extend(one.after);
            }
        }
    }
    Ok(batches)
}
