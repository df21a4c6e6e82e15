//! How subscribers are made.

use std::io::IoSlice;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::geteuid;

use super::budget::Budget;
use super::connection::{Connection, Welcome};
use super::count::Count;
use super::{LOOK_AGAIN, Subscriber};
use crate::directory::Place;
use crate::patience::Patience;
use crate::socket::Received;
use crate::wire::{Answer, Fault, Request};
use crate::{Error, Result, socket};

/// Options of a [`Subscriber`].
#[derive(Debug, Clone)]
#[must_use]
pub struct SubscriberBuilder {
    name: String,
    directory: Option<PathBuf>,
    credits: u32,
    wait: Duration,
    answer_within: Duration,
    pub(super) follow: bool,
    pub(super) explicit_fences: bool,
    pub(super) wait_when_full: bool,
    pub(super) producer_uid: Option<u32>,
    pub(super) memory_limit: Option<usize>,
    pub(super) descriptor_limit: Option<usize>,
}

impl SubscriberBuilder {
    pub(super) fn new(name: &str) -> SubscriberBuilder {
        SubscriberBuilder {
            name: name.to_owned(),
            directory: None,
            credits: 3,
            wait: Duration::ZERO,
            answer_within: Duration::from_secs(20),
            follow: false,
            explicit_fences: false,
            wait_when_full: false,
            producer_uid: None,
            memory_limit: None,
            descriptor_limit: None,
        }
    }

