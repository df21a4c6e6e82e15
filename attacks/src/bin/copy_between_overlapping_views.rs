//! Copies whose source and destination share bytes: the result would depend on the order. Halves
//! that only interleave are copied, and right.
#![forbid(unsafe_code)]

use tenure::{PixelFormat, Region, Tensor, TensorMemory};
use tenure_attacks::{memory, refused};

fn main() {
    let values: Vec<u8> = (0..64).collect();
    let tensor = Tensor::from_slice(&values, &[8, 8]).expect("64 bytes");
    let rows = |range| tensor.slice(0, range).expect("inside");
    let columns = |range| tensor.slice(1, range).expect("inside");
    refused!(tensor.copy_from(&tensor), memory!(Busy { .. }));
    refused!(rows(1..5).copy_from(&rows(0..4)), memory!(Busy { .. }));
    refused!(rows(0..4).copy_from(&rows(3..7)), memory!(Busy { .. }));
    refused!(columns(1..5).copy_from(&columns(0..4)), memory!(Busy { .. }));
    refused!(tensor.copy_from(&tensor.permute(&[1, 0]).expect("axes")), memory!(Busy { .. }));
    let window = tensor.slice_step(1, 0..8, 2).expect("every second");
    refused!(window.copy_from(&columns(0..4)), memory!(Busy { .. }));
    assert_eq!(tensor.map_read().expect("free").as_slice(), values, "nothing was written");

    // Interleaved in memory, and apart.
    columns(4..8).copy_from(&columns(0..4)).expect("no byte in common");
    let odd = tensor.slice_step(0, 1..8, 2).expect("odd rows");
    odd.copy_from(&tensor.slice_step(0, 0..8, 2).expect("even rows")).expect("apart");
    let read = tensor.map_read().expect("free");
    for row in 0..8 {
        for column in 0..8 {
            let expected = (row / 2 * 2 * 8 + column % 4) as u8;
            assert_eq!(read.at(&[row, column]), Some(&expected), "{row} {column}");
        }
    }
    drop(read);
    // Somebody holds a byte between the two: not theirs, and still refused.
    let held = tensor.slice(0, 3..4).expect("a row").map_read().expect("free");
    refused!(columns(4..8).copy_from(&columns(0..4)), memory!(Busy { .. }));
    drop(held);

    let shared = Tensor::<u8>::new(&[4096], Some(TensorMemory::Shm), None).expect("a page");
    let fd = shared.clone_fd().expect("it has one");
    let again = Tensor::<u8>::from_fd(&fd, &[4096], None).expect("the same memory");
    refused!(again.copy_from(&shared), memory!(Busy { .. }));

    let frame = Tensor::<u8>::image(16, 8, PixelFormat::Nv12, None, None).expect("an image");
    let view = |x, y| frame.view(Region::new(x, y, 8, 4)).expect("inside");
    refused!(view(2, 0).copy_from(&view(0, 0)), memory!(Busy { .. }));
    refused!(view(0, 2).copy_from(&view(0, 0)), memory!(Busy { .. }));
    view(8, 0).copy_from(&view(0, 0)).expect("apart");
}
