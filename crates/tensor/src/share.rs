//! Tensors over a Unix socket: the memory by descriptor, the rest as a description.

use std::os::fd::{AsFd, BorrowedFd};

use crate::ElementKind;
use smallvec::SmallVec;
use tenure_memory::{Buffer, Protection, import, share};

use crate::wire::Description;
use crate::{Result, Tensor, TensorDyn};

/// What the receiver may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Read and write. The two processes agree on who does what when.
    ReadWrite,
    /// Read only, and the kernel sees to it: the memory is sealed, for good, against every new
    /// way of writing. This process goes on writing through the mapping it has.
    ReadOnly,
}

/// Sends a tensor over a connected Unix socket (stream or sequenced packets). No bytes of the
/// tensor are copied.
///
/// ```
/// use std::os::unix::net::UnixStream;
/// use tenure_tensor::{Sharing, Tensor, TensorMemory, receive, send};
/// let (here, there) = UnixStream::pair()?;
/// let t = Tensor::<u8>::new(&[480, 640, 3], Some(TensorMemory::Shm), Some("frame"))?;
/// send(&here, &t, Sharing::ReadOnly)?;
/// // In the other process:
/// let same = receive(&there)?;
/// assert_eq!((same.shape(), same.name()), (t.shape(), Some("frame")));
/// assert!(same.map().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the memory has no descriptor, cannot be sealed, or the socket refuses. Memory that was to
/// be read-only stays sealed then.
pub fn send<E: ElementKind>(socket: impl AsFd, tensor: &Tensor<E>, sharing: Sharing) -> Result<()> {
    let buffers: SmallVec<[&Buffer; 4]> =
        std::iter::once(&tensor.parts.buffer).chain(&tensor.parts.other_planes).collect();
    let body = Description::of(tensor, sharing)?.encode();
    let mut descriptors: SmallVec<[BorrowedFd<'_>; 4]> = SmallVec::new();
    for buffer in &buffers {
        descriptors.push(buffer.lend_descriptor()?);
    }
    // Last, as it cannot be undone.
    for buffer in buffers.iter().filter(|_| sharing == Sharing::ReadOnly) {
        buffer.raw()?.seal_for_others()?;
    }
    Ok(share::send(socket, &body, &descriptors)?)
}

/// Receives a tensor that another process sent. Everything in the message is checked against
/// the memory that came with it; who sent it is known from [`tenure_memory::share::peer`].
///
/// # Errors
/// If the other side is gone, the message is not one of ours, or the memory is not what it says.
/// Descriptors of a refused message are closed.
pub fn receive(socket: impl AsFd) -> Result<TensorDyn> {
    let message = share::receive(socket)?;
    let description = Description::decode(&message.body)?;
    let name = description.name.as_deref();
    let protection =
        if description.read_only { Protection::ReadOnly } else { Protection::AsAllowed };
    let mut buffers: SmallVec<[Buffer; 4]> = SmallVec::new();
    for fd in &message.descriptors {
        buffers.push(import(fd, 0, protection, name)?);
    }
    description.over(&buffers)
}
