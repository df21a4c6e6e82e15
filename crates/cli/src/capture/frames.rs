//! Frames on their way from the camera into files.
//!
//! One thread takes frames and copies each out of the driver's buffer at once, so that the camera
//! never waits for a disk; others make the files. If they fall behind for long, the camera drops
//! frames, and these are counted.

use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tenure::camera::{FourCc, Frame};
use tenure::{PixelFormat, TensorDyn, TensorMemory, files};

use super::folder::{Filled, Folder, name};
use super::picture::picture;
use super::problem::Problem;
use super::wish::Only;
use crate::copied;

#[cfg(test)]
mod tests;

/// Frames that wait to be written, at most.
const WAITING: usize = 8;
/// Threads that write, at most.
const WRITERS: usize = 4;

/// How a frame can be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// Pixels, which become a PNG.
    Pixels,
    /// It is a JPEG already.
    Jpeg,
}

/// Which files a frame becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sorts {
    look: Option<Look>,
    array: bool,
}

impl Sorts {
    /// The files for frames like these.
    pub(super) fn of(
        pixels: Option<PixelFormat>,
        code: FourCc,
        only: Option<Only>,
    ) -> Result<Sorts, Problem> {
        let jpeg = [FourCc::MJPG, FourCc::new(b"JPEG")];
        let look = match pixels {
            Some(_) => Some(Look::Pixels),
            None if jpeg.contains(&code) => Some(Look::Jpeg),
            None => None,
        };
        match only {
            None => Ok(Sorts { look, array: true }),
            Some(Only::Npy) => Ok(Sorts { look: None, array: true }),
            Some(Only::Png) if look.is_none() => Err(Problem::NoPicture { code }),
            Some(Only::Png) => Ok(Sorts { look, array: false }),
        }
    }

    /// The endings of their names.
    pub(super) fn endings(self) -> Vec<&'static str> {
        let look = self.look.map(|look| match look {
            Look::Pixels => "png",
            Look::Jpeg => "jpg",
        });
        look.into_iter().chain(self.array.then_some("npy")).collect()
    }
}

/// A frame in memory of our own.
#[derive(Debug)]
struct Taken {
    tensor: TensorDyn,
    about: About,
}

/// What is told about a frame.
#[derive(Debug, Clone)]
pub(super) struct About {
    /// By order of capture.
    pub(super) index: u32,
    /// The driver's number.
    pub(super) sequence: u64,
    /// When it was taken.
    pub(super) timestamp: Option<Duration>,
    /// Frames lost before it.
    pub(super) dropped: u64,
    /// Whether the driver says that it is not complete.
    pub(super) damaged: bool,
}

/// A frame in files.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) about: About,
    /// Names of the files.
    pub(super) files: Vec<String>,
    /// Bytes of the files.
    pub(super) bytes: u64,
}

/// What the writers have done.
#[derive(Debug, Default)]
struct Done {
    written: Vec<Written>,
    problem: Option<Problem>,
}

/// Takes `count` frames from `next` and writes them; says what was written, in order, and what
/// ended it before the last one.
pub(super) fn write(
    count: u32,
    folder: &Folder,
    sorts: Sorts,
    mut next: impl FnMut(u32) -> Result<Frame, Problem>,
) -> (Vec<Written>, Option<Problem>) {
    let done = Mutex::new(Done::default());
    let (sender, receiver) = sync_channel(WAITING);
    let receiver = Mutex::new(receiver);
    let (shared, queue) = (&done, &receiver);
    // The sender goes with the closure: without it the writers would wait for ever.
    let taking = thread::scope(move |scope| {
        for index in 0..writers() {
            let work = move || write_from(queue, folder, sorts, shared);
            match thread::Builder::new().spawn_scoped(scope, work) {
                Ok(_) => {}
                Err(cause) if index == 0 => return Err(Problem::Threads(cause)),
                Err(_) => break,
            }
        }
        take(count, &mut next, &sender, shared)
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.written.sort_by_key(|written| written.about.index);
    (done.written, done.problem.or(taking.err()))
}

fn writers() -> usize {
    thread::available_parallelism().map_or(1, |number| number.get().min(WRITERS))
}

fn take(
    count: u32,
    next: &mut impl FnMut(u32) -> Result<Frame, Problem>,
    sender: &SyncSender<Taken>,
    done: &Mutex<Done>,
) -> Result<(), Problem> {
    for index in 0..count {
        let frame = next(index)?;
        let copy = frame.to(Some(TensorMemory::Mem));
        let about = About {
            index,
            sequence: frame.sequence(),
            timestamp: frame.timestamp(),
            // What was lost before the first frame was not wanted.
            dropped: if index == 0 { 0 } else { frame.dropped() },
            damaged: frame.is_damaged(),
        };
        drop(frame);
        let tensor = copy.map_err(|error| Problem::Camera(error.into()))?;
        let failed = done.lock().unwrap_or_else(PoisonError::into_inner).problem.is_some();
        if failed || sender.send(Taken { tensor, about }).is_err() {
            break;
        }
    }
    Ok(())
}

/// Writes frames until there are no more; after a problem, only takes them.
fn write_from(queue: &Mutex<Receiver<Taken>>, folder: &Folder, sorts: Sorts, done: &Mutex<Done>) {
    loop {
        let taken = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(taken) = taken else { return };
        if done.lock().unwrap_or_else(PoisonError::into_inner).problem.is_some() {
            continue;
        }
        let written = write_one(&taken, folder, sorts);
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        match written {
            Ok(written) => done.written.push(written),
            Err(problem) => {
                done.problem.get_or_insert(problem);
            }
        }
    }
}

fn write_one(taken: &Taken, folder: &Folder, sorts: Sorts) -> Result<Written, Problem> {
    let (mut names, mut bytes) = (vec![], 0);
    for ending in sorts.endings() {
        let name = name(taken.about.index, ending);
        bytes += folder.write(&name, |out| match ending {
            "png" => write_png(out, &taken.tensor),
            "jpg" => Ok(out.write_all(taken.tensor.map_read()?.as_slice())?),
            _ => write_npy(out, &taken.tensor),
        })?;
        names.push(name);
    }
    Ok(Written { about: taken.about.clone(), files: names, bytes })
}

fn write_npy(out: impl Write, tensor: &TensorDyn) -> Filled {
    copied::check(tensor)?;
    match files::npy::write(out, tensor) {
        // In the words of the system alone: which file it was is told anyway.
        Err(files::Error::Io(cause)) => Err(cause.into()),
        other => Ok(other?),
    }
}

fn write_png(out: impl Write, tensor: &TensorDyn) -> Filled {
    let picture = picture(tensor)?;
    let (width, height) = (u32::try_from(picture.width)?, u32::try_from(picture.height)?);
    let mut encoder = png::Encoder::new(out, width, height);
    encoder.set_color(match picture.channels {
        1 => png::ColorType::Grayscale,
        _ => png::ColorType::Rgb,
    });
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&picture.bytes)?;
    Ok(writer.finish()?)
}
