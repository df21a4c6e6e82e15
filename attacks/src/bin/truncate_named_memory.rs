//! Shortening named shared memory, which has no seals, while mutable slices of it are held.
//! Nothing kills the process, and what is written to a slice stays there while it is held.
#![forbid(unsafe_code)]

use std::fs::OpenOptions;

use tenure::memory::kind::shm::{Shm, remove_named};
use tenure::{Tensor, TensorMap};
use tenure_attacks::{memory, refused};

const PAGES: usize = 8;

fn page(map: &mut TensorMap<u8>, page: usize) -> &mut [u8] {
    &mut map.as_mut_slice()[page * 4096..][..4096]
}

fn main() {
    let name = format!("tenure-attack-{}", std::process::id());
    let tensor = Tensor::<u8>::builder(&[PAGES * 4096]).allocator(&Shm::named(&name)).build();
    let tensor = tensor.expect("named memory");
    let path = format!("/dev/shm/{name}");
    let file = OpenOptions::new().write(true).open(&path).expect("our own memory");
    remove_named(&name).expect("our own name");

    let half = |range| tensor.slice(0, range).expect("inside");
    let mut low = half(0..PAGES * 2048).map().expect("free");
    let mut high = half(PAGES * 2048..PAGES * 4096).map().expect("free");
    low.as_mut_slice().fill(1);
    high.as_mut_slice().fill(1);
    file.set_len(0).expect("our own memory");

    // From the last page to the first: each finds its page missing, and none may lose what was
    // written to the pages before.
    for at in (0..PAGES / 2).rev() {
        assert!(page(&mut high, at).iter().all(|byte| *byte == 0), "page {at} of the upper half");
        page(&mut high, at).fill(100 + at as u8);
    }
    for at in (0..PAGES / 2).rev() {
        assert!(page(&mut low, at).iter().all(|byte| *byte == 0), "page {at} of the lower half");
        page(&mut low, at).fill(at as u8);
    }
    for at in 0..PAGES / 2 {
        assert!(page(&mut low, at).iter().all(|byte| *byte == at as u8), "page {at}");
        assert!(page(&mut high, at).iter().all(|byte| *byte == 100 + at as u8), "page {at}");
    }
    let raw = tensor.buffer().raw().expect("placed");
    refused!(raw.intact(), tenure::memory::Error::Truncated);
    drop((low, high));
    refused!(tensor.map(), memory!(Truncated));
    refused!(tensor.map_read(), memory!(Truncated));
    refused!(tensor.fill(0), memory!(Truncated));
}
