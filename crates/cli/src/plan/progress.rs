//! A search that can be watched and ended: a line that tells how far it is, and Ctrl-C.

use std::cell::Cell;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tenure::plan::{Options, Progress};

use crate::units;

/// How often the line is written anew.
const OFTEN: Duration = Duration::from_millis(100);
/// Searches shorter than this show nothing.
const SHORT: Duration = Duration::from_millis(400);

/// The limits of all searches of one command.
pub(super) struct Search {
    time: Option<Duration>,
    work: u64,
    seed: u64,
    threads: usize,
    stop: Arc<AtomicBool>,
    started: Instant,
    shown: Cell<Option<Instant>>,
    watched: bool,
}

impl Search {
    /// Begins to listen to Ctrl-C.
    pub(super) fn new(told: &super::Options) -> Search {
        let stop = Arc::new(AtomicBool::new(false));
        #[cfg(unix)]
        {
            // The second Ctrl-C ends the program as ever. Without either, it still ends by time.
            let stop = || Arc::clone(&stop);
            let _ = signal_hook::flag::register_conditional_default(
                signal_hook::consts::SIGINT,
                stop(),
            );
            let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, stop());
        }
        Search {
            time: told.time(),
            // Time is what users know; work is counted so that results can be repeated.
            work: told.work.unwrap_or(u64::MAX),
            seed: told.seed,
            threads: told.threads(),
            stop,
            started: Instant::now(),
            shown: Cell::new(None),
            watched: std::io::stderr().is_terminal(),
        }
    }

    /// Whether Ctrl-C was pressed.
    pub(super) fn was_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Runs one search within the limits.
    pub(super) fn run<T>(&self, search: impl FnOnce(&Options<'_>) -> T) -> T {
        let show = |progress: Progress| self.show(progress);
        let options = Options {
            work: self.work,
            seed: self.seed,
            threads: self.threads,
            time: self.time,
            stop: Some(&self.stop),
            progress: self.watched.then_some(&show as &dyn Fn(Progress)),
        };
        search(&options)
    }

    fn show(&self, progress: Progress) {
        let now = Instant::now();
        let recent = self.shown.get().is_some_and(|last| now - last < OFTEN);
        if recent || now - self.started < SHORT {
            return;
        }
        self.shown.set(Some(now));
        let Progress { bytes, lower_bound, .. } = progress;
        let over = if lower_bound > 0 { bytes as f64 / lower_bound as f64 - 1.0 } else { 0.0 };
        let line = format!(
            "\r\x1b[Ksearching: {}, {:.2} % above the bound; Ctrl-C takes it",
            units::bytes(bytes),
            over * 100.0
        );
        let _ = std::io::stderr().write_all(line.as_bytes());
    }

    /// Takes the line away.
    pub(super) fn done(&self) {
        if self.shown.get().is_some() {
            let _ = std::io::stderr().write_all(b"\r\x1b[K");
        }
    }
}
