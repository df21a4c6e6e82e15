//! A queue that keeps the order of its work, and the events that say when it is done.
#![expect(unsafe_code, reason = "calls OpenCL, which is loaded at run time")]

use std::collections::VecDeque;
use std::ptr::{null, null_mut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::answer::{Code, FAILED_EVENT};
use super::api::{Api, DeviceId, Handle, Usm};
use crate::device::{Address, Task};

/// A queue, and the ends of its work.
pub(super) struct Queue {
    queue: Handle,
    api: Arc<Api>,
    marks: Mutex<Marks>,
}

#[derive(Default)]
struct Marks {
    /// Work that may not be done, the oldest first.
    open: VecDeque<(u64, Arc<Mark>)>,
    last: u64,
    /// The first work that failed, and its answer: what comes after it is not done either.
    failed: Option<(u64, Code)>,
}

/// Some work: an event for each of its tasks, because a task that fails is known by its own only.
struct Mark {
    events: Vec<Handle>,
    api: Arc<Api>,
}

impl Drop for Mark {
    fn drop(&mut self) {
        for event in &self.events {
            // SAFETY: an event of ours, let go of once; the driver keeps it while it needs it.
            unsafe { (self.api.release_event)(*event) };
        }
    }
}

/// A task whose places are addresses.
#[derive(Clone, Copy)]
pub(super) enum Placed {
    Copy { to: Address, from: Address, bytes: usize },
    Fill { to: Address, bytes: usize, pattern: [u8; 4] },
}

impl Placed {
    /// A task with its places, as `place` finds them.
    pub(super) fn new<E>(
        task: &Task,
        place: impl Fn((u64, usize)) -> Result<Address, E>,
    ) -> Result<Placed, E> {
        Ok(match *task {
            Task::Copy { to, from, bytes } => {
                Placed::Copy { to: place(to)?, from: place(from)?, bytes }
            }
            Task::Fill { to, bytes, pattern } => Placed::Fill { to: place(to)?, bytes, pattern },
        })
    }
}

impl Queue {
    /// # Safety
    /// The context must be one of this device, and stay until the queue is dropped.
    pub(super) unsafe fn new(
        api: &Arc<Api>,
        context: Handle,
        device: DeviceId,
    ) -> Result<Queue, Code> {
        let mut code = 0;
        // SAFETY: by the caller's promise; without properties, a queue keeps the order.
        let queue = unsafe { (api.queue)(context, device, 0, &mut code) };
        match code {
            0 => Ok(Queue { queue, api: Arc::clone(api), marks: Mutex::default() }),
            code => Err(code),
        }
    }

    fn marks(&self) -> MutexGuard<'_, Marks> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins tasks; gives the number of this work. After an error nothing is under way.
    ///
    /// # Safety
    /// As [`crate::Device::submit`], of the addresses.
    pub(super) unsafe fn submit(&self, usm: &Usm, tasks: &[Placed]) -> Result<u64, Code> {
        let mut mark = Mark { events: Vec::with_capacity(tasks.len()), api: Arc::clone(&self.api) };
        // One at a time, so that numbers are in the queue's order.
        let mut marks = self.marks();
        let mut begin = |task: &Placed| {
            let mut event = Handle(null_mut());
            // SAFETY: addresses and bytes by the caller's promise, no events to wait for, and a
            // place for one. A pattern is copied before the call returns.
            let code = unsafe {
                match *task {
                    Placed::Copy { bytes: 0, .. } | Placed::Fill { bytes: 0, .. } => return 0,
                    Placed::Copy { to, from, bytes } => {
                        let (to, from) = (to.0.as_ptr(), from.0.as_ptr());
                        (usm.copy)(self.queue, 0, to, from, bytes, 0, null(), &mut event)
                    }
                    Placed::Fill { to, bytes, pattern } => {
                        let (to, each) = (to.0.as_ptr(), pattern.len());
                        let pattern = pattern.as_ptr();
                        (usm.fill)(self.queue, to, pattern, each, bytes, 0, null(), &mut event)
                    }
                }
            };
            if code == 0 {
                mark.events.push(event);
            }
            code
        };
        let mut code = tasks.iter().map(&mut begin).find(|code| *code != 0).unwrap_or(0);
        // SAFETY: the queue is ours.
        unsafe {
            if code == 0 {
                // Work begins by itself, so that it can be asked whether it is done.
                code = (self.api.flush)(self.queue);
            }
            if code != 0 {
                (self.api.finish)(self.queue);
                return Err(code);
            }
        }
        marks.last += 1;
        let number = marks.last;
        if !mark.events.is_empty() {
            marks.open.push_back((number, Arc::new(mark)));
        }
        Ok(number)
    }

    /// Waits until work is done and all before it; says whether it is. After an error it is over.
    pub(super) fn wait(&self, number: u64, timeout: Option<Duration>) -> Result<bool, Code> {
        let mine: Vec<(u64, Arc<Mark>)> =
            self.marks().open.iter().take_while(|(one, _)| *one <= number).cloned().collect();
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let done = match (mine.last(), until) {
            (Some((_, last)), Some(until)) => last.wait_until(until),
            _ => true,
        };
        if !done {
            return Ok(false);
        }
        // What is done is done at once. All is waited for, also behind what failed.
        let answers: Vec<_> = mine.iter().map(|(one, mark)| (*one, mark.wait())).collect();
        let failed = answers.into_iter().find(|(_, code)| *code != 0);
        let mut marks = self.marks();
        // Marks go with the memory of the failure: who comes later is told too.
        marks.failed = marks.failed.or(failed);
        marks.open.retain(|(one, _)| *one > number);
        match marks.failed {
            Some((first, code)) if first <= number => Err(code),
            _ => Ok(true),
        }
    }

    /// Why the queue does nothing more, if work of it has failed.
    pub(super) fn failed(&self) -> Option<Code> {
        self.marks().failed.map(|(_, code)| code)
    }

    /// Waits for everything.
    pub(super) fn finish(&self) {
        // SAFETY: the queue is ours.
        unsafe { (self.api.finish)(self.queue) };
        self.marks().open.clear();
    }
}

impl Mark {
    /// Waits for every task; the answer of the first that failed, or 0.
    fn wait(&self) -> Code {
        let Ok(count) = u32::try_from(self.events.len()) else { return FAILED_EVENT };
        // SAFETY: so many events, which are ours.
        let code = unsafe { (self.api.wait)(count, self.events.as_ptr()) };
        match code {
            FAILED_EVENT => {
                let failed = self.events.iter().map(|event| self.status(*event));
                failed.min().filter(|status| *status < 0).unwrap_or(code)
            }
            code => code,
        }
    }

    /// Waits for the last task; says whether it is over.
    fn wait_until(&self, until: Instant) -> bool {
        let Some(last) = self.events.last() else { return true };
        loop {
            if self.status(*last) <= 0 {
                return true;
            }
            if until <= Instant::now() {
                return false;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// Above 0 while it waits or runs, 0 when it is done, below if it failed.
    fn status(&self, event: Handle) -> Code {
        const STATUS: u32 = 0x11D3;
        let mut status: Code = 0;
        let place = (&raw mut status).cast();
        // SAFETY: an event of ours, and a place for its status.
        let code =
            unsafe { (self.api.event_info)(event, STATUS, size_of::<Code>(), place, null_mut()) };
        if code == 0 { status } else { code }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.finish();
        // SAFETY: the queue is ours, and nothing is under way in it.
        unsafe { (self.api.release_queue)(self.queue) };
    }
}

#[cfg(test)]
mod tests;
