//! When a command that goes on for ever ends: Ctrl-C, SIGTERM, or its time is over.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};

/// The longest sleep during which nobody looks whether it should end.
const NAP: Duration = Duration::from_millis(50);

/// Whether to end. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Stop {
    asked: Arc<AtomicBool>,
    at: Option<Instant>,
}

impl Stop {
    /// Listens to signals from now on, and ends by itself after so long if that is said. The second
    /// signal ends the program at once.
    pub(crate) fn new(after: Option<Duration>) -> Stop {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            let flag = || Arc::clone(&asked);
            // Without them the program ends as it would anyway, without a last word.
            let _ = signal_hook::flag::register_conditional_default(signal, flag());
            let _ = signal_hook::flag::register(signal, flag());
        }
        Stop { asked, at: after.and_then(|after| Instant::now().checked_add(after)) }
    }

    /// Ends it.
    pub(crate) fn stop(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    /// Whether it is over.
    pub(crate) fn is_over(&self) -> bool {
        self.asked.load(Ordering::Relaxed) || self.at.is_some_and(|at| Instant::now() >= at)
    }

    /// Does what may have to wait for another process, which may be stopped or hostile; `None` if it
    /// is over before. A thread that waits then is left alone, and ends with the program.
    pub(crate) fn unless_over<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<Option<T>> {
        let (sender, receiver) = channel();
        let work = move || drop(sender.send(work()));
        let thread = thread::Builder::new().name("wait".to_owned()).spawn(work)?;
        while !self.is_over() {
            match receiver.recv_timeout(NAP) {
                Ok(answer) => return Ok(Some(answer)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                    break;
                }
            }
        }
        Ok(None)
    }

    /// Sleeps until then; says whether to go on.
    pub(crate) fn sleep_until(&self, until: Instant) -> bool {
        loop {
            if self.is_over() {
                return false;
            }
            let left = until.saturating_duration_since(Instant::now());
            let left =
                self.at.map_or(left, |at| left.min(at.saturating_duration_since(Instant::now())));
            if left.is_zero() && Instant::now() >= until {
                return true;
            }
            std::thread::sleep(left.min(NAP));
        }
    }
}
