//! Streams for GStreamer: a listener that speaks the protocol of its element `unixfdsrc`, so that
//! a pipeline reads a stream without a plug-in of ours, and without a copy.
//!
//! ```no_run
//! use std::time::Duration;
//! use tenure_stream::gstreamer::Listener;
//!
//! // gst-launch-1.0 unixfdsrc socket-path=/run/user/1000/cam0 ! videoconvert ! autovideosink
//! let mut listener = Listener::builder("cam0/frame").open("/run/user/1000/cam0")?;
//! while listener.step(Duration::from_secs(1))? {}
//! # Ok::<(), tenure_stream::gstreamer::Error>(())
//! ```
//!
//! `unixfdsrc` is part of GStreamer 1.24 and later (gst-plugins-bad). The listener is an ordinary
//! subscriber that keeps a frame until every pipeline has let go of it. A pipeline has at most
//! [`ListenerBuilder::frames_each`] frames at one time, hung or not, and there are credits for all
//! of them and one more: none of them can keep frames from the others, or hold up the stream.
//!
//! Planes may lie in several memories, each with its descriptor, and memories may be DMA-BUFs, which
//! `unixfdsrc` hands on as DMA-BUF memory. Caps are those of plain `video/x-raw`, not
//! `memory:DMABuf`: what streams carry has rows that the processor can read, so every element takes
//! it, and those that import DMA-BUFs look at the memory.

mod builder;
mod client;
mod error;
mod picture;
mod places;
mod wire;

use std::fmt;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use smallvec::SmallVec;
use tenure_memory::backend::Process;
use tenure_memory::share::peer;
use tenure_memory::{Fence, RawBuffer, TensorMemory};

use self::client::{Client, Gone};
use self::picture::Picture;
use self::wire::NewBuffer;
use crate::binding::{self, Identity};
use crate::{Frame, Subscriber, socket};

pub use builder::ListenerBuilder;
pub use error::Error;

/// How often to look for a producer that is not there.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// How long to leave those alone who cannot be let in.
const NAP: Duration = Duration::from_millis(10);
/// Frames that are taken before clients have their turn again.
const AT_ONCE: usize = 64;

/// Gives the frames of a stream to GStreamer pipelines. Made by [`Listener::builder`].
pub struct Listener {
    options: ListenerBuilder,
    /// How many clients there are credits for.
    most: usize,
    frames_each: usize,
    path: PathBuf,
    /// Which file the socket is.
    file: Identity,
    process: Process,
    socket: UnixListener,
    subscriber: Subscriber,
    /// Whether the stream has no producer at the moment.
    away: bool,
    clients: Vec<Client>,
    /// A frame that a device still writes.
    waiting: Option<Frame>,
    caps: Option<String>,
    next: u64,
    figures: Figures,
}

/// What a listener has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Figures {
    /// Frames that came from the stream.
    pub frames: u64,
    /// Frames given to pipelines, counted once for each.
    pub given: u64,
    /// Frames that a pipeline did not get because it held all that it may.
    pub dropped: u64,
    /// Pipelines that are connected.
    pub clients: usize,
    /// Pipelines that there have been.
    pub came: u64,
    /// Connections that were refused: too many, or of another user and group.
    pub refused: u64,
    /// Pipelines that were cut off because they did not keep to the protocol or did not read.
    pub put_out: u64,
}

impl Listener {
    /// A listener for a stream, with options.
    pub fn builder(name: &str) -> ListenerBuilder {
        ListenerBuilder::new(name)
    }

    /// The socket that pipelines connect to.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many pipelines can read at one time: as many as there are credits for.
    pub fn most_clients(&self) -> usize {
        self.most
    }

    /// What it has done.
    pub fn figures(&self) -> Figures {
        Figures { clients: self.clients.len(), ..self.figures }
    }

