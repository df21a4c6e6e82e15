//! A second mapping of one's own memory, through a descriptor that was given away and taken back,
//! as the same and as another element type, whole and by planes.
#![forbid(unsafe_code)]

use tenure::memory::{Protection, import};
use tenure::{DType, PixelFormat, PlaneDescriptor, Tensor, TensorDyn, TensorMemory};
use tenure_attacks::{memory, refused};

fn main() {
    let tensor = Tensor::<u32>::new(&[1024], Some(TensorMemory::Shm), None).expect("a page");
    let fd = tensor.clone_fd().expect("shared memory has one");
    let again = Tensor::<u32>::from_fd(&fd, &[1024], None).expect("our own memory");
    let other = Tensor::<u8>::from_fd(&fd, &[4096], None).expect("our own memory");
    // Insisting on a read-only mapping makes a second one at another address.
    let reading = import(&fd, 4096, Protection::ReadOnly, None).expect("our own memory");
    let plane = PlaneDescriptor::new(&fd).expect("a descriptor");
    let image = TensorDyn::from_planes(&[plane], 32, 32, PixelFormat::Rgba, DType::U8);
    let image = image.expect("our own memory");
    assert!(again.aliases(&tensor) && other.aliases(&tensor) && image.aliases(&tensor));

    let mut held = tensor.map().expect("free");
    refused!(again.map(), memory!(Busy { .. }));
    refused!(other.map_read(), memory!(Busy { .. }));
    refused!(image.map(), memory!(Busy { .. }));
    refused!(reading.read(), tenure::memory::Error::Busy { .. });
    held.as_mut_slice()[1] = 0x0102_0304;
    drop(held);

    let seen = reading.read().expect("free");
    refused!(tensor.map(), memory!(Busy { .. }));
    refused!(again.fill(0), memory!(Busy { .. }));
    assert_eq!(seen.as_bytes()[4..8], 0x0102_0304u32.to_ne_bytes());
}
