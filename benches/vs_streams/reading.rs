//! All bytes of a frame, once every slot has been seen, beside memory of the process itself.

use std::hint::black_box;
use std::time::Duration;

use tenure::stream::{Meta, Publisher, Spec, Subscriber};
use tenure::{DType, Tensor, TensorMemory};
use tenure_benches::{Bench, Error, Stopwatch, Unit};

const WORDS: usize = (8 << 20) / 8;
/// Slots of a stream with one consumer: what it may hold, and what the producer claims.
const SLOTS: usize = 3 + 2;
/// Frames of one measurement.
const FRAMES: usize = 8;

fn sum(tensor: &Tensor<u64>) -> Result<f64, Error> {
    let map = tensor.map_read()?;
    let stopwatch = Stopwatch::start();
    black_box(map.as_slice().iter().fold(0u64, |sum, word| sum.wrapping_add(*word)));
    Ok(stopwatch.nanoseconds())
}

pub(crate) fn rows(bench: &mut Bench) -> Result<(), Error> {
    let Some(row) = bench.row("reading all 8 MiB beside local memory", Unit::Nanoseconds) else {
        return Ok(());
    };
    let directory = tempfile::tempdir()?;
    let mut publisher = Publisher::builder("bench")
        .directory(directory.path())
        .spec(Spec::tensor(DType::U64, &[WORDS])?)
        .open()?;
    let mut subscriber = Subscriber::builder("bench").directory(directory.path()).open()?;
    let mut streamed = || -> Result<f64, Error> {
        let mut all = 0.0;
        for _ in 0..FRAMES {
            let slot = publisher.claim()?;
            slot.typed::<u64>()?.fill(7)?;
            slot.publish(Meta::new())?;
            let frame = subscriber.next(Duration::from_secs(5))?.ok_or("no frame came")?;
            all += sum(&frame.typed::<u64>()?)?;
        }
        Ok(all / FRAMES as f64)
    };
    // As many as the stream has, and written as a frame is: so the caches hold as much of it.
    let here = (0..SLOTS).map(|_| Tensor::<u64>::new(&[WORDS], Some(TensorMemory::Mem), None));
    let here: Vec<Tensor<u64>> = here.collect::<Result<_, _>>()?;
    let mut turns = here.iter().cycle();
    let mut local = || -> Result<f64, Error> {
        let mut all = 0.0;
        for frame in turns.by_ref().take(FRAMES) {
            frame.fill(7)?;
            all += sum(frame)?;
        }
        Ok(all / FRAMES as f64)
    };
    row.target(1.05)
        .ours(|| streamed().unwrap_or(f64::NAN))
        .rival("local", || local().unwrap_or(f64::NAN))
        .measure();
    Ok(())
}
