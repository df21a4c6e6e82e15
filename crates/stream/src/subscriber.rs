//! A consumer of a stream.

mod budget;
mod builder;
mod connection;
mod count;
mod following;
mod frames;
mod known;
mod receiving;
mod shelf;
mod watch;

use std::fmt;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tenure_memory::share::Peer;

use crate::directory::Place;
use crate::patience::Patience;
use crate::wire::LONGEST;
use crate::{Error, Frame, Result};

pub use builder::SubscriberBuilder;
pub(crate) use builder::ask;
use connection::{Connection, Welcome};
pub use frames::Frames;
use known::KnownSlots;
pub(crate) use known::look;
pub(crate) use shelf::Kept;
use watch::Watch;

/// How often to look for a producer that is not there.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Gets the frames of a stream.
///
/// ```no_run
/// use std::time::Duration;
/// let mut subscriber = tenure_stream::Subscriber::open("cam0/frame")?;
/// while let Some(frame) = subscriber.next(Duration::from_secs(1))? {
///     println!("frame {} of {:?}, {} lost before it", frame.sequence(), frame.shape(),
///         frame.dropped());
/// }
/// # Ok::<(), tenure_stream::Error>(())
/// ```
///
/// It can be polled: its descriptor is readable when there may be a frame
/// ([`Subscriber::try_next`]).
///
/// It stays with the process that opened it, and so do its frames: in one that is forked off later,
/// asking for frames is [`Error::Forked`] until [`Subscriber::reopen`], and frames that are dropped
/// there stay with the other process, which may give them back at any time.
pub struct Subscriber {
    options: SubscriberBuilder,
    place: Place,
    connection: Arc<Connection>,
    welcome: Welcome,
    known: KnownSlots,
    packet: Box<[u8]>,
    /// Frames that did not come, as the last frame said.
    dropped: u64,
    skipped: u64,
    /// A frame that its fence is not done for.
    stalled: Option<Frame>,
    /// Why nothing more will come.
    over: Option<Over>,
    /// The next producer's connection, before it has answered: only of subscribers that follow.
    joining: Option<Connection>,
    watch: Watch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Ended { dead: bool },
    Evicted,
}

impl Subscriber {
    /// Subscribes to a stream that somebody publishes.
    ///
    /// # Errors
    /// [`Error::NoStream`] if nobody does, [`Error::Refused`] with the producer's reason.
    pub fn open(name: &str) -> Result<Subscriber> {
        Subscriber::builder(name).open()
    }

    /// A subscriber with options.
    pub fn builder(name: &str) -> SubscriberBuilder {
        SubscriberBuilder::new(name)
    }

    fn join(options: SubscriberBuilder, place: Place) -> Result<Subscriber> {
        let joined = options.connect(&place)?;
        Ok(Subscriber::joined(options, place, joined))
    }

    fn joined(
        options: SubscriberBuilder,
        place: Place,
        (connection, welcome): (Connection, Welcome),
    ) -> Subscriber {
        let known = KnownSlots::new(options.budget(), &place.name);
        Subscriber {
            options,
            place,
            connection: Arc::new(connection),
            welcome,
            known,
            packet: vec![0; LONGEST].into(),
            dropped: 0,
            skipped: 0,
            stalled: None,
            over: None,
            joining: None,
            watch: Watch::default(),
        }
    }

    /// The stream's name.
    pub fn name(&self) -> &str {
        &self.place.name
    }

    /// How many frames can be held at one time: what was asked for, or fewer.
    pub fn credits(&self) -> usize {
        self.welcome.credits
    }

    /// The number by which the producer knows this consumer.
    pub fn id(&self) -> u64 {
        self.welcome.consumer
    }

    /// Tells one life of the producer from the next.
    pub fn incarnation(&self) -> u64 {
        self.welcome.incarnation
    }

