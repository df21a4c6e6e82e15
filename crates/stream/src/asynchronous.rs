//! Frames as futures, for any executor.
//!
//! Readiness comes from `async-io`, which has a thread of its own and so needs no particular
//! runtime. Programs on tokio that want none of it use `tokio::io::unix::AsyncFd` with a
//! [`Subscriber`], which has a descriptor, and [`Subscriber::try_next`].

use std::os::fd::{AsFd, OwnedFd};

use async_io::{Async, Timer};
use tenure_memory::backend::Process;

use crate::subscriber::LOOK_AGAIN;
use crate::{Error, Frame, Result, Subscriber};

/// A [`Subscriber`] whose frames are awaited. One that follows looks for the next producer as often
/// as a [`Subscriber`] does, without keeping its executor from other work. A future that is dropped
/// loses nothing.
///
/// ```no_run
/// use tenure_stream::{AsyncSubscriber, Subscriber};
/// async fn watch() -> tenure_stream::Result<()> {
///     let mut frames = AsyncSubscriber::new(Subscriber::open("cam0/frame")?)?;
///     loop {
///         println!("{}", frames.next().await?.sequence());
///     }
/// }
/// ```
#[derive(Debug)]
pub struct AsyncSubscriber {
    subscriber: Subscriber,
    /// Another descriptor of what it is polled by.
    ready: Ready,
}

/// A descriptor that is awaited.
#[derive(Debug)]
struct Ready {
    fd: Option<Async<OwnedFd>>,
    process: Process,
}

impl Drop for Ready {
    fn drop(&mut self) {
        // A process that was forked off shares what the other waits with: ending it here would end
        // it there. The descriptor stays open.
        if !self.process.is_current() {
            std::mem::forget(self.fd.take());
        }
    }
}

impl AsyncSubscriber {
    /// Awaits frames of a subscriber, with the options that it was built with.
    ///
    /// # Errors
    /// If the system has no descriptors left.
    pub fn new(subscriber: Subscriber) -> Result<AsyncSubscriber> {
        let failed = |cause| Error::system("watching the stream", cause);
        let fd = subscriber.as_fd().try_clone_to_owned().map_err(failed)?;
        // The mode stays as it is: frames are taken without waiting anyway.
        let ready = Async::new_nonblocking(fd).map_err(failed)?;
        let ready = Ready { fd: Some(ready), process: Process::current() };
        Ok(AsyncSubscriber { subscriber, ready })
    }

    /// The next frame.
    ///
    /// # Errors
    /// As [`Subscriber::next`] without a limit: [`Error::AllHeld`] at once if all frames that may be
    /// held are, unless the subscriber was built to
    /// [`wait_when_full`](crate::SubscriberBuilder::wait_when_full) because other tasks drop them.
    /// A stream that ends is an error too, unless the subscriber was built to
    /// [`follow`](crate::SubscriberBuilder::follow): then the next producer's frames are awaited.
    pub async fn next(&mut self) -> Result<Frame> {
        loop {
            if let Some(frame) = self.subscriber.try_next()? {
                return Ok(frame);
            }
            if self.subscriber.would_hang() {
                return Err(self.subscriber.all_held());
            }
            if self.subscriber.is_between_producers() {
                // The descriptor says that the last one is gone, which it would say for ever. It
                // stands for the next one's connection as soon as there is one.
                Timer::after(LOOK_AGAIN).await;
                continue;
            }
            let Some(fd) = &self.ready.fd else {
                return Err(Error::Forked { name: self.subscriber.name().to_owned() });
            };
            fd.readable().await.map_err(|cause| Error::system("waiting for a frame", cause))?;
        }
    }

    /// The subscriber.
    pub fn get(&self) -> &Subscriber {
        &self.subscriber
    }

    /// The subscriber back.
    pub fn into_inner(self) -> Subscriber {
        self.subscriber
    }
}