    /// Waits at most so long for something to do, and does it. Says whether there is more to come;
    /// if not, the stream has ended and pipelines know.
    ///
    /// # Errors
    /// If GStreamer cannot have such frames, and as [`Subscriber::next`].
    pub fn step(&mut self, timeout: Duration) -> Result<bool, Error> {
        let (door, heard) = self.wait(timeout)?;
        // From the last, so that places stay while some are taken out.
        for index in heard.into_iter().rev() {
            if let Some(Err(gone)) = self.clients.get_mut(index).map(Client::hear) {
                self.part_with(index, gone);
            }
        }
        if door {
            self.let_in();
        }
        if self.away && !(self.options.follow && self.find_producer()?) {
            return Ok(self.options.follow);
        }
        for _ in 0..AT_ONCE {
            match self.next_frame() {
                Ok(None) => break,
                Ok(Some(frame)) => self.pass_on(frame)?,
                Err(error) if error.is_over() => {
                    self.away = true;
                    if self.options.follow {
                        break;
                    }
                    self.say_goodbye();
                    return Ok(false);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// Waits; says whether somebody is at the door, and which clients have said something.
    fn wait(&self, timeout: Duration) -> Result<(bool, Vec<usize>), Error> {
        let timeout = if self.away { timeout.min(LOOK_AGAIN) } else { timeout };
        let deadline = Instant::now().checked_add(timeout);
        let mut fds = vec![PollFd::new(&self.socket, PollFlags::IN)];
        fds.extend(self.clients.iter().map(|client| PollFd::new(client, PollFlags::IN)));
        match self.waiting.as_ref().and_then(Frame::fence) {
            Some(fence) => fds.push(PollFd::from_borrowed_fd(fence.fd(), PollFlags::IN)),
            None if !self.away => fds.push(PollFd::new(&self.subscriber, PollFlags::IN)),
            None => {}
        }
        loop {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            let left = left.and_then(|left| Timespec::try_from(left).ok());
            match poll(&mut fds, left.as_ref()) {
                Ok(_) => break,
                Err(Errno::INTR) => {}
                Err(errno) => {
                    return Err(Error::System { what: "waiting", cause: errno.into() });
                }
            }
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let heard = ready.iter().skip(1).take(self.clients.len()).enumerate();
        let heard = heard.filter(|(_, ready)| **ready).map(|(index, _)| index).collect();
        Ok((ready.first() == Some(&true), heard))
    }

    /// Lets pipelines in, as many as there are credits for.
    fn let_in(&mut self) {
        // Others have their turn, however many come and go.
        for _ in 0..AT_ONCE {
            let socket = match self.socket.accept() {
                Ok((socket, _)) => socket,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    // No descriptors left, say: they stay at the door, and others have their turn.
                    std::thread::sleep(NAP);
                    return;
                }
            };
            let known = peer(&socket).ok().filter(|peer| socket::is_familiar(&socket, peer));
            let Some(peer) = known.filter(|peer| self.has_room_for(peer.uid)) else {
                self.figures.refused += 1;
                continue;
            };
            let mut client = Client::new(socket, peer.uid);
            if client.prepare().is_err() {
                self.figures.refused += 1;
                continue;
            }
            self.figures.came += 1;
            self.clients.push(client);
            self.inform(self.clients.len() - 1);
        }
    }

    /// Whether one more of this user is let in. Other users have half of the places each, so that
    /// none of them keeps everybody else out.
    fn has_room_for(&self, uid: u32) -> bool {
        let theirs = self.clients.iter().filter(|client| client.uid == uid).count();
        let foreign = uid != rustix::process::geteuid().as_raw();
        let share = if foreign { self.most.div_ceil(2) } else { self.most };
        self.clients.len() < self.most && theirs < share
    }

    /// Looks for a producer after the last one has gone.
    fn find_producer(&mut self) -> Result<bool, Error> {
        match self.subscriber.reopen(Duration::ZERO) {
            Ok(()) => {
                self.away = false;
                (self.most, self.frames_each) = self.options.shares(&self.subscriber);
                while self.clients.len() > self.most {
                    self.figures.refused += 1;
                    self.clients.pop();
                }
                Ok(true)
            }
            Err(error) if error.is_over() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The next frame that is complete; one that its device failed to write is passed over.
    fn next_frame(&mut self) -> crate::Result<Option<Frame>> {
        loop {
            let frame = match self.waiting.take() {
                Some(frame) => Some(frame),
                None => self.subscriber.try_next()?,
            };
            match frame.as_ref().and_then(Frame::fence).map(Fence::is_done) {
                Some(Ok(false)) => {
                    self.waiting = frame;
                    return Ok(None);
                }
                Some(Err(_)) => {}
                Some(Ok(true)) | None => return Ok(frame),
            }
        }
    }

    /// Gives a frame to every pipeline that may have another one.
    fn pass_on(&mut self, frame: Frame) -> Result<(), Error> {
        self.figures.frames += 1;
        let name = self.subscriber.name();
        let options = &self.options;
        let picture = Picture::of(name, &frame, options.framerate, options.video_meta)?;
        if self.caps.as_ref() != Some(&picture.caps) {
            self.caps = Some(picture.caps.clone());
            self.clients.iter_mut().for_each(|client| client.informed = false);
        }
        let memories = memories(&frame, picture.pieces.len())?;
        let dmabuf = memories.iter().filter(|raw| raw.memory() == TensorMemory::Dma).count();
        if dmabuf > 0 && dmabuf < memories.len() {
            return Err(Error::Mixed { name: name.to_owned(), dmabuf, memories: memories.len() });
        }
        self.next += 1;
        let id = self.next;
        let command = NewBuffer {
            id,
            time: u64::try_from(frame.published().as_nanos()).unwrap_or(u64::MAX),
            sequence: frame.sequence(),
            dmabuf: dmabuf > 0,
            pieces: &picture.pieces,
            meta: &picture.meta,
        }
        .command();
        let descriptors = memories.iter().map(|raw| raw.descriptor());
        let descriptors = descriptors.collect::<tenure_memory::Result<SmallVec<[_; 4]>>>();
        let descriptors = descriptors.map_err(crate::Error::from)?;
        let frame = Arc::new(frame);
        for index in (0..self.clients.len()).rev() {
            if !self.inform(index) {
                continue;
            }
            let Some(client) = self.clients.get_mut(index) else { continue };
            if client.held() >= self.frames_each {
                self.figures.dropped += 1;
                continue;
            }
            match client.give(&command, &descriptors, id, &frame) {
                Ok(()) => self.figures.given += 1,
                Err(gone) => self.part_with(index, gone),
            }
        }
        Ok(())
    }

    /// Tells a client what frames look like, if it does not know. Says whether it is still there.
    fn inform(&mut self, index: usize) -> bool {
        let Some(client) = self.clients.get_mut(index) else { return false };
        let Some(caps) = self.caps.as_ref().filter(|_| !client.informed) else { return true };
        client.informed = true;
        match client.tell(&wire::caps(caps)) {
            Ok(()) => true,
            Err(gone) => {
                self.part_with(index, gone);
                false
            }
        }
    }

    /// Tells all pipelines that nothing more comes.
    fn say_goodbye(&mut self) {
        let end = wire::end();
        for client in self.clients.drain(..) {
            // Whoever cannot be told sees the end of the connection.
            let _ = client.tell(&end);
        }
    }

    /// Forgets a client; its frames go back.
    fn part_with(&mut self, index: usize, gone: Gone) {
        self.clients.remove(index);
        self.figures.put_out += u64::from(gone == Gone::PutOut);
    }
}

/// The memories of a frame, in the order of its pieces.
fn memories(frame: &Frame, count: usize) -> crate::Result<SmallVec<[Arc<RawBuffer>; 4]>> {
    (0..count).map(|plane| Ok(Arc::clone(frame.plane_buffer(plane)?.raw()?))).collect()
}

impl AsFd for Listener {
    /// The socket that pipelines connect to.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener")
            .field("path", &self.path)
            .field("figures", &self.figures())
            .finish_non_exhaustive()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Somebody else may have put a socket there meanwhile, and a process that was forked off
        // has nothing to end.
        if self.process.is_current()
            && let Ok((directory, name)) = builder::place_of(&self.path)
        {
            binding::remove(&directory, name, self.file);
        }
    }
}
