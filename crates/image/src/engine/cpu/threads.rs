//! Who makes which rows.

use crate::{Error, Result};

/// Source pixels below which another thread costs more than it saves.
const WORTH_A_THREAD: usize = 1 << 16;

pub(crate) enum Threads {
    /// The calling thread alone.
    One,
    /// The program's rayon threads.
    #[cfg(feature = "threads")]
    Shared,
    /// Threads of our own.
    #[cfg(feature = "threads")]
    Own(rayon::ThreadPool),
}

impl Threads {
    /// `None` for the threads that the program's other work shares.
    pub(crate) fn new(count: Option<usize>) -> Result<Threads> {
        match count {
            Some(0) => Err(Error::Threads { threads: 0, reason: "at least 1 is needed".into() }),
            Some(1) => Ok(Threads::One),
            #[cfg(not(feature = "threads"))]
            _ => Ok(Threads::One),
            #[cfg(feature = "threads")]
            None => Ok(Threads::Shared),
            #[cfg(feature = "threads")]
            Some(threads) => rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .thread_name(|index| format!("tenure-image-{index}"))
                .build()
                .map(Threads::Own)
                .map_err(|error| Error::Threads { threads, reason: error.to_string() }),
        }
    }

    pub(crate) fn count(&self) -> usize {
        match self {
            Threads::One => 1,
            #[cfg(feature = "threads")]
            Threads::Shared => rayon::current_num_threads(),
            #[cfg(feature = "threads")]
            Threads::Own(pool) => pool.current_num_threads(),
        }
    }

    /// Rows of a strip, a multiple of `multiple`, for `rows` rows made of `work` source pixels.
    pub(crate) fn strip_rows(&self, rows: usize, work: usize, multiple: usize) -> usize {
        let threads = self.count().min(work / WORTH_A_THREAD).max(1);
        // Threads are seldom equally fast: two strips for each let them even out.
        let strips = if threads == 1 { 1 } else { 2 * threads };
        rows.div_ceil(strips).next_multiple_of(multiple).max(1)
    }

    /// Does `work` for every index below `count`.
    pub(crate) fn each(&self, count: usize, work: impl Fn(usize) + Send + Sync) {
        #[cfg(feature = "threads")]
        if count > 1 {
            use rayon::iter::{IntoParallelIterator, ParallelIterator};
            match self {
                Threads::One => {}
                Threads::Shared => return (0..count).into_par_iter().for_each(work),
                Threads::Own(pool) => {
                    return pool.install(|| (0..count).into_par_iter().for_each(work));
                }
            }
        }
        (0..count).for_each(work);
    }
}
