//! A tensor in one minute: make it, write it, read it, look at it differently.

use std::error::Error;

use tenure::{PixelFormat, Region, Tensor, TensorMemory};

fn main() -> Result<(), Box<dyn Error>> {
    // Memory is chosen by itself, and the tensor says why not a better one.
    let input = Tensor::<f32>::new(&[1, 3, 224, 224], None, Some("model input"))?;
    println!("{:?} in {} ({})", input.shape(), input.memory(), input.space());
    for refusal in input.refusals() {
        println!("  not {}: {}", refusal.memory, refusal.error);
    }

    // A guard gives the elements; nobody else can touch them while it lives.
    let mut map = input.map()?;
    map.as_mut_slice().fill(0.5);
    println!("second map: {}", input.map_read().map(|_| ()).unwrap_err());
    drop(map);
    let mean = input.map_read()?.as_slice().iter().sum::<f32>() / input.len() as f32;
    println!("mean {mean}");

    // An image, a region of it, and the region as channels first: no bytes move until the copy.
    let frame = Tensor::<u8>::image(640, 480, PixelFormat::Rgb, Some(TensorMemory::Mem), None)?;
    frame.fill(128)?;
    let face = frame.view(Region::new(100, 50, 224, 224))?;
    let planar = Tensor::<u8>::new(&[3, 224, 224], Some(TensorMemory::Mem), None)?;
    planar.copy_from(&face.permute(&[2, 0, 1])?)?;
    println!("{:?} from {:?}", planar.shape(), frame.shape());
    Ok(())
}
