//! The door of a stream: its socket, and whoever stands at it.
//!
//! One epoll for everything. Consumers that are in are listened to for hanging up only: what they
//! give back is read when the publisher needs it, which saves it a wake-up for every frame. Only
//! while a stream lends memory of the user's are releases noticed at once.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::fs::{FileType, FlockOperation, Mode, OFlags, flock};
use rustix::io::{Errno, FdFlags};
use rustix::net::{SocketFlags, accept_with};
use tenure_memory::share::{Peer, peer};

use super::Shared;
use super::builder::Policy;
use super::core::Core;
use super::growth::refuse;
use crate::binding::{self, Identity, bound};
use crate::directory::{Place, Trusted};
use crate::wire::{Fault, Request, VERSION};
use crate::{Error, Result, clock, socket};

/// How long somebody may stand at the door without a word.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often at most to look for consumers that hang.
const SELDOM: Duration = Duration::from_millis(10);
/// How many may stand there.
const MOST_WAITING: usize = 64;
/// How many of one process.
const MOST_WAITING_EACH: usize = 32;

/// What an event is about, in the two lowest bits of its number.
pub(super) mod about {
    pub(super) const LISTENER: u64 = 0;
    /// Somebody only wants the service to look around.
    pub(in super::super) const WAKE: u64 = 1;
    pub(super) const WAITING: u64 = 2;
    pub(in super::super) const CONSUMER: u64 = 3;
}

pub(super) struct Door {
    epoll: Arc<OwnedFd>,
    wake: OwnedFd,
    /// Listener and lock, until the stream is closed.
    open: Mutex<Option<Open>>,
    waiting: Mutex<HashMap<u64, Waiting>>,
    next: Mutex<u64>,
    policy: Option<Policy>,
    /// How often to look for consumers that hang.
    look_every: Option<Duration>,
    /// Whether releases are noticed at once.
    eager: AtomicBool,
    closing: AtomicBool,
    /// Given up to be able to say no when there are no descriptors left.
    spare: Mutex<Option<OwnedFd>>,
}

struct Open {
    listener: OwnedFd,
    /// Which file the socket is.
    identity: Identity,
    _lock: OwnedFd,
}

