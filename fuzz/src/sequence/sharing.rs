//! Memory that leaves by descriptor and comes back: one kernel object has one ledger.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use tenure::{DynTensor, Sharing, TensorDyn, tensor::Result};

use super::{Held, World};
use crate::shown::Shown;

/// A descriptor that outlives the tensor it was asked of.
#[derive(Debug)]
pub(super) struct Descriptor {
    fd: OwnedFd,
    allocation: u64,
    size: usize,
    /// Whether it is memory of a stream.
    of_stream: bool,
}

impl World {
    /// Whether an import of the tensor's memory may write: a mapping that writes serves again, and
    /// otherwise the seals decide. What the model cannot know is asked of the tensor and then held
    /// against the seals.
    fn imported(&mut self, number: u8, answer: Result<TensorDyn>, read_only: bool) {
        let Some(held) = self.tensor(number) else { return };
        assert_eq!(answer.is_ok(), held.has_descriptor(), "{answer:?}");
        let Ok(tensor) = answer else { return };
        let writable = tensor.is_writable().expect("it exists");
        assert!(!(writable && read_only), "read-only was asked for");
        // A frame of a stream stays what it was when it was published, whoever asks.
        let published = held.lease.is_some() && !held.writable;
        assert!(!(writable && published), "a published frame came back for writing");
        assert!(writable || read_only || published || held.shadow.sealed.get() || !held.writable);
        assert!(tensor.aliases(&held.tensor) || held.shown.places.is_empty());
        let allocation = held.shadow.allocation.get().expect("it has a descriptor");
        if held.lease.is_some() && held.writable {
            // A slot that is being filled is used through its own tensor and no other mapping.
            assert!(!writable, "a slot came back for writing");
            let answer = tensor.map_strided_read();
            assert!(answer.is_err() || held.shown.places.is_empty(), "two ways into a slot");
            self.given.insert(allocation);
            return;
        }
        let taken = held.shadow.taken(&tensor);
        let back = Held { writable, taken, ..held.beside(tensor, held.shown.clone()) };
        self.given.insert(allocation);
        self.keep(back);
    }

    pub(super) fn descriptor(&mut self, number: u8) {
        let Some(held) = self.tensor(number) else { return };
        let answer = held.tensor.clone_fd().and_then(|fd| {
            let raw = held.tensor.buffer().raw()?;
            let whole = TensorDyn::from_fd(&fd, &[raw.size()], tenure::DType::U8, None)?;
            let layout = held.tensor.layout().shifted(held.tensor.buffer().start())?;
            TensorDyn::from_buffer(whole.buffer().clone(), layout)
        });
        self.imported(number, answer, false);
    }

    pub(super) fn send(&mut self, number: u8, read_only: bool) {
        let Some(held) = self.tensor(number) else { return };
        let (here, there) = UnixStream::pair().expect("a pair of sockets");
        let sharing = if read_only { Sharing::ReadOnly } else { Sharing::ReadWrite };
        let answer = tenure::send(&here, &held.tensor, sharing);
        if read_only && answer.is_ok() {
            held.shadow.sealed.set(true);
        }
        let answer = answer.and_then(|()| tenure::receive(&there));
        self.imported(number, answer, read_only);
    }

    /// A descriptor for later.
    pub(super) fn keep_descriptor(&mut self, number: u8) {
        let Some(held) = self.tensor(number) else { return };
        let answer = held.tensor.clone_fd();
        assert_eq!(answer.is_ok(), held.has_descriptor(), "{answer:?}");
        let Ok(fd) = answer else { return };
        let allocation = held.shadow.allocation.get().expect("it has a descriptor");
        let of_stream = held.lease.is_some();
        let size = held.tensor.buffer().raw().expect("it exists").size();
        self.given.insert(allocation);
        if self.descriptors.len() >= 4 {
            self.descriptors.remove(0);
        }
        self.descriptors.push(Descriptor { fd, allocation, size, of_stream });
    }

    /// Memory from a descriptor, whose tensor may be long gone.
    pub(super) fn open_descriptor(&mut self, number: u8) {
        let count = self.descriptors.len();
        if count == 0 {
            return;
        }
        let Descriptor { fd, allocation, size, of_stream } =
            &self.descriptors[usize::from(number) % count];
        let tensor = TensorDyn::from_fd(fd, &[*size], tenure::DType::U8, None);
        let tensor = tensor.expect("memory of our own");
        let writable = tensor.is_writable().expect("it exists");
        let shadow = self.known(*allocation);
        if *of_stream {
            // It has no part in the lease of the slot, so it must not write to frames.
            let filling = self.stream.as_ref().is_some_and(|stream| stream.fills(*allocation));
            assert!(!writable || filling, "memory of a published frame came back for writing");
            return;
        }
        let Some(shadow) = shadow else { return };
        let shown = Shown::contiguous(1, &[*size], 0);
        if *size <= super::ELEMENTS {
            let taken = shadow.taken(&tensor);
            self.keep(Held { taken, ..Held::alone(tensor, shown, writable, shadow) });
        }
    }
}
