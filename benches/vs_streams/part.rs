//! Consumers in processes of their own.

use std::env;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use tenure::memory::share;
use tenure::stream::Subscriber;
use tenure_benches::Error;

/// Set in a consumer: what it is, and where it is told what to do.
const PART: &str = "TENURE_BENCH_PART";
/// Set in consumers, and in rivals for theirs: the processors to run on.
const PROCESSORS: &str = "TENURE_BENCH_PROCESSORS";
static OTHERS: OnceLock<String> = OnceLock::new();
/// Between two messages: long enough to fall asleep.
const PAUSE: Duration = Duration::from_micros(300);
const PATIENCE: Duration = Duration::from_secs(20);

/// Nanoseconds of the clock that all processes share.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Real-time priority for this process and those that it starts, if that is allowed. The producer
/// has a processor of its own, and consumers have the others, if there are others.
pub(crate) fn prefer_this_program() {
    let id = std::process::id().to_string();
    let _ = Command::new("chrt").args(["-f", "-p", "10", &id]).output();
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let mut processors = (0..CpuSet::MAX_CPU).filter(|it| allowed.is_set(*it));
    let (Some(own), others) = (processors.next(), processors.collect::<Vec<_>>()) else { return };
    if !others.is_empty() && run_on(&[own]).is_ok() {
        let _ = OTHERS.set(others.iter().map(usize::to_string).collect::<Vec<_>>().join(","));
    }
}

fn run_on(processors: &[usize]) -> rustix::io::Result<()> {
    let mut set = CpuSet::new();
    processors.iter().for_each(|processor| set.set(*processor));
    sched_setaffinity(None, &set)
}

/// Tells a program that is about to be started where its consumer may run.
pub(crate) fn tell_processors(command: &mut Command) -> &mut Command {
    match OTHERS.get() {
        Some(others) => command.env(PROCESSORS, others),
        None => command,
    }
}

/// As [`prefer_this_program`] told it to whoever started this one.
fn run_where_told() -> Result<(), Error> {
    let Ok(told) = env::var(PROCESSORS) else { return Ok(()) };
    let processors: Vec<usize> = told.split(',').map(str::parse).collect::<Result<_, _>>()?;
    Ok(run_on(&processors)?)
}

/// A consumer, and the connection that it is told by.
pub(crate) struct Consumer {
    child: Child,
    pub(crate) told: UnixStream,
}

impl Consumer {
    /// Starts one that plays `part`: `eventfd`, `socket`, or `stream NAME`.
    pub(crate) fn start(directory: &Path, part: &str) -> Result<Consumer, Error> {
        Consumer::start_as(&mut Command::new(env::current_exe()?), directory, part)
    }

    /// The same in another program, which understands parts as this one does.
    pub(crate) fn start_as(
        program: &mut Command,
        directory: &Path,
        part: &str,
    ) -> Result<Consumer, Error> {
        let path = directory.join("told");
        let listener = UnixListener::bind(&path)?;
        let part = format!("{} {part}", directory.display());
        let child = tell_processors(program).env(PART, part).spawn()?;
        let (told, _) = listener.accept()?;
        std::fs::remove_file(path)?;
        Ok(Consumer { child, told })
    }

    /// Lets it expect so many messages; it is ready afterwards.
    pub(crate) fn expect(&mut self, count: usize) -> Result<(), Error> {
        self.told.write_all(&(count as u64).to_le_bytes())?;
        self.told.read_exact(&mut [0])?;
        Ok(())
    }

    /// When the messages arrived.
    pub(crate) fn arrivals(&mut self, count: usize) -> Result<Vec<u64>, Error> {
        let mut times = Vec::with_capacity(count);
        for _ in 0..count {
            times.push(read_number(&mut self.told)?);
        }
        Ok(times)
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        // It ends when it is told nothing more.
        let _ = self.told.shutdown(std::net::Shutdown::Both);
        let _ = self.child.wait();
    }
}

pub(crate) fn read_number(from: &mut impl Read) -> Result<u64, Error> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// The median time from `send` to the arrival at all of these consumers.
pub(crate) fn one_way(
    consumers: &mut [Consumer],
    count: usize,
    mut prepare: impl FnMut() -> Result<(), Error>,
    mut send: impl FnMut() -> Result<(), Error>,
) -> Result<f64, Error> {
    for consumer in &mut *consumers {
        consumer.expect(count)?;
    }
    let mut sent = Vec::with_capacity(count);
    for _ in 0..count {
        // Whatever is done here is in nobody's way: the last message has arrived.
        std::thread::sleep(PAUSE);
        prepare()?;
        std::thread::sleep(PAUSE);
        sent.push(now());
        send()?;
    }
    let mut times = Vec::with_capacity(count * consumers.len());
    for consumer in consumers {
        let arrived = consumer.arrivals(count)?;
        times.extend(sent.iter().zip(arrived).map(|(sent, at)| at.saturating_sub(*sent)));
    }
    times.sort_unstable();
    Ok(times.get(times.len() / 2).map_or(f64::NAN, |time| *time as f64))
}

/// Plays the part that the environment names; false if it names none.
pub(crate) fn play() -> Result<bool, Error> {
    let Ok(part) = env::var(PART) else { return Ok(false) };
    run_where_told()?;
    let mut words = part.split(' ');
    let directory = Path::new(words.next().ok_or("no directory")?);
    let mut told = UnixStream::connect(directory.join("told"))?;
    match words.next() {
        Some("eventfd" | "socket") => {
            let message = share::receive(&told)?;
            let bell = message.descriptors.into_iter().next().ok_or("no descriptor")?;
            consume(&mut told, || wait_for(&bell))?;
        }
        Some("stream") => {
            let name = words.next().ok_or("no name")?;
            let builder = Subscriber::builder(name).directory(directory).credits(4);
            let mut subscriber = builder.wait(PATIENCE).open()?;
            consume(&mut told, || {
                let frame = subscriber.next(PATIENCE)?.ok_or("no frame came")?;
                let arrived = now();
                drop(frame);
                Ok(arrived)
            })?;
        }
        other => return Err(format!("{other:?} is no part").into()),
    }
    Ok(true)
}

fn wait_for(bell: &OwnedFd) -> Result<u64, Error> {
    rustix::io::read(bell, &mut [0; 512])?;
    Ok(now())
}

/// Takes as many messages as it is told to, again and again, and says when they arrived.
fn consume(
    told: &mut UnixStream,
    mut next: impl FnMut() -> Result<u64, Error>,
) -> Result<(), Error> {
    // Nothing more to do when the connection ends.
    while let Ok(count) = read_number(told) {
        told.write_all(&[1])?;
        let times: Vec<u64> = (0..count).map(|_| next()).collect::<Result<_, _>>()?;
        let bytes: Vec<u8> = times.iter().flat_map(|time| time.to_le_bytes()).collect();
        told.write_all(&bytes)?;
    }
    Ok(())
}