    /// Who publishes, as the kernel knows it.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn producer(&self) -> Result<Peer> {
        Ok(tenure_memory::share::peer(&*self.connection)?)
    }

    /// Frames that are held at this moment: frames and their tensors, views, guards and exports, in
    /// whatever thread. No other frame comes while these are all [`Subscriber::credits`].
    pub fn held(&self) -> usize {
        self.connection.held()
    }

    /// Frames that did not come because no credit was left, up to this moment.
    pub fn dropped(&self) -> u64 {
        self.welcome.count.read().unwrap_or(0).max(self.dropped)
    }

    /// Frames that came and were passed over by [`Subscriber::latest`].
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The next frame, waiting for it at most so long; `None` if none came.
    ///
    /// While [`Subscriber::held`] frames are all that it may hold, none can come, so to wait for one
    /// is an error at once, with and without a limit, unless the subscriber was built to
    /// [`SubscriberBuilder::wait_when_full`] because another thread drops frames. Only to look
    /// (`Duration::ZERO`, [`Subscriber::try_next`]) is `None` then.
    ///
    /// # Errors
    /// [`Error::AllHeld`], [`Error::MemoryLimit`], [`Error::Ended`] if the producer closed the stream or died (unless the subscriber was built
    /// to [`SubscriberBuilder::follow`]), [`Error::Evicted`], and [`Error::Packet`] if the
    /// producer sent nonsense.
    pub fn next(&mut self, timeout: Duration) -> Result<Option<Frame>> {
        self.check_process()?;
        let mut patience = Patience::new(timeout);
        if let Some(frame) = self.stalled.take() {
            return self.complete(frame, true, &mut patience);
        }
        loop {
            let full = !timeout.is_zero() && self.would_hang();
            // Then only the end of the stream can be here.
            let mut none = Patience::Nothing;
            match self.receive(if full { &mut none } else { &mut patience }) {
                Err(error) if self.options.follow && error.is_over() => {
                    self.rejoin(&mut patience)?;
                }
                Err(error) => return Err(error),
                Ok(None) if full => return Err(self.all_held()),
                Ok(None) => return Ok(None),
                Ok(Some(frame)) => return self.complete(frame, false, &mut patience),
            }
            if self.over.is_some() {
                return Ok(None);
            }
        }
    }

    /// Whether all frames that may be held are, so that none can come until one is dropped.
    pub fn is_full(&self) -> bool {
        // A frame that a device still writes comes when that is done.
        self.over.is_none()
            && self.stalled.is_none()
            && self.connection.held() >= self.welcome.credits
    }

    /// Whether to wait would be to wait for what cannot come.
    pub(crate) fn would_hang(&self) -> bool {
        !self.options.wait_when_full && self.is_full()
    }

    pub(crate) fn all_held(&self) -> Error {
        Error::from(crate::detail::AllHeld {
            name: self.place.name.clone(),
            credits: self.welcome.credits,
        })
    }

    /// A frame that is here already; `None` if there is none.
    ///
    /// # Errors
    /// As [`Subscriber::next`].
    pub fn try_next(&mut self) -> Result<Option<Frame>> {
        self.next(Duration::ZERO)
    }

    /// The newest frame that is here already, giving back those before it; `None` if there is
    /// none. Never waits: for whoever works at a pace of its own and wants no frame twice.
    ///
    /// It is the newest of those that came. A consumer that has no credit left gets no frames: one
    /// that looks less often than frames are published finds as many as it has credits, and what
    /// was published afterwards is counted in [`Subscriber::dropped`] (see [`Frame::age`]). Those
    /// passed over are counted in [`Subscriber::skipped`]. While all frames that may be held are,
    /// none can be here, which is an error, unless the subscriber was built to
    /// [`SubscriberBuilder::wait_when_full`].
    ///
    /// ```no_run
    /// # fn draw(_: &tenure_stream::Frame) {}
    /// let mut subscriber = tenure_stream::Subscriber::open("cam0/frame")?;
    /// loop {
    ///     if let Some(frame) = subscriber.latest()? {
    ///         draw(&frame);
    ///     }
    ///     std::thread::sleep(std::time::Duration::from_millis(16));
    /// }
    /// # #[expect(unreachable_code)]
    /// # Ok::<(), tenure_stream::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Subscriber::next`]; frames that came before the stream ended are given first.
    pub fn latest(&mut self) -> Result<Option<Frame>> {
        let mut newest: Option<Frame> = None;
        // No more can have been there when this began; a producer that is quicker than this loop
        // would keep it going.
        for _ in 0..self.welcome.credits {
            match self.try_next() {
                Ok(Some(frame)) => {
                    self.skipped += u64::from(newest.is_some());
                    newest = Some(frame);
                }
                Ok(None) if newest.is_none() && self.would_hang() => return Err(self.all_held()),
                Ok(None) => return Ok(newest),
                // Said again when there is nothing else to give.
                Err(_) if newest.is_some() => return Ok(newest),
                Err(error) => return Err(error),
            }
        }
        Ok(newest)
    }

    /// Waits at most so long until there may be a frame, and says whether there may.
    ///
    /// # Errors
    /// [`Error::AllHeld`] as [`Subscriber::next`], and if the system refuses.
    pub fn wait(&self, timeout: Duration) -> Result<bool> {
        self.check_process()?;
        let awaited = self.awaited();
        let full = !timeout.is_zero() && self.would_hang();
        // Then only the end of the stream can be here.
        let mut patience = if full { Patience::Nothing } else { Patience::new(timeout) };
        loop {
            let left = patience.left().and_then(|left| Timespec::try_from(left).ok());
            let mut fds = [PollFd::new(&awaited, PollFlags::IN)];
            match poll(&mut fds, left.as_ref()) {
                Ok(0) if full => return Err(self.all_held()),
                Ok(ready) => return Ok(ready > 0),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Error::system("waiting for a frame", errno)),
            }
        }
    }

    /// Every frame as it comes, until the stream ends.
    pub fn frames(&mut self) -> Frames<'_> {
        Frames { subscriber: self }
    }

    /// What has to happen before there is a frame.
    fn awaited(&self) -> BorrowedFd<'_> {
        match self.stalled.as_ref().and_then(Frame::fence) {
            // What comes after it waits for it too.
            Some(fence) => fence.fd(),
            None => self.connection.as_fd(),
        }
    }

    /// An error in a process that was forked off the one that subscribed.
    fn check_process(&self) -> Result<()> {
        match self.connection.process().is_current() {
            true => Ok(()),
            false => Err(Error::Forked { name: self.place.name.clone() }),
        }
    }

    /// Whether the producer is gone and the next has not let this one in yet.
    #[cfg(feature = "async")]
    pub(crate) fn is_between_producers(&self) -> bool {
        self.over.is_some()
    }
}

impl AsFd for Subscriber {
    /// Readable when there may be a frame, which is not while all frames that may be held are: ask
    /// [`Subscriber::is_full`] before waiting for it. It stays the same as long as the subscriber lives, and is
    /// not to be read from. Of a subscriber that follows it stays readable while there is no
    /// producer.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.watch.descriptor(self.awaited())
    }
}

impl AsRawFd for Subscriber {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        self.stalled = None;
        if !self.connection.process().is_current() {
            return;
        }
        // Frames that are held keep the connection; those that came since would be held with them.
        if self.over.is_none() && Arc::strong_count(&self.connection) > 1 {
            self.connection.enough();
            self.options.follow = false;
            // At most so many: whoever sends others does not hear that it is enough.
            for _ in 0..self.welcome.credits {
                let Ok(Some(frame)) = self.receive(&mut Patience::Nothing) else { break };
                drop(frame);
            }
        }
    }
}

impl fmt::Debug for Subscriber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscriber")
            .field("name", &self.name())
            .field("credits", &self.welcome.credits)
            .finish_non_exhaustive()
    }
}