    /// The directory of the socket, instead of [`crate::directory`].
    pub fn directory(mut self, directory: impl AsRef<Path>) -> SubscriberBuilder {
        self.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// How many frames to hold at one time, those included that wait to be read; 3 if not said.
    /// The producer may grant fewer ([`Subscriber::credits`]). With one, every frame is as new as
    /// can be, and frames are lost while it is held.
    pub fn credits(mut self, credits: u32) -> SubscriberBuilder {
        self.credits = credits.max(1);
        self
    }

    /// Waits so long for somebody to publish the stream.
    pub fn wait(mut self, timeout: Duration) -> SubscriberBuilder {
        self.wait = timeout;
        self
    }

    /// How long the producer has to answer; 20 seconds if not said, because it makes memory for a
    /// new consumer first.
    pub fn answer_within(mut self, timeout: Duration) -> SubscriberBuilder {
        self.answer_within = timeout;
        self
    }

    /// When the stream ends, waits for the next producer of that name instead of saying so.
    pub fn follow(mut self, follow: bool) -> SubscriberBuilder {
        self.follow = follow;
        self
    }

    /// Gives frames out before devices are done with them: the user waits for
    /// [`crate::Frame::fence`].
    pub fn explicit_fences(mut self, explicit: bool) -> SubscriberBuilder {
        self.explicit_fences = explicit;
        self
    }

    /// Waits for the next frame also while all credits are held, as long as the call allows: for
    /// programs that drop frames in another thread or task. Without this, to wait for a frame that
    /// cannot come is [`Error::AllHeld`].
    pub fn wait_when_full(mut self, wait: bool) -> SubscriberBuilder {
        self.wait_when_full = wait;
        self
    }

    /// Accepts a stream of this user too, in a directory of this user. Without this, a producer
    /// must be of this user, root, the owner of the directory (if that is one to be used, see
    /// [`crate::directory`]), or of this process's group.
    pub fn producer_uid(mut self, uid: u32) -> SubscriberBuilder {
        self.producer_uid = Some(uid);
        self
    }

    /// How many bytes of the producer's memory may be mapped at one time, those of frames included
    /// that are held; half of the machine's memory if not said. Frames in memory beyond that are
    /// [`Error::MemoryLimit`] and given back.
    pub fn memory_limit(mut self, bytes: usize) -> SubscriberBuilder {
        self.memory_limit = Some(bytes);
        self
    }

    /// How many memories of the producer may be kept at one time, each of which takes a descriptor;
    /// half of what this process may have open (`ulimit -n`) if not said, at most 1024. Frames in
    /// memory beyond that are [`Error::MemoryLimit`] and given back.
    pub fn descriptor_limit(mut self, descriptors: usize) -> SubscriberBuilder {
        self.descriptor_limit = Some(descriptors);
        self
    }

    /// Subscribes.
    ///
    /// # Errors
    /// [`Error::NoStream`] if nobody publishes it, [`Error::Refused`] with the producer's reason,
    /// [`Error::NoAnswer`], [`Error::Directory`] if others can replace sockets there, and
    /// [`Error::Producer`] if the producer is of a user that is not trusted.
    pub fn open(self) -> Result<Subscriber> {
        let place = Place::new(&self.name, self.directory.as_deref())?;
        let deadline = Instant::now().checked_add(self.wait);
        loop {
            match Subscriber::join(self.clone(), place.clone()) {
                // Also if the producer died while it was asked.
                Err(error) if error.is_over() && deadline.is_none_or(|at| Instant::now() < at) => {
                    std::thread::sleep(LOOK_AGAIN);
                }
                answer => return answer,
            }
        }
    }

    /// Subscribes over a connection that somebody else made: a Unix socket of sequenced packets
    /// whose other end a producer has accepted. For processes that may not see the directory.
    ///
    /// # Errors
    /// As [`SubscriberBuilder::open`].
    pub fn open_over(self, socket: OwnedFd) -> Result<Subscriber> {
        let place = Place::new(&self.name, self.directory.as_deref())?;
        let connection = introduce(socket, self.hello())?;
        let joined = self.welcomed(&place, connection)?;
        Ok(Subscriber::joined(self, place, joined))
    }

    /// How much of a producer's memory is taken.
    pub(super) fn budget(&self) -> Budget {
        Budget::new(self.memory_limit, self.descriptor_limit)
    }

    fn hello(&self) -> Request {
        Request::Consume { credits: self.credits }
    }

    /// Connects, and says the first word.
    pub(super) fn ask(&self, place: &Place, within: Duration) -> Result<Connection> {
        ask(place, self.hello(), within, self.producer_uid)
    }

    /// Connects and introduces itself.
    pub(super) fn connect(&self, place: &Place) -> Result<(Connection, Welcome)> {
        let connection = self.ask(place, self.answer_within)?;
        self.welcomed(place, connection)
    }

    fn welcomed(&self, place: &Place, connection: Connection) -> Result<(Connection, Welcome)> {
        let mut patience = Patience::new(self.answer_within);
        let welcome = self.await_welcome(place, &connection, &mut patience)?;
        let silent = || {
            Error::from(crate::detail::NoAnswer {
                name: place.name.clone(),
                after: self.answer_within,
            })
        };
        Ok((connection, welcome.ok_or_else(silent)?))
    }

    /// What the producer grants; `None` if it has not answered in time.
    pub(super) fn await_welcome(
        &self,
        place: &Place,
        connection: &Connection,
        patience: &mut Patience,
    ) -> Result<Option<Welcome>> {
        let mut packet = [0; 1024];
        let Some(received) = connection.receive(&mut packet, patience)? else { return Ok(None) };
        let answer = packet.get(..received.len).unwrap_or_default();
        let fault = match (received.fault.clone(), Answer::decode(answer)) {
            _ if received.len == 0 => {
                return Err(Error::from(crate::detail::Ended {
                    name: place.name.clone(),
                    dead: true,
                }));
            }
            (None | Some(Fault::DescriptorsLost), Ok((welcome @ Answer::Welcome { .. }, _))) => {
                match self.granted(welcome, received) {
                    Ok(welcome) => return Ok(Some(welcome)),
                    Err(fault) => fault,
                }
            }
            (None, Ok((Answer::Refused { reason }, _))) => {
                return Err(Error::from(crate::detail::Refused {
                    name: place.name.clone(),
                    reason,
                }));
            }
            (None, Ok((Answer::Ended, _))) => {
                return Err(Error::from(crate::detail::Ended {
                    name: place.name.clone(),
                    dead: false,
                }));
            }
            (Some(fault), _) | (None, Err(fault)) => fault,
            (None, Ok(_)) => Fault::Unknown { what: "first answer", found: 0 },
        };
        Err(Error::from(crate::detail::Packet { name: place.name.clone(), fault }))
    }

    /// What a producer says that it grants.
    fn granted(&self, welcome: Answer, received: Received) -> Result<Welcome, Fault> {
        let Answer::Welcome { incarnation, consumer, credits, count } = welcome else {
            return Err(Fault::Unknown { what: "first answer", found: 0 });
        };
        if credits == 0 || credits > self.credits {
            return Err(Fault::Credits { found: credits, asked: self.credits });
        }
        let Received { mut descriptors, fault, .. } = received;
        let count = match fault {
            // This process has no room for the counter, and learns of losses with frames.
            Some(_) => Count::none(),
            None if descriptors.len() > 1 => {
                return Err(Fault::Descriptors { found: descriptors.len(), expected: 1 });
            }
            None => Count::new(descriptors.pop(), count)?,
        };
        Ok(Welcome { incarnation, consumer, credits: credits as usize, count })
    }
}

/// Connects to the producer of a stream and says the first word. The producer may be of the user
/// `also`.
pub(crate) fn ask(
    place: &Place,
    hello: Request,
    within: Duration,
    also: Option<u32>,
) -> Result<Connection> {
    let path = place.socket()?;
    let Some(directory) = place.open_directory(also)? else {
        return Err(Error::from(crate::detail::NoStream { name: place.name.clone(), path }));
    };
    let socket = match socket::connect_to(&path, within) {
        Ok(socket) => socket,
        Err(Errno::NOENT | Errno::CONNREFUSED) => {
            return Err(Error::from(crate::detail::NoStream { name: place.name.clone(), path }));
        }
        // Too many wait to be let in, and the producer lets nobody in.
        Err(Errno::AGAIN) => {
            return Err(Error::from(crate::detail::NoAnswer {
                name: place.name.clone(),
                after: within,
            }));
        }
        Err(errno) => {
            return Err(Error::from(crate::detail::Directory { path, cause: errno.into() }));
        }
    };
    let producer = tenure_memory::share::peer(&socket)?;
    let trusted = [geteuid().as_raw(), 0, directory.owner()];
    if !trusted.contains(&producer.uid)
        && Some(producer.uid) != also
        && !socket::is_familiar(&socket, &producer)
    {
        return Err(Error::from(crate::detail::Producer {
            name: place.name.clone(),
            path,
            uid: producer.uid,
        }));
    }
    introduce(socket, hello)
}

fn introduce(socket: OwnedFd, hello: Request) -> Result<Connection> {
    match socket::send(socket.as_fd(), &[IoSlice::new(&hello.encode())], &[]) {
        // It may have said why before it hung up.
        Ok(()) | Err(Errno::PIPE | Errno::CONNRESET) => Ok(Connection::new(socket)),
        Err(errno) => Err(Error::system("talking to the producer", errno)),
    }
}
