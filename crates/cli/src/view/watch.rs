//! The newest frame of each stream that somebody looks at.
//!
//! A thread for each takes every frame as it comes and lets go of the one before, so that looking
//! makes the stream drop nothing. It ends when nobody has looked for a while.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tenure::stream::{Frame, Subscriber};

use crate::stop::Stop;

/// The newest, one that is made into a picture, and two on their way.
const CREDITS: u32 = 4;
/// Nobody looks any more.
const FORGOTTEN: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(100);

/// The streams that are looked at.
#[derive(Debug)]
pub(super) struct Watches {
    open: Mutex<HashMap<String, Arc<Watch>>>,
    stop: Stop,
}

/// One stream.
#[derive(Debug)]
struct Watch {
    seen: Mutex<Seen>,
    changed: Condvar,
}

#[derive(Debug)]
struct Seen {
    frame: Option<Arc<Frame>>,
    /// Why there are no more.
    over: Option<String>,
    looked: Instant,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watches {
    pub(super) fn new(stop: Stop) -> Watches {
        Watches { open: Mutex::new(HashMap::new()), stop }
    }

    /// A frame other than the one known, if there is one within a moment; why there is none
    /// otherwise.
    pub(super) fn newest(
        &self,
        name: &str,
        known: Option<(u64, u64)>,
        patience: Duration,
    ) -> Result<Option<Arc<Frame>>, String> {
        let watch = self.watch(name)?;
        let mut seen = locked(&watch.seen);
        seen.looked = Instant::now();
        let until = Instant::now() + patience;
        loop {
            let new = |frame: &&Arc<Frame>| known != Some((frame.incarnation(), frame.sequence()));
            if let Some(frame) = seen.frame.as_ref().filter(new) {
                return Ok(Some(Arc::clone(frame)));
            }
            if let Some(why) = &seen.over {
                return Err(why.clone());
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let woken = watch.changed.wait_timeout(seen, left);
            seen = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn watch(&self, name: &str) -> Result<Arc<Watch>, String> {
        if let Some(watch) = self.known(name) {
            return Ok(watch);
        }
        // Without the lock: a producer that does not answer is not to keep others waiting.
        let subscriber = Subscriber::builder(name)
            .credits(CREDITS)
            .answer_within(Duration::from_secs(1))
            .wait_when_full(true)
            .open()
            .map_err(|error| error.to_string())?;
        let mut open = locked(&self.open);
        if let Some(watch) = open.get(name) {
            return Ok(Arc::clone(watch));
        }
        let seen = Seen { frame: None, over: None, looked: Instant::now() };
        let watch = Arc::new(Watch { seen: Mutex::new(seen), changed: Condvar::new() });
        let (ours, stop) = (Arc::clone(&watch), self.stop.clone());
        thread::Builder::new()
            .name(format!("view {name}"))
            .spawn(move || {
                // However it ends: a stream that nobody watches any more can be watched anew.
                let ending = Ending(ours);
                ending.0.follow(subscriber, &stop);
            })
            .map_err(|error| error.to_string())?;
        open.insert(name.to_owned(), Arc::clone(&watch));
        Ok(watch)
    }

    /// A stream that is looked at already.
    fn known(&self, name: &str) -> Option<Arc<Watch>> {
        let mut open = locked(&self.open);
        open.retain(|_, watch| locked(&watch.seen).over.is_none());
        open.get(name).cloned()
    }
}

/// Ends a watch whose thread ends, also by a panic.
struct Ending(Arc<Watch>);

impl Drop for Ending {
    fn drop(&mut self) {
        let mut seen = locked(&self.0.seen);
        seen.frame = None;
        seen.over.get_or_insert_with(|| "the thread that watched the stream panicked".to_owned());
        self.0.changed.notify_all();
    }
}

impl Watch {
    fn follow(&self, mut subscriber: Subscriber, stop: &Stop) {
        let why = loop {
            if stop.is_over() {
                break "the viewer ends".to_owned();
            }
            match subscriber.next(LOOK) {
                Err(error) => break error.to_string(),
                Ok(frame) => {
                    let mut seen = locked(&self.seen);
                    if seen.looked.elapsed() > FORGOTTEN {
                        break "nobody looked".to_owned();
                    }
                    if let Some(frame) = frame {
                        seen.frame = Some(Arc::new(frame));
                        self.changed.notify_all();
                    }
                }
            }
        };
        locked(&self.seen).over = Some(why);
    }
}
