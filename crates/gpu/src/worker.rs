//! The thread that waits for copies that go on by themselves, and lets go of what they hold.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SendError, Sender, channel};
use std::thread;

use tenure_memory::backend::{After, Carry};
use tenure_memory::{Error, Result, Signal};

use crate::carry::Courier;
use crate::device::{Device, Properties, Work};
use crate::process;

/// Copies on their way.
pub(crate) struct Job {
    pub(crate) courier: Arc<Courier>,
    /// What the device does of them; `None` if the worker is to do them.
    pub(crate) begun: Option<Work>,
    pub(crate) work: Vec<Carry>,
    pub(crate) after: Option<After>,
    pub(crate) signal: Signal,
}

/// A thread that takes jobs until nobody can give it any more.
pub(crate) struct Worker {
    /// Always there, until it is dropped.
    jobs: Option<Sender<Job>>,
    /// The process that has the thread: a forked one has not.
    generation: u64,
}

impl Worker {
    /// Starts the thread; if there is none, work that was begun is waited for.
    pub(crate) fn start(
        properties: &Properties,
        begun: Option<Work>,
        device: &dyn Device,
    ) -> Result<Worker> {
        let (jobs, received) = channel();
        let started =
            thread::Builder::new().name(format!("tenure-gpu-{}", properties.id)).spawn(move || {
                tenure_memory::prepare_thread();
                work(&received);
            });
        match started {
            Ok(_) => Ok(Worker { jobs: Some(jobs), generation: process::generation() }),
            Err(cause) => {
                if let Some(begun) = begun {
                    device.wait(begun, None)?;
                }
                Err(Error::from(tenure_memory::detail::System { what: "starting a thread", cause }))
            }
        }
    }

    pub(crate) fn give(&self, job: Job) {
        // The thread ends only when this sender is gone, or by a panic in what is done last.
        let left = match &self.jobs {
            Some(jobs) => jobs.send(job).err().map(|SendError(job)| job),
            None => Some(job),
        };
        if let Some(Job { courier, begun: Some(begun), .. }) = left {
            let _ = courier.settle(begun);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if process::generation() != self.generation {
            // The thread is in another process, and may have had the queue locked.
            std::mem::forget(self.jobs.take());
        }
    }
}

fn work(jobs: &Receiver<Job>) {
    while let Ok(Job { courier, begun, work, after, signal }) = jobs.recv() {
        let result = match begun {
            Some(begun) => courier.settle(begun),
            None => courier.work(&work),
        };
        // Before it is said to be done, so that whoever waits may use the bytes at once.
        drop(work);
        if result.is_ok()
            && let Some(after) = after
        {
            after();
        }
        // And so that the device goes with whoever waited, in that thread: here it could go while
        // the process ends, and the driver with it. With the last courier goes the sender, and with
        // that this thread.
        drop(courier);
        match result {
            Ok(()) => signal.done(),
            Err(error) => {
                tracing::error!("a copy failed on its way: {error}");
                signal.failed(error);
            }
        }
    }
}
