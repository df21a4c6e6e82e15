//! How listeners for GStreamer are made.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure_memory::backend::Process;

use super::{Error, Figures, Listener};
use crate::Subscriber;
use crate::binding::{self, Identity};
use crate::directory::Trusted;

/// Options of a [`Listener`].
#[derive(Debug, Clone)]
#[must_use]
pub struct ListenerBuilder {
    name: String,
    directory: Option<PathBuf>,
    clients: u32,
    frames_each: u32,
    wait: Duration,
    pub(super) follow: bool,
    pub(super) framerate: (u32, u32),
    pub(super) video_meta: bool,
}

impl ListenerBuilder {
    pub(super) fn new(name: &str) -> ListenerBuilder {
        ListenerBuilder {
            name: name.to_owned(),
            directory: None,
            clients: 4,
            frames_each: 3,
            wait: Duration::ZERO,
            follow: false,
            framerate: (0, 1),
            video_meta: false,
        }
    }

    /// The directory of the stream's socket, instead of [`crate::directory`].
    pub fn directory(mut self, directory: impl AsRef<Path>) -> ListenerBuilder {
        self.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// How many pipelines may read at one time; 4 if not said. Fewer if the producer grants fewer
    /// credits than they need ([`Listener::most_clients`]).
    pub fn clients(mut self, clients: u32) -> ListenerBuilder {
        self.clients = clients.max(1);
        self
    }

    /// How many frames a pipeline may hold at one time; 3 if not said. One that holds so many gets
    /// no others until it lets go of one.
    pub fn frames_each(mut self, frames: u32) -> ListenerBuilder {
        self.frames_each = frames.max(1);
        self
    }

    /// Waits so long for somebody to publish the stream.
    pub fn wait(mut self, timeout: Duration) -> ListenerBuilder {
        self.wait = timeout;
        self
    }

    /// When the stream ends, waits for the next producer instead of telling pipelines.
    pub fn follow(mut self, follow: bool) -> ListenerBuilder {
        self.follow = follow;
        self
    }

    /// Frames per second that pipelines are told, as a fraction; 0/1 if not said, which is a
    /// variable rate.
    pub fn framerate(mut self, frames: u32, seconds: u32) -> ListenerBuilder {
        self.framerate = (frames, seconds.max(1));
        self
    }

    /// Also gives out frames whose rows do not lie where GStreamer expects them, with a
    /// `GstVideoMeta` that says where they are. A pipeline that does not know this meta, or has
    /// not heard of it when the first frame comes, sees a skewed picture.
    pub fn video_meta(mut self, allowed: bool) -> ListenerBuilder {
        self.video_meta = allowed;
        self
    }

    /// Subscribes to the stream, and listens at `socket`, in a directory that must be as safe as that
    /// of streams (see [`crate::directory`]). What a listener that was killed has left there is
    /// replaced.
    ///
    /// # Errors
    /// As [`crate::SubscriberBuilder::open`], [`Error::Taken`] if somebody listens there, and
    /// [`Error::Socket`] if something else is there.
    pub fn open(self, socket: impl AsRef<Path>) -> Result<Listener, Error> {
        let path = socket.as_ref().to_owned();
        let credits = self.clients.saturating_mul(self.frames_each).saturating_add(1);
        let mut subscriber =
            Subscriber::builder(&self.name).credits(credits).wait(self.wait).explicit_fences(true);
        if let Some(directory) = &self.directory {
            subscriber = subscriber.directory(directory);
        }
        let subscriber = subscriber.open()?;
        let (most, frames_each) = self.shares(&subscriber);
        let (socket, file) = listen_at(&path)?;
        Ok(Listener {
            options: self,
            most,
            frames_each,
            file,
            process: Process::current(),
            path,
            socket,
            subscriber,
            away: false,
            clients: vec![],
            waiting: None,
            caps: None,
            next: 0,
            figures: Figures::default(),
        })
    }

    /// How many clients there are credits for, and how many frames each of them may hold.
    pub(super) fn shares(&self, subscriber: &Subscriber) -> (usize, usize) {
        // One credit is for the frame that comes next, unless there is only one.
        let spare = subscriber.credits().saturating_sub(1).max(1);
        let frames_each = (self.frames_each as usize).min(spare);
        ((spare / frames_each).min(self.clients as usize), frames_each)
    }
}

/// The directory of a socket, and the socket's name in it.
pub(super) fn place_of(path: &Path) -> Result<(Trusted, &OsStr), Error> {
    let refuse = |cause| Error::Socket { path: path.to_owned(), cause };
    let name = path.file_name().ok_or_else(|| refuse(io::ErrorKind::InvalidInput.into()))?;
    let directory = Trusted::open(path.parent().unwrap_or(Path::new("")), None);
    Ok((directory.map_err(refuse)?, name))
}

fn listen_at(path: &Path) -> Result<(UnixListener, Identity), Error> {
    let refuse = |cause| Error::Socket { path: path.to_owned(), cause };
    let (directory, name) = place_of(path)?;
    let above = path.parent().unwrap_or(Path::new(""));
    let bind = |path: &Path| UnixListener::bind(path);
    let (listener, bound) = binding::bound(&directory, above, 0o660, bind).map_err(refuse)?;
    listener.set_nonblocking(true).map_err(refuse)?;
    if let Some(identity) = bound.place(name).map_err(refuse)? {
        return Ok((listener, identity));
    }
    let there = fs::symlink_metadata(path).map_err(refuse)?;
    if !there.file_type().is_socket() {
        return Err(refuse(io::ErrorKind::AddrInUse.into()));
    }
    if UnixStream::connect(path).is_ok() {
        return Err(Error::Taken(path.to_owned()));
    }
    let identity = bound.replace(name).map_err(refuse)?;
    Ok((listener, identity))
}
