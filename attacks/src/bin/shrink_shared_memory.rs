//! Shortening, growing or unsealing shared memory while a slice of it is held: through a second
//! descriptor, as another process would.
#![forbid(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;

use rustix::fs::{SealFlags, fcntl_add_seals, fcntl_get_seals};
use tenure::{Tensor, TensorMemory};
use tenure_attacks::refused;

fn main() {
    let tensor = Tensor::<u8>::new(&[1 << 16], Some(TensorMemory::Shm), None).expect("memory");
    tensor.fill(3).expect("free");
    let held = tensor.map_read().expect("free");
    let file = File::from(tensor.clone_fd().expect("shared memory has one"));
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let opened = OpenOptions::new().write(true).open(&path).expect("our own descriptor");
    for fd in [&file, &opened] {
        for size in [0, 1, 4096, (1 << 16) - 1, 1 << 17] {
            refused!(fd.set_len(size), error if error.raw_os_error() == Some(1));
        }
    }
    refused!(
        OpenOptions::new().write(true).truncate(true).open(&path),
        error if error.raw_os_error() == Some(1)
    );
    let seals = fcntl_get_seals(&file).expect("a memory file");
    assert!(seals.contains(SealFlags::SHRINK | SealFlags::GROW));
    // Seals only grow; a writable mapping stands against this one.
    refused!(fcntl_add_seals(&file, SealFlags::WRITE), rustix::io::Errno::BUSY);
    assert!(held.as_slice().iter().all(|byte| *byte == 3));
    held.intact().expect("nothing was taken away");
}
