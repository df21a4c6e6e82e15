//! Shortening a mapped file while a slice of it is held. No signal kills the process: what is gone
//! reads as zero, the guard says so, and the next map is refused.
#![forbid(unsafe_code)]

use tenure::{Tensor, TensorDyn};
use tenure_attacks::{memory, refused};

const PAGES: usize = 16;

fn main() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), vec![7; PAGES * 4096]).expect("written");
    let tensor = TensorDyn::open(file.path()).expect("a file");
    let last_half = tensor.slice(0, PAGES * 2048..PAGES * 4096).expect("inside");
    let (whole, half) = (tensor.map_read().expect("free"), last_half.map_read().expect("free"));
    whole.intact().expect("nothing has happened");

    file.as_file().set_len(4096).expect("our own file");
    refused!(whole.intact(), memory!(Truncated));
    let (there, gone) = whole.as_slice().split_at(4096);
    assert!(there.iter().all(|byte| *byte == 7));
    assert!(gone.iter().rev().all(|byte| *byte == 0));
    assert!(half.as_slice().iter().all(|byte| *byte == 0));
    refused!(half.intact(), memory!(Truncated));
    refused!(tensor.map_read(), memory!(Truncated));
    refused!(last_half.map_read(), memory!(Truncated));
    drop((whole, half));
    refused!(tensor.to(None), memory!(Truncated));

    // A cut inside the last page raises no signal, and is noticed all the same.
    std::fs::write(file.path(), [5; 100]).expect("written");
    let short = Tensor::<u8>::from_fd(file.as_file(), &[100], None).expect("a file");
    let held = short.map_read().expect("free");
    file.as_file().set_len(10).expect("our own file");
    assert_eq!((held.as_slice()[9], held.as_slice()[10]), (5, 0));
    refused!(held.intact(), memory!(Truncated));
}
