//! A search that can be watched and ended: a line that tells how far it is, and Ctrl-C.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tenure::plan::{Options, Progress};

use crate::units;

/// How often the line is written anew.
const OFTEN: Duration = Duration::from_millis(200);
/// Takes the line away.
const CLEAR: &[u8] = b"\r\x1b[K";

/// The limits of all searches of one command.
pub(super) struct Search {
    time: Option<Duration>,
    work: u64,
    seed: u64,
    threads: usize,
    stop: Arc<AtomicBool>,
    line: Option<Line>,
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
            line: Line::new(),
        }
    }

    /// Whether Ctrl-C was pressed.
    pub(super) fn was_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Runs one search within the limits.
    pub(super) fn run<T>(&self, search: impl FnOnce(&Options<'_>) -> T) -> T {
        let show = self.line.as_ref().map(|line| |progress: Progress| line.set(Some(progress)));
        let options = Options {
            work: self.work,
            seed: self.seed,
            threads: self.threads,
            time: self.time,
            stop: Some(&self.stop),
            progress: show.as_ref().map(|show| show as &dyn Fn(Progress)),
        };
        let answer = search(&options);
        if let Some(line) = &self.line {
            line.set(None);
        }
        answer
    }

    /// Takes the line away, before anything else is printed.
    pub(super) fn done(&mut self) {
        self.line = None;
    }
}

/// How far a search is, and since when it runs; `None` between searches.
type State = Option<(Progress, Instant)>;

/// The line, on a thread of its own: a search tells when it has found something, and users want to
/// know that it goes on.
struct Line {
    now: Arc<Mutex<State>>,
    /// Dropped to end the thread.
    until: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Line {
    /// `None` if nobody watches.
    fn new() -> Option<Line> {
        let dumb = std::env::var_os("TERM").is_some_and(|kind| kind == "dumb");
        if dumb || !std::io::stderr().is_terminal() {
            return None;
        }
        let now = Arc::new(Mutex::new(State::None));
        let (until, ended) = channel::<()>();
        let told = Arc::clone(&now);
        let thread = std::thread::spawn(move || {
            let mut shown = false;
            while ended.recv_timeout(OFTEN) == Err(RecvTimeoutError::Timeout) {
                let state = told.lock().ok().and_then(|state| *state);
                let bytes = match state {
                    Some((progress, since)) => words(progress, since.elapsed()).into_bytes(),
                    None if shown => CLEAR.to_vec(),
                    None => continue,
                };
                shown = state.is_some();
                let _ = std::io::stderr().write_all(&bytes);
            }
            if shown {
                let _ = std::io::stderr().write_all(CLEAR);
            }
        });
        Some(Line { now, until: Some(until), thread: Some(thread) })
    }

    fn set(&self, progress: Option<Progress>) {
        if let Ok(mut now) = self.now.lock() {
            let since = now.map_or_else(Instant::now, |(_, since)| since);
            *now = progress.map(|progress| (progress, since));
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.until = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The line in words, at most as wide as the terminal: one that wraps could not be taken away.
fn words(progress: Progress, since: Duration) -> String {
    let Progress { bytes, lower_bound, .. } = progress;
    let over = if lower_bound > 0 { bytes as f64 / lower_bound as f64 - 1.0 } else { 0.0 };
    let line = format!(
        "searching: {}, {:.2} % above the bound, {} s; Ctrl-C takes it",
        units::bytes(bytes),
        over * 100.0,
        since.as_secs()
    );
    let width = crate::output::error_width();
    format!("\r\x1b[K{}", line.chars().take(width.saturating_sub(1)).collect::<String>())
}
