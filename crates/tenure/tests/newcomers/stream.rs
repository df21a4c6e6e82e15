//! A publisher converts straight into a slot; a subscriber in another thread takes the newest.
//!
//! First written with `Spec::image(format, width, height)`: the size comes first everywhere.

use std::time::Duration;

use tenure::image::{Convert, ImageProcessor};
use tenure::stream::{Meta, Publisher, Spec, Subscriber};
use tenure::{PixelFormat, Tensor};

pub(crate) fn stream(name: &str) -> Result<(), Box<dyn std::error::Error>> {
    let mut publisher = Publisher::new(name, Spec::image(64, 48, PixelFormat::Rgb)?)?;
    let subscribed = name.to_owned();
    let there = std::thread::spawn(move || -> tenure::stream::Result<()> {
        let mut s = Subscriber::open(&subscribed)?;
        for frame in s.frames().take(3) {
            let frame = frame?;
            println!("{} {}", frame.sequence(), frame.map_read()?[0]);
        }
        Ok(())
    });
    let p = ImageProcessor::new()?;
    let camera = Tensor::<u8>::image(128, 96, PixelFormat::Nv12, None, None)?;
    camera.fill(128)?;
    while !there.is_finished() {
        let slot = publisher.claim()?;
        p.convert(&camera, &slot, &Convert::new())?;
        slot.publish(Meta::default())?;
        std::thread::sleep(Duration::from_millis(10));
    }
    there.join().map_err(|_| "the subscriber panicked")??;
    Ok(())
}
