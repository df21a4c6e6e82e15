//! 4K at 60 frames a second to four consumers: none is dropped.

use std::time::{Duration, Instant};

use tenure::PixelFormat;
use tenure::stream::{Meta, Publisher, Spec};
use tenure_benches::{Bench, Error, Unit};

use crate::part::Consumer;

const CONSUMERS: usize = 4;

/// Frames that consumers did not get.
fn dropped(frames: usize) -> Result<f64, Error> {
    let directory = tempfile::tempdir()?;
    let mut publisher = Publisher::builder("bench")
        .directory(directory.path())
        .spec(Spec::image(3840, 2160, PixelFormat::Nv12)?)
        .open()?;
    let mut consumers = Vec::new();
    for _ in 0..CONSUMERS {
        consumers.push(Consumer::start(directory.path(), "stream bench")?);
    }
    while publisher.consumers() < CONSUMERS {
        std::thread::sleep(Duration::from_millis(1));
    }
    for consumer in &mut consumers {
        consumer.expect(frames)?;
    }
    let began = Instant::now();
    let mut dropped = 0;
    for frame in 0..frames {
        let slot = publisher.claim()?;
        slot.typed::<u8>()?.fill(frame as u8)?;
        let due = began + Duration::from_secs(1) / 60 * frame as u32;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        dropped += slot.publish(Meta::new())?.dropped;
    }
    if dropped == 0 {
        for consumer in &mut consumers {
            consumer.arrivals(frames)?;
        }
    }
    Ok(dropped as f64)
}

pub(crate) fn rows(bench: &mut Bench) -> Result<(), Error> {
    let frames = if bench.quick() { 30 } else { 600 };
    if let Some(row) = bench.row("4K60 NV12 to four consumers: frames dropped", Unit::Count) {
        row.once().ours(|| dropped(frames).unwrap_or(f64::NAN)).rival("none", || 0.0).measure();
    }
    Ok(())
}
