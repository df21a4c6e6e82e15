//! A frame as drivers deliver it: NV12 with padded rows, in memory that came by descriptor.

use std::error::Error;

use tenure::{Colour, DType, PixelFormat, PlaneDescriptor, Tensor, TensorDyn, TensorMemory};

fn main() -> Result<(), Box<dyn Error>> {
    // What a driver would give: memory with rows of 2048 bytes for an image 1920 wide.
    let driver = Tensor::<u8>::new(&[2048 * 1620], Some(TensorMemory::Shm), Some("driver"))?;
    driver.fill(128)?;

    let plane = PlaneDescriptor::new(driver.clone_fd()?)?.with_stride(2048);
    let frame = TensorDyn::from_planes(&[plane], 1920, 1080, PixelFormat::Nv12, DType::U8)?
        .with_colour(Colour::HD);
    println!(
        "{} {}x{}, {} planes, rows {} bytes apart, {}",
        PixelFormat::Nv12,
        1920,
        1080,
        frame.plane_count(),
        frame.effective_row_stride().unwrap_or(0),
        Colour::HD,
    );
    assert!(frame.aliases(&driver));

    // Without the padding, for somebody who wants it flat.
    let mut flat = vec![0; frame.flat_bytes()];
    frame.copy_to_flat(&mut flat)?;
    println!("{} bytes without padding, {} with", flat.len(), 2048 * 1620);
    Ok(())
}
