//! Descriptors that are not what the producer makes of them.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use tenure_memory::{Access, Buffer};
use tenure_stream::wire::{Fault, FrameHead};
use tenure_stream::{Error, Guarded};
use tenure_tensor::TensorMemory;

use crate::liar::{Liar, description, frame, head, packet};
use crate::stage::SOON;
use crate::vgem::Work;
use crate::{dma, heap, raw, sources};

fn descriptor(buffer: &Buffer) -> OwnedFd {
    buffer.clone_descriptor().unwrap()
}

fn memory_file(name: &str, seals: SealFlags) -> OwnedFd {
    let fd = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&fd, 4096).unwrap();
    fcntl_add_seals(&fd, seals).unwrap();
    fd
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn memory_is_what_the_kernel_says() {
    let liar = Liar::new();
    for source in sources() {
        let fd = descriptor(&dma(source.clone(), 4096));
        let told = liar.tell(&[(frame(4096), vec![fd.as_fd()])]).unwrap().unwrap();
        assert_eq!((told.memory(), told.guarded()), (TensorMemory::Dma, Guarded::Open));
        // Smaller than the frame.
        let refused = liar.tell(&[(frame(4097), vec![fd.as_fd()])]).unwrap_err().to_string();
        assert!(refused.contains("4097") && refused.contains("4096"), "{source:?}: {refused}");
    }
    // A memory file is no DMA-BUF, whatever it is called, and has to be sealed.
    let named = memory_file("dmabuf", SealFlags::SHRINK | SealFlags::GROW);
    assert!(matches!(liar.fault(&frame(4096), &[named.as_fd()]), Fault::Unsealed { .. }));
    // One after the other in the same slot: each is looked at.
    let all = SealFlags::SHRINK | SealFlags::GROW | SealFlags::FUTURE_WRITE | SealFlags::SEAL;
    let (sealed, device) = (memory_file("lie", all), descriptor(&heap(4096)));
    let words = description(4096);
    let again = packet(FrameHead { generation: 2, ..head(1, words.len()) }, &words);
    let told = |first: BorrowedFd<'_>, second: BorrowedFd<'_>| {
        let packets = [(frame(4096), vec![first]), (again.clone(), vec![second])];
        let told = liar.tell(&packets).unwrap().unwrap();
        (told.memory(), told.guarded())
    };
    let first = told(sealed.as_fd(), device.as_fd());
    assert_eq!(first, (TensorMemory::Dma, Guarded::Open));
    let first = told(device.as_fd(), sealed.as_fd());
    assert_eq!(first, (TensorMemory::Shm, Guarded::Sealed));
    // A fence is no memory.
    let fence = heap(4096).fence(Access::Read).unwrap();
    assert!(matches!(liar.fault(&frame(4096), &[fence.fd()]), Fault::Memory { .. }));
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn a_fence_that_is_memory_delays_and_nothing_else() {
    let liar = Liar::new();
    let buffer = heap(4096);
    let fd = descriptor(&buffer);
    let words = description(4096);
    let fenced = packet(FrameHead { fence: true, ..head(1, words.len()) }, &words);
    let work = Work::begin(&buffer, true);
    let (mut subscriber, socket) = liar.welcome();
    assert!(raw::send(&socket, &fenced, &[fd.as_fd(), fd.as_fd()]));
    assert!(subscriber.next(Duration::from_millis(30)).unwrap().is_none());
    work.end();
    assert!(subscriber.next(SOON).unwrap().is_some());
    // A memory file cannot be waited for, and is ready at once.
    let file = memory_file("sync_file", SealFlags::empty());
    let answer = liar.tell(&[(fenced, vec![fd.as_fd(), file.as_fd()])]);
    assert!(matches!(answer, Ok(Some(_)) | Err(Error::Memory(_))), "{answer:?}");
}