/// Somebody who has connected and said nothing yet.
struct Waiting {
    socket: OwnedFd,
    inode: u64,
    peer: Peer,
    since: Instant,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Door {
    /// Takes the name: the lock first, then the socket, put over whatever a dead producer left.
    pub(super) fn open(
        place: &Place,
        policy: Option<Policy>,
        patience: Option<Duration>,
    ) -> Result<Door> {
        let path = place.socket()?;
        let directory = place.make_directory()?;
        let lock = take_lock(place, &directory)?;
        // Whoever may connect is asked who he is; others are kept out by the system too.
        let mode = if policy.is_some() { 0o666 } else { 0o660 };
        let (listener, bound) = bound(&directory, place.directory(), mode, socket::listen_at)
            .map_err(|cause| {
                Error::from(crate::detail::Directory { path: place.directory().to_owned(), cause })
            })?;
        let system = |what| move |errno: Errno| Error::system(what, errno);
        let epoll =
            epoll::create(epoll::CreateFlags::CLOEXEC).map_err(system("making an epoll"))?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(system("making an eventfd"))?;
        let spare = rustix::io::fcntl_dupfd_cloexec(&wake, 0).ok();
        for (fd, token) in [(listener.as_fd(), about::LISTENER), (wake.as_fd(), about::WAKE)] {
            let data = epoll::EventData::new_u64(token);
            epoll::add(&epoll, fd, data, epoll::EventFlags::IN)
                .map_err(system("watching the socket"))?;
        }
        let identity = bound
            .replace(&place.socket_name())
            .map_err(|cause| Error::from(crate::detail::Directory { path: path.clone(), cause }))?;
        Ok(Door {
            epoll: Arc::new(epoll),
            wake,
            open: Mutex::new(Some(Open { listener, identity, _lock: lock })),
            waiting: Mutex::new(HashMap::new()),
            next: Mutex::new(0),
            policy,
            look_every: patience.map(|patience| (patience / 2).max(SELDOM)),
            eager: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            spare: Mutex::new(spare),
        })
    }

    pub(super) fn epoll(&self) -> &Arc<OwnedFd> {
        &self.epoll
    }

    /// Lets nobody in any more and gives the name up.
    pub(super) fn close(&self, place: &Place) {
        let open = locked(&self.open).take();
        if let Some(open) = &open
            && let Ok(Some(directory)) = place.open_directory(None)
        {
            // While the lock is held: the next producer's socket is not ours to remove.
            binding::remove(&directory, &place.socket_name(), open.identity);
        }
        drop(open);
        locked(&self.waiting).clear();
        self.closing.store(true, Ordering::SeqCst);
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    /// Closes what a process that was forked off has: the files and the name stay as they are.
    pub(super) fn let_go(&self) {
        if let Ok(mut open) = self.open.try_lock() {
            drop(open.take());
        }
        if let Ok(mut waiting) = self.waiting.try_lock() {
            waiting.drain().for_each(|(_, Waiting { socket, inode, .. })| {
                socket::close_inherited(socket, inode);
            });
        }
    }

    /// Notices from now on when consumers give something back.
    pub(super) fn listen_for_releases(&self, shared: &Shared) -> Result<()> {
        if self.eager.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        shared.with(|core| {
            for consumer in core.accounts.consumers() {
                let Some(socket) = &consumer.link.socket else { continue };
                if consumer.link.deaf {
                    continue;
                }
                let data = epoll::EventData::new_u64(consumer.id << 2 | about::CONSUMER);
                match epoll::modify(&*self.epoll, socket, data, self.flags()) {
                    // Just being let in: it is watched in this way from the beginning.
                    Ok(()) | Err(Errno::NOENT) => {}
                    Err(errno) => return Err(Error::system("watching a consumer", errno)),
                }
            }
            Ok(())
        })
    }

    fn flags(&self) -> epoll::EventFlags {
        let eager = self.eager.load(Ordering::SeqCst);
        let releases = if eager { epoll::EventFlags::IN } else { epoll::EventFlags::empty() };
        releases | epoll::EventFlags::RDHUP
    }

    /// Watches a consumer that is let in.
    pub(super) fn watch_consumer(&self, socket: BorrowedFd<'_>, id: u64) -> Result<(), Errno> {
        let data = epoll::EventData::new_u64(id << 2 | about::CONSUMER);
        let flags = self.flags();
        epoll::add(&*self.epoll, socket, data, flags)?;
        // Whoever began to listen for releases meanwhile may not have found it.
        match self.flags() {
            now if now == flags => Ok(()),
            now => epoll::modify(&*self.epoll, socket, data, now),
        }
    }

    /// Whether a process may subscribe.
    fn allows(&self, socket: &OwnedFd, peer: &Peer) -> bool {
        socket::is_familiar(socket, peer)
            || self.policy.as_ref().is_some_and(|policy| asked(policy, peer))
    }
}

/// Who has to go where too many wait: of the user that has most of them, and of that user's process
/// that has most, whoever came first. One user can so keep no other out, with whatever processes.
fn crowding(waiting: &HashMap<u64, Waiting>) -> Option<u64> {
    let rank = |number: u64, of: &Peer| {
        let user = waiting.values().filter(|one| one.peer.uid == of.uid);
        let process = user.clone().filter(|one| one.peer.pid == of.pid).count();
        (user.count(), process, Reverse(number))
    };
    waiting.iter().max_by_key(|(number, one)| rank(**number, &one.peer)).map(|(number, _)| *number)
}

/// What a policy says. One that panics says no: the thread that serves everybody goes on.
fn asked(policy: &Policy, peer: &Peer) -> bool {
    panic::catch_unwind(AssertUnwindSafe(|| policy(peer))).unwrap_or(false)
}

fn take_lock(place: &Place, directory: &Trusted) -> Result<OwnedFd> {
    let path = place.directory().join(place.lock_name());
    let failed =
        |cause: io::Error| Error::from(crate::detail::Directory { path: path.clone(), cause });
    // Whatever else somebody may have put there is not waited for.
    let flags =
        OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let lock = rustix::fs::openat(directory, place.lock_name(), flags, Mode::RUSR | Mode::WUSR)
        .map_err(|errno| failed(errno.into()))?;
    let found = rustix::fs::fstat(&lock).map_err(|errno| failed(errno.into()))?;
    let (me, owner) = (rustix::process::geteuid().as_raw(), found.st_uid);
    if ![me, 0, directory.owner()].contains(&owner) {
        let what = format!("the lock belongs to user {owner}, who keeps the name from others");
        return Err(failed(io::Error::new(io::ErrorKind::PermissionDenied, what)));
    }
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile || found.st_nlink != 1 {
        let what = "the lock is not a regular file of its own: remove it";
        return Err(failed(io::Error::new(io::ErrorKind::PermissionDenied, what)));
    }
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(lock),
        Err(Errno::WOULDBLOCK) => {
            Err(Error::from(crate::detail::Taken { name: place.name.clone(), lock: path }))
        }
        Err(errno) => Err(Error::system("locking the stream's name", errno)),
    }
}

impl Shared {
    /// Serves until the stream is closed and what the user lent has come back.
    pub(super) fn serve_on(&self) {
        loop {
            let waiting = !locked(&self.door.waiting).is_empty();
            let timeout = if waiting { Some(PATIENCE / 4) } else { self.door.look_every };
            if self.serve(timeout).is_err() {
                // Out of memory for a moment, say; not to be asked again at once.
                std::thread::sleep(Duration::from_millis(50));
            }
            if self.door.closing.load(Ordering::SeqCst) && !self.with(|core| core.lends()) {
                return;
            }
        }
    }

