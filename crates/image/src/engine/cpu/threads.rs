//! Who makes which rows.

use std::sync::OnceLock;

use crate::engine::cpu::crew::Crew;
use crate::{Error, Result};

/// Source pixels below which another thread costs more than it saves.
const WORTH_A_THREAD: usize = 1 << 16;
/// Strips for each thread: threads are seldom equally fast, and small strips let them even out.
const STRIPS: usize = 8;

pub(crate) enum Threads {
    /// The calling thread alone.
    One,
    /// Those that all processors of the program share.
    Shared(&'static Crew),
    /// Threads of our own.
    Own(Crew),
}

impl Threads {
    /// `None` for the threads that all processors share, one for each processor core.
    pub(crate) fn new(count: Option<usize>) -> Result<Threads> {
        match count {
            Some(0) => Err(Error::Threads { threads: 0, reason: "at least 1 is needed".into() }),
            Some(1) => Ok(Threads::One),
            Some(threads) => Crew::new(threads)
                .map(Threads::Own)
                .map_err(|error| Error::Threads { threads, reason: error.to_string() }),
            None => Ok(shared().map_or(Threads::One, Threads::Shared)),
        }
    }

    fn crew(&self) -> Option<&Crew> {
        match self {
            Threads::One => None,
            Threads::Shared(crew) => Some(crew),
            Threads::Own(crew) => Some(crew),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.crew().map_or(1, Crew::threads)
    }

    /// Rows of a strip, a multiple of `multiple`, for `rows` rows made of `pixels` source pixels.
    pub(crate) fn strip_rows(&self, rows: usize, pixels: usize, multiple: usize) -> usize {
        let threads = self.count().min(pixels / WORTH_A_THREAD).max(1);
        let strips = if threads == 1 { 1 } else { STRIPS * threads };
        rows.div_ceil(strips).next_multiple_of(multiple).max(1)
    }

    /// Does `work` for every index below `count`.
    pub(crate) fn each(&self, count: usize, work: impl Fn(usize) + Sync) {
        match self.crew() {
            Some(crew) => crew.each(count, &work),
            None => (0..count).for_each(work),
        }
    }
}

/// The crew of all processors, made by the first of them; none if the system gives no threads or
/// has but one core.
fn shared() -> Option<&'static Crew> {
    static SHARED: OnceLock<Option<Crew>> = OnceLock::new();
    let made = SHARED.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        (cores > 1).then(|| Crew::new(cores).ok()).flatten()
    });
    made.as_ref()
}
