//! Somebody else's memory file that was not sealed, shortened after it was imported. Import seals
//! it; what refuses to be sealed is not shared memory.
#![forbid(unsafe_code)]

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::Errno;
use tenure::memory::{Error, Protection, import};
use tenure::{Tensor, TensorMemory};
use tenure_attacks::{memory, refused};

fn main() {
    let sealable = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let fd = memfd_create("theirs", sealable).expect("a memory file");
    ftruncate(&fd, 8192).expect("its size");
    let tensor = Tensor::<u8>::from_fd(&fd, &[8192], None).expect("can be sealed");
    let mut held = tensor.map().expect("free");
    refused!(ftruncate(&fd, 0), Errno::PERM);
    refused!(ftruncate(&fd, 8191), Errno::PERM);
    held.as_mut_slice().fill(1);
    ftruncate(&fd, 1 << 20).expect("growing harms nobody");
    assert_eq!(held.as_slice(), [1; 8192]);

    // Sealed against sealing, and not against shrinking.
    let stubborn = memfd_create("stubborn", sealable).expect("a memory file");
    ftruncate(&stubborn, 8192).expect("its size");
    fcntl_add_seals(&stubborn, SealFlags::GROW | SealFlags::SEAL).expect("sealed");
    refused!(Tensor::<u8>::from_fd(&stubborn, &[8192], None), memory!(Unsealed { .. }));

    // Without seals at all it is a file: read-only, and watched.
    let plain = memfd_create("plain", MemfdFlags::CLOEXEC).expect("a memory file");
    ftruncate(&plain, 8192).expect("its size");
    rustix::io::pwrite(&plain, &[2; 8192], 0).expect("written");
    refused!(import(&plain, 8192, Protection::Writable, None), Error::Unsealed { .. });
    let file = Tensor::<u8>::from_fd(&plain, &[8192], None).expect("a file");
    assert_eq!(file.memory(), TensorMemory::File);
    refused!(file.map(), memory!(ReadOnly { .. }));
    let held = file.map_read().expect("free");
    ftruncate(&plain, 0).expect("its own size");
    assert!(held.as_slice().iter().all(|byte| *byte == 0));
    refused!(held.intact(), memory!(Truncated));
}