    /// Handles what has happened, after waiting for it at most so long.
    pub(super) fn serve(&self, timeout: Option<Duration>) -> Result<()> {
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let nothing = epoll::Event {
            flags: epoll::EventFlags::empty(),
            data: epoll::EventData::new_u64(about::WAKE),
        };
        let mut events = [nothing; 32];
        let count = match epoll::wait(&*self.door.epoll, &mut events, timeout.as_ref()) {
            Ok(count) => count,
            Err(Errno::INTR) => 0,
            Err(errno) => return Err(Error::system("waiting for consumers", errno)),
        };
        let mut knocked = false;
        for event in events.iter().take(count) {
            let token = event.data.u64();
            match token & 3 {
                about::LISTENER => knocked = true,
                about::WAITING => self.hear_waiting(token >> 2),
                about::CONSUMER => self.with(|core| core.hear_one(token >> 2)),
                _ => {
                    let _ = rustix::io::read(&self.door.wake, &mut [0; 8]);
                }
            }
        }
        self.with(Core::settle_fences);
        locked(&self.door.waiting).retain(|_, waiting| waiting.since.elapsed() < PATIENCE);
        if self.door.look_every.is_some() {
            self.with(|core| core.evict_stuck(clock::now()));
        }
        // Last: those who left make room for those who come, and that there is none keeps nobody
        // else waiting.
        if knocked { self.let_in() } else { Ok(()) }
    }

