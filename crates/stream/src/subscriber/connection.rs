//! The connection to a producer: shared by a subscriber and the frames that it has given out.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{Shutdown, shutdown};
use tenure_memory::Fence;
use tenure_memory::backend::Process;

use super::budget::Charge;
use super::count::Count;
use crate::patience::Patience;
use crate::socket::{self, Received};
use crate::wire::{FrameHead, Request};
use crate::{Error, Result};

/// What the producer granted.
#[derive(Debug)]
pub(crate) struct Welcome {
    pub(crate) incarnation: u64,
    pub(crate) consumer: u64,
    pub(crate) credits: usize,
    pub(crate) count: Count,
}

#[derive(Debug)]
pub(crate) struct Connection {
    socket: OwnedFd,
    /// What the kernel was last told about how long to wait; `None` is without end.
    waits: Mutex<Option<Duration>>,
    /// Whether something is in `unsaid`, so that nobody looks there without need.
    behind: AtomicBool,
    /// What the kernel had no room for: said as soon as it has. At most one for each credit, because
    /// nothing is taken from a producer that sends more frames than it knows to be given back.
    unsaid: Mutex<VecDeque<Unsaid>>,
    /// Frames that this process has.
    held: AtomicUsize,
    /// Whose it is: one that was forked off has the same socket, and nothing to say there.
    process: Process,
}

/// A packet that waits, and the fence that goes with it.
#[derive(Debug)]
struct Unsaid {
    request: Request,
    fence: Option<Fence>,
}

impl Connection {
    pub(crate) fn new(socket: OwnedFd) -> Connection {
        Connection {
            socket,
            waits: Mutex::new(None),
            behind: AtomicBool::new(false),
            unsaid: Mutex::default(),
            held: AtomicUsize::new(0),
            process: Process::current(),
        }
    }

    /// Whose it is.
    pub(super) fn process(&self) -> Process {
        self.process
    }

    /// Frames that this process has.
    pub(super) fn held(&self) -> usize {
        self.held.load(Ordering::SeqCst)
    }

    /// Frames that this process has, or has given back without being able to say so yet. The
    /// producer cannot count fewer, so an honest one sends none when these are all credits.
    pub(super) fn outstanding(&self) -> usize {
        let behind = self.behind.load(Ordering::SeqCst);
        let unsaid = if behind { self.unsaid().len() } else { 0 };
        self.held() + unsaid
    }

    /// Receives a packet, waiting for it at most so long: in one system call, which a poll before
    /// it would double.
    pub(crate) fn receive(
        &self,
        packet: &mut [u8],
        patience: &mut Patience,
    ) -> Result<Option<Received>> {
        let socket = self.socket.as_fd();
        self.catch_up();
        loop {
            let left = patience.left();
            let wait = left != Some(Duration::ZERO);
            if wait {
                self.wait_for(left)?;
            }
            match socket::receive(socket, packet, wait) {
                Ok(received) => return Ok(Some(received)),
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Error::system("receiving a frame", errno)),
            }
        }
    }

    /// Tells the kernel how long to wait, if it does not know.
    fn wait_for(&self, timeout: Option<Duration>) -> Result<()> {
        // The kernel takes zero for no limit.
        let timeout = timeout.map(|timeout| timeout.max(Duration::from_micros(1)));
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        if *waits != timeout {
            set_socket_timeout(&self.socket, Timeout::Recv, timeout)
                .map_err(|errno| Error::system("setting the time to wait", errno))?;
            *waits = timeout;
        }
        Ok(())
    }

    /// Says that no more frames are wanted.
    pub(super) fn enough(&self) {
        self.say(Request::Enough, None);
    }

    /// Says something, now or as soon as there is room for it. A producer hears releases when it
    /// needs them: of many credits more can be given back than a socket holds.
    fn say(&self, request: Request, fence: Option<Fence>) {
        let said = Unsaid { request, fence };
        if !self.catch_up() || !said.send(self.as_fd()) {
            self.unsaid().push_back(said);
            self.behind.store(true, Ordering::SeqCst);
        }
    }

    /// Says what had to wait. Says whether nothing waits any more.
    fn catch_up(&self) -> bool {
        if !self.behind.load(Ordering::SeqCst) {
            return true;
        }
        let mut unsaid = self.unsaid();
        while unsaid.front().is_some_and(|first| first.send(self.as_fd())) {
            unsaid.pop_front();
        }
        self.behind.store(!unsaid.is_empty(), Ordering::SeqCst);
        unsaid.is_empty()
    }

    fn unsaid(&self) -> MutexGuard<'_, VecDeque<Unsaid>> {
        self.unsaid.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hears and says nothing any more.
    pub(super) fn hang_up(&self) {
        let _ = shutdown(&self.socket, Shutdown::Both);
    }
}

