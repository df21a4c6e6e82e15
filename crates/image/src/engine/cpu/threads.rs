//! Who makes which rows.

use std::ops::Range;
use std::sync::OnceLock;

use crate::engine::cpu::crew::Crew;
use crate::origin::Origin;
use crate::{Error, Result};

/// Source pixels below which another thread costs more than it saves.
const WORTH_A_THREAD: usize = 1 << 16;
/// Strips for each thread: threads are seldom equally fast, and small strips let them even out.
const STRIPS: usize = 8;
/// Short ones among them, where long ones are faster.
const LAST: usize = 2;

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
            Some(0) => Err(Error::from(crate::detail::Threads {
                threads: 0,
                reason: "at least 1 is needed".into(),
            })),
            Some(1) => Ok(Threads::One),
            Some(threads) => Crew::new(threads).map(Threads::Own).map_err(|error| {
                Error::from(crate::detail::Threads { threads, reason: error.to_string() })
            }),
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

    /// How `rows` rows made of `pixels` source pixels are cut. Strips have a multiple of the first
    /// number of rows, and all but the last ones of the second, which takes less time for each.
    pub(crate) fn strips(&self, rows: usize, pixels: usize, multiples: [usize; 2]) -> Strips {
        let threads = self.count().min(pixels / WORTH_A_THREAD).max(1);
        let strips = if threads == 1 { 1 } else { STRIPS * threads };
        let [short, long] =
            multiples.map(|multiple| rows.div_ceil(strips).next_multiple_of(multiple).max(1));
        // With the short ones all are done at the same time.
        let last = if short < long { LAST * threads * short } else { 0 };
        Strips { rows, long, longs: rows.saturating_sub(last) / long, short }
    }

    /// Does `work` for every index below `count`.
    pub(crate) fn each(&self, count: usize, work: impl Fn(usize) + Sync) {
        match self.crew() {
            Some(crew) => crew.each(count, &work),
            None => (0..count).for_each(work),
        }
    }
}

/// Rows that are made in strips: long ones first, then short ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strips {
    rows: usize,
    long: usize,
    longs: usize,
    short: usize,
}

impl Strips {
    pub(crate) fn count(&self) -> usize {
        self.longs + (self.rows - self.longs * self.long).div_ceil(self.short)
    }

    /// The rows of a strip.
    pub(crate) fn rows(&self, index: usize) -> Range<usize> {
        let start = |index: usize| {
            let shorts = index.saturating_sub(self.longs);
            (index.min(self.longs) * self.long + shorts * self.short).min(self.rows)
        };
        start(index)..start(index + 1)
    }
}

/// Crews that are kept for a program that forks, and whose children fork in turn.
const GENERATIONS: usize = 8;

/// The crew of all processors, made by the first of them; none if the system gives no threads or
/// has but one core. A process that was forked off makes one of its own.
fn shared() -> Option<&'static Crew> {
    static SHARED: [OnceLock<Option<Crew>>; GENERATIONS] = [const { OnceLock::new() }; GENERATIONS];
    let make = || {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        (cores > 1).then(|| Crew::new(cores).ok()).flatten()
    };
    // Those of the processes before are not looked at: one that was being made when this process was
    // forked off is never done here.
    let crew = SHARED.get(Origin::here().forks())?.get_or_init(make).as_ref();
    crew.filter(|crew| crew.is_here())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_follow_each_other() {
        let (one, two) = (Threads::One, Threads::new(Some(2)).unwrap());
        for rows in [0, 1, 4, 16, 17, 32, 180, 234, 360, 361, 1080] {
            for (threads, multiples) in [(&one, [16, 16]), (&two, [16, 16]), (&two, [16, 32])] {
                let strips = threads.strips(rows, 1 << 20, multiples);
                let mut end = 0;
                for index in 0..strips.count() {
                    let own = strips.rows(index);
                    assert!(own.start == end && !own.is_empty(), "{rows} rows: {strips:?}");
                    assert!(own.len() % 16 == 0 || own.end == rows, "{rows} rows: {strips:?}");
                    end = own.end;
                }
                assert_eq!(end, rows, "{strips:?}");
            }
        }
        assert_eq!(one.strips(360, 1 << 20, [16, 32]).count(), 1);
        // Three of 32 rows, then six short ones.
        let strips = two.strips(180, 1 << 20, [16, 32]);
        assert_eq!((strips.count(), strips.rows(2), strips.rows(3)), (9, 64..96, 96..112));
        assert_eq!(two.strips(180, 1 << 20, [16, 16]).count(), 12);
    }
}
