//! Frames as they come.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::frame::Frame;
use crate::sequence::Sequence;
use crate::session::Session;
use crate::{Error, Mode, Result};

/// How long an iteration waits before it asks again whether the program holds every buffer.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often to look again for memory that somebody else holds.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A camera that is running. Dropping it stops the camera; frames that are held stay valid.
///
/// It is an iterator over its frames, which waits for each without end, goes on after
/// [`Error::Starved`] (the program holds every buffer), and ends after any other error.
/// [`Stream::next`] waits for a limited time.
///
/// ```no_run
/// use tenure_camera::Camera;
/// for frame in Camera::open("/dev/video0")?.stream()?.take(20) {
///     let frame = frame?;
///     println!("{} {:?}", frame.sequence(), frame.shape());
/// }
/// # Ok::<(), tenure_camera::Error>(())
/// ```
#[must_use = "the camera stops when its stream is dropped"]
pub struct Stream {
    session: Arc<Session>,
    mode: Mode,
    name: String,
    sequence: Sequence,
    dropped: u64,
    /// Its iteration has ended with an error.
    over: bool,
}

impl Stream {
    pub(crate) fn start(session: Arc<Session>, mode: Mode) -> Result<Stream> {
        let name = session.device().path.file_name();
        let name = name.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        // Made before starting, so that dropping it stops what was half started.
        let stream =
            Stream { session, mode, name, sequence: Sequence::default(), dropped: 0, over: false };
        stream.session.start()?;
        Ok(stream)
    }

    /// What frames look like.
    pub fn mode(&self) -> &Mode {
        &self.mode
    }

    /// How many buffers there are: at most so many frames can be held.
    pub fn buffers(&self) -> usize {
        self.session.len()
    }

    /// Frames that the camera took and nobody got, by the gaps in the driver's numbers.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The next frame, waiting for it at most so long; `None` if none came. A camera that
    /// is paused or gone is an error, as the end of a stream is for its subscribers.
    ///
    /// # Errors
    /// [`Error::Starved`] if none came because the program holds every buffer, [`Error::Unplugged`]
    /// if the camera is gone, [`Error::Paused`] after [`Stream::pause`].
    pub fn next(&mut self, timeout: Duration) -> Result<Option<Frame>> {
        if !self.session.is_streaming() {
            return Err(Error::Paused);
        }
        let began = Instant::now();
        loop {
            let all = self.session.queue_idle()?;
            if let Some((buffer, lease)) = self.session.dequeue()? {
                let (session, name) = (&self.session, &self.name);
                let mut frame = Frame::new(session, &self.mode, name, &buffer, &lease)?;
                let (number, missing) = self.sequence.next(buffer.sequence());
                frame.set_counted((number, missing));
                self.dropped += missing;
                return Ok(Some(frame));
            }
            let Some(left) = timeout.checked_sub(began.elapsed()).filter(|left| !left.is_zero())
            else {
                return match self.session.shares() {
                    (0, held) if held > 0 => Err(Error::Starved { held }),
                    _ => Ok(None),
                };
            };
            self.wait(if all { left } else { left.min(LOOK_AGAIN) })?;
        }
    }

    /// Frames as they come, as the stream itself gives them when it is iterated over.
    pub fn frames(&mut self) -> impl Iterator<Item = Result<Frame>> + '_ {
        self
    }

    /// Waits until there may be a frame.
    fn wait(&self, time: Duration) -> Result<()> {
        let mut fds = [PollFd::new(&self.session, PollFlags::IN)];
        // A time too long to say is no limit.
        let limit = Timespec::try_from(time).ok();
        match poll(&mut fds, limit.as_ref()) {
            Ok(0) | Err(Errno::INTR) => Ok(()),
            Ok(_) => {
                let [answer] = &fds;
                // An error without a frame: the attempt to take one says which. A driver without
                // buffers says it all the time, so do not ask too often.
                if answer.revents().contains(PollFlags::ERR) && self.session.shares().0 == 0 {
                    std::thread::sleep(time.min(Duration::from_millis(1)));
                }
                Ok(())
            }
            Err(errno) => Err(self.session.device().failed("waiting for a frame")(errno)),
        }
    }

    /// Stops the camera; frames that are held stay valid.
    ///
    /// # Errors
    /// If the camera is gone.
    pub fn pause(&mut self) -> Result<()> {
        self.sequence = Sequence::default();
        self.session.stop()
    }

    /// Goes on after [`Stream::pause`].
    ///
    /// # Errors
    /// If the camera is gone, or memory of ours is held by somebody.
    pub fn resume(&mut self) -> Result<()> {
        self.session.start()
    }
}

impl Iterator for Stream {
    type Item = Result<Frame>;

    fn next(&mut self) -> Option<Result<Frame>> {
        while !self.over {
            match Stream::next(self, PATIENCE) {
                Ok(Some(frame)) => return Some(Ok(frame)),
                Ok(None) => {}
                Err(error) => {
                    self.over = !matches!(error, Error::Starved { .. });
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.session.close();
    }
}

/// The device, readable when there is a frame: for event loops.
impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.session.as_fd()
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("name", &self.name)
            .field("mode", &self.mode)
            .field("buffers", &self.buffers())
            .field("dropped", &self.dropped)
            .finish_non_exhaustive()
    }
}
