//! A stream from one process to another: frames are filled in place and read in place.

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tenure::PixelFormat;
use tenure::stream::{Meta, Publisher, Spec, Subscriber};

const FRAMES: u8 = 30;

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1) {
        Some(directory) => consumer(Path::new(&directory)),
        None => producer(),
    }
}

fn producer() -> Result<(), Box<dyn Error>> {
    // Without `directory`, streams are where every program of this user finds them.
    let directory = std::env::temp_dir().join(format!("tenure-example-{}", std::process::id()));
    let mut publisher = Publisher::builder("cam0/frame")
        .directory(&directory)
        .spec(Spec::image(640, 480, PixelFormat::Rgb)?)
        .open()?;
    let mut child = Command::new(std::env::current_exe()?).arg(&directory).spawn()?;
    while publisher.consumers() == 0 && child.try_wait()?.is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }

    for number in 0..FRAMES {
        let slot = publisher.claim()?;
        slot.typed::<u8>()?.fill(number)?;
        let receipt = slot.publish(Meta::new().blob(b"filled in place"))?;
        println!("frame {}: {} consumers", receipt.sequence, receipt.consumers);
        std::thread::sleep(Duration::from_millis(5));
    }
    // The stream ends; what the consumer holds stays its own.
    drop(publisher);
    let status = child.wait()?;
    std::fs::remove_dir_all(&directory)?;
    if status.success() { Ok(()) } else { Err(format!("the consumer ended with {status}").into()) }
}

fn consumer(directory: &Path) -> Result<(), Box<dyn Error>> {
    let mut subscriber = Subscriber::builder("cam0/frame").directory(directory).open()?;
    let mut seen = 0;
    for frame in subscriber.frames() {
        let frame = frame?;
        let pixels = frame.typed::<u8>()?.map_read()?;
        assert!(pixels.as_slice().iter().all(|byte| u64::from(*byte) == frame.sequence()));
        println!("frame {} after {:?}, without a copy", frame.sequence(), frame.age());
        seen += 1;
    }
    println!("{seen} of {FRAMES} frames, {} dropped", subscriber.dropped());
    assert!(seen > 0);
    Ok(())
}