impl Unsaid {
    /// Says whether there is nothing left to do: it was sent, or nobody is there who needs it.
    fn send(&self, socket: BorrowedFd<'_>) -> bool {
        let descriptors: &[BorrowedFd<'_>] = match &self.fence {
            Some(fence) => &[fence.fd()],
            None => &[],
        };
        let send = |packet: &[u8]| socket::send(socket, &[IoSlice::new(packet)], descriptors);
        let answer = match self.request {
            Request::Release { .. } => send(&self.request.release()),
            other => send(&other.encode()),
        };
        // Full of packets, or of descriptors on their way.
        !matches!(answer, Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM | Errno::TOOMANYREFS))
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The right to read a slot; the slot is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    connection: Arc<Connection>,
    slot: u32,
    sequence: u64,
    unknown: bool,
    fence: Option<Fence>,
}

impl Held {
    pub(super) fn new(connection: &Arc<Connection>, head: &FrameHead) -> Held {
        let FrameHead { slot, sequence, .. } = *head;
        let connection = Arc::clone(connection);
        connection.held.fetch_add(1, Ordering::SeqCst);
        Held { connection, slot, sequence, unknown: false, fence: None }
    }

    /// The memory could not be taken: it has to be sent again.
    pub(super) fn set_unknown(&mut self) {
        self.unknown = true;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.connection.process.is_current() {
            return;
        }
        // Before it is said: the producer may answer at once.
        self.connection.held.fetch_sub(1, Ordering::SeqCst);
        let Held { slot, sequence, unknown, ref mut fence, .. } = *self;
        let release = Request::Release { slot, sequence, unknown, fence: fence.is_some() };
        self.connection.say(release, fence.take());
    }
}

/// What a tensor over a slot keeps: the right to read it, while a frame has the tensor.
#[derive(Debug, Default)]
pub(crate) struct Lease {
    process: Process,
    /// `None` between two frames, so that a tensor which waits does not keep the connection.
    held: Mutex<Option<Held>>,
    /// The memory counts while there are tensors over it.
    _charge: Option<Arc<Charge>>,
}

impl Lease {
    /// For a tensor over memory that counts so much.
    pub(super) fn over(charge: &Arc<Charge>) -> Lease {
        Lease { _charge: Some(Arc::clone(charge)), ..Lease::default() }
    }

    /// Whether it was made here, and not by the process that this one was forked off.
    pub(super) fn is_own(&self) -> bool {
        self.process.is_current()
    }

    /// A frame has the slot.
    pub(super) fn begin(&self, held: Held) {
        self.replace(Some(held));
    }

    /// Gives the slot back. The tensor must be out of everybody's reach.
    pub(super) fn end(&self) {
        self.replace(None);
    }

    fn replace(&self, held: Option<Held>) {
        let before = std::mem::replace(&mut *self.lock(), held);
        drop(before);
    }

    /// The slot is free when this is done.
    pub(crate) fn set_fence(&self, fence: Fence) {
        if let Some(held) = &mut *self.lock() {
            held.fence.get_or_insert(fence);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