    /// Accepts those who knock, up to as many as may wait at one time: who comes and goes without end
    /// keeps nobody else from being heard.
    fn let_in(&self) -> Result<()> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        for _ in 0..MOST_WAITING {
            let accepted = {
                let open = locked(&self.door.open);
                let Some(open) = open.as_ref() else { return Ok(()) };
                accept_with(&open.listener, flags)
            };
            match accepted {
                Ok(socket) => self.ask_who(socket),
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(errno @ (Errno::MFILE | Errno::NFILE)) => {
                    if !self.turn_away(flags, errno)? {
                        return Ok(());
                    }
                }
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }

    /// Tells one who knocks that there is no descriptor for him, with the last one, which is kept
    /// for this. Says whether anybody knocked: without descriptors the system does not look.
    fn turn_away(&self, flags: SocketFlags, errno: Errno) -> Result<bool> {
        let spare = &mut *locked(&self.door.spare);
        let another = || rustix::io::fcntl_dupfd_cloexec(&self.door.wake, 0).ok();
        if spare.take().is_none() {
            *spare = another();
            return Err(Error::system("letting a consumer in", errno));
        }
        let open = locked(&self.door.open);
        let Some(open) = open.as_ref() else { return Ok(false) };
        let Ok(mut socket) = accept_with(&open.listener, flags) else {
            *spare = another();
            return Ok(false);
        };
        refuse(&socket, "it has as many descriptors open as it may (ulimit -n)".to_owned());
        // In its place, so that nobody else gets the number in between.
        let kept = rustix::io::dup2(&self.door.wake, &mut socket)
            .and_then(|()| rustix::io::fcntl_setfd(&socket, FdFlags::CLOEXEC));
        *spare = match kept {
            Ok(()) => Some(socket),
            Err(_) => another(),
        };
        Ok(true)
    }

    fn ask_who(&self, socket: OwnedFd) {
        let Ok(peer) = peer(&socket) else { return };
        if !self.door.allows(&socket, &peer) {
            let reason = format!(
                "user {} group {} may not subscribe: it is open to user {} and group {}, and to \
                 whom its policy allows",
                peer.uid,
                peer.gid,
                rustix::process::geteuid().as_raw(),
                rustix::process::getegid().as_raw(),
            );
            return refuse(&socket, reason);
        }
        let mut waiting = locked(&self.door.waiting);
        let same = |one: &&Waiting| (one.peer.pid, one.peer.uid) == (peer.pid, peer.uid);
        if waiting.values().filter(same).count() >= MOST_WAITING_EACH {
            let reason = format!("{MOST_WAITING_EACH} others of this process wait to be let in");
            return refuse(&socket, reason);
        }
        if waiting.len() >= MOST_WAITING
            && let Some(number) = crowding(&waiting)
        {
            drop(waiting);
            // Now or never.
            self.hear_waiting(number);
            waiting = locked(&self.door.waiting);
        }
        let number = {
            let mut next = locked(&self.door.next);
            *next += 1;
            *next
        };
        let data = epoll::EventData::new_u64(number << 2 | about::WAITING);
        if epoll::add(&*self.door.epoll, &socket, data, epoll::EventFlags::IN).is_ok() {
            let inode = socket::inode(&socket);
            waiting.insert(number, Waiting { socket, inode, peer, since: Instant::now() });
        }
    }

    /// The first packet of somebody who has connected.
    fn hear_waiting(&self, number: u64) {
        let Some(Waiting { socket, peer, .. }) = locked(&self.door.waiting).remove(&number) else {
            return;
        };
        let mut packet = [0; 64];
        let Ok(received) = socket::receive(socket.as_fd(), &mut packet, false) else {
            return refuse(&socket, format!("it said nothing while {MOST_WAITING} waited"));
        };
        // Known by its number as a consumer from now on.
        let _ = epoll::delete(&*self.door.epoll, &socket);
        if received.len == 0 || received.fault.is_some() || !received.descriptors.is_empty() {
            return;
        }
        match Request::decode(packet.get(..received.len).unwrap_or_default()) {
            Ok(Request::Consume { credits }) => self.admit(socket, peer, credits as usize),
            Ok(Request::Report) => self.answer_report(&socket),
            Err(Fault::Version { found }) => {
                let reason = format!("it speaks version {VERSION} of streams, not {found}");
                refuse(&socket, reason);
            }
            Ok(_) | Err(_) => refuse(&socket, "that was no first packet of a stream".to_owned()),
        }
    }
}
