//! A second mapping of one's own memory, opened for writing by its name in `/proc/self/fd`:
//! memory that was lent before, and memory whose descriptor nobody was ever given.
#![forbid(unsafe_code)]

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;

use tenure::memory::{Protection, import};
use tenure::{Tensor, TensorMemory};
use tenure_attacks::{memory, open_memory_files, refused};

fn main() {
    let lent = Tensor::<u8>::new(&[4096], Some(TensorMemory::Shm), Some("lent")).expect("a page");
    let fd = lent.clone_fd().expect("shared memory has one");
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let file = OpenOptions::new().read(true).write(true).open(path).expect("our own descriptor");
    let again = Tensor::<u8>::from_fd(&file, &[4096], None).expect("our own memory");
    let held = lent.map().expect("free");
    refused!(again.map(), memory!(Busy { .. }));
    refused!(again.map_read(), memory!(Busy { .. }));
    drop((held, lent, again, fd, file));

    let kept = Tensor::<u8>::new(&[4096], Some(TensorMemory::Shm), Some("kept")).expect("a page");
    let [path] = &open_memory_files()[..] else { panic!("one memory file should be open") };
    let file = OpenOptions::new().read(true).write(true).open(path).expect("our own descriptor");
    for protection in [Protection::Writable, Protection::ReadOnly] {
        let second = import(&file, 4096, protection, None).expect("our own memory");
        let mut held = kept.map().expect("free");
        refused!(second.write(), error if error.is_busy() || protection == Protection::ReadOnly);
        refused!(second.read(), error if error.is_busy());
        held.as_mut_slice()[7] += 1;
        drop(held);
        let seen = second.read().expect("free");
        refused!(kept.map(), memory!(Busy { .. }));
        assert_eq!(seen.as_bytes()[7], kept.map_read().expect("reading").as_slice()[7]);
    }
}
