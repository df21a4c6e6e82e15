//! One way of 8 MiB through iceoryx2, woken by its events: told on standard input how many to send,
//! answers with the median in nanoseconds.
//!
//!     cargo build --release
//!     TENURE_ICEORYX2=target/release/tenure-bench-iceoryx2 cargo bench --bench vs_streams

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use iceoryx2::prelude::*;
use rustix::time::{ClockId, clock_gettime};

const FRAME: usize = 8 << 20;

/// Nanoseconds of the clock that all processes share.
fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// This program again as the consumer, on the processors that it was told, if any.
fn consumer() -> Result<Command, Box<dyn Error>> {
    let this = std::env::current_exe()?;
    let Ok(processors) = std::env::var("TENURE_BENCH_PROCESSORS") else {
        return Ok(Command::new(this));
    };
    let mut command = Command::new("taskset");
    command.args(["-c", &processors]).arg(this);
    Ok(command)
}

fn names() -> (String, String) {
    let id = std::env::args().nth(1).unwrap_or_else(|| std::process::id().to_string());
    (format!("tenure/{id}/frames"), format!("tenure/{id}/bell"))
}

fn main() -> Result<(), Box<dyn Error>> {
    let node = NodeBuilder::new().create::<ipc::Service>()?;
    let (frames, bell) = names();
    let frames = node
        .service_builder(&frames.as_str().try_into()?)
        .publish_subscribe::<[u8]>()
        .open_or_create()?;
    let bell = node.service_builder(&bell.as_str().try_into()?).event().open_or_create()?;
    if std::env::args().nth(1).is_some() {
        let subscriber = frames.subscriber_builder().create()?;
        let listener = bell.listener_builder().create()?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "ready")?;
        out.flush()?;
        loop {
            let mut rung = false;
            listener.blocking_wait(|_| rung = true)?;
            while rung && let Some(frame) = subscriber.receive()? {
                let arrived = now();
                assert_eq!(frame.len(), FRAME);
                writeln!(out, "{arrived}")?;
                out.flush()?;
            }
        }
    }
    let publisher = frames.publisher_builder().initial_max_slice_len(FRAME).create()?;
    let notifier = bell.notifier_builder().create()?;
    let mut consumer = consumer()?
        .arg(std::process::id().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut says = BufReader::new(consumer.stdout.take().ok_or("no output")?).lines();
    says.next().ok_or("the consumer ended")??;
    for line in std::io::stdin().lines() {
        let count: usize = line?.trim().parse()?;
        if count == 0 {
            break;
        }
        let mut sent = vec![];
        for _ in 0..count {
            std::thread::sleep(Duration::from_micros(300));
            let frame = publisher.loan_slice(FRAME)?;
            std::thread::sleep(Duration::from_micros(300));
            sent.push(now());
            frame.send()?;
            notifier.notify()?;
        }
        // Afterwards: a sender that waits for the answer wakes the receiver differently.
        let mut times = vec![];
        for sent in sent {
            let arrived: u64 = says.next().ok_or("the consumer ended")??.parse()?;
            times.push(arrived.saturating_sub(sent));
        }
        times.sort_unstable();
        println!("{}", times[times.len() / 2]);
    }
    consumer.kill()?;
    consumer.wait()?;
    Ok(())
}
