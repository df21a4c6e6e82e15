//! A tensor on a device and back, while the program goes on. Without a device it says why.

use std::error::Error;

use tenure::{LogicalMemorySpace, Tensor, TensorMemory, gpu};

fn main() -> Result<(), Box<dyn Error>> {
    let device = match gpu::open("vulkan:0") {
        Ok(device) => device,
        Err(why) => {
            println!("no device: {why}");
            return Ok(());
        }
    };
    let properties = device.properties();
    println!("{} ({})", properties.name, properties.driver);

    // There, at once; main memory is reached where it is, or goes through pinned memory.
    let here = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    let there = device.to(&here, TensorMemory::Device)?;
    assert_eq!(there.space(), LogicalMemorySpace::GpuMemory { device_id: properties.id as usize });
    // The CPU does not reach it, and is told what to do instead.
    println!("{}", there.map_read().unwrap_err());

    // And back, later: both sides are held until the fence is done.
    let (back, fence) = there.to_later(LogicalMemorySpace::PinnedMemory)?;
    fence.wait(None)?;
    assert_eq!(back.map_read()?.as_slice(), [1.0, 2.0, 3.0, 4.0]);

    for heap in device.heaps() {
        println!("{}: {} of {} bytes in use", heap.memory, heap.used, heap.bytes);
    }
    Ok(())
}
