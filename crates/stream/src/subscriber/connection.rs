//! The connection to a producer: shared by a subscriber and the frames that it has given out.

use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{Shutdown, shutdown};
use tenure_memory::Fence;

use crate::socket::{self, Received};
use crate::wire::{FrameHead, Request};
use crate::{Error, Result};

/// What the producer granted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Welcome {
    pub(crate) incarnation: u64,
    pub(crate) consumer: u64,
    pub(crate) credits: usize,
}

#[derive(Debug)]
pub(crate) struct Connection {
    socket: OwnedFd,
    /// What the kernel was last told about how long to wait; `None` is without end.
    waits: Mutex<Option<Duration>>,
}

impl Connection {
    pub(crate) fn new(socket: OwnedFd) -> Connection {
        Connection { socket, waits: Mutex::new(None) }
    }

    /// Receives a packet, waiting for it at most so long: in one system call, which a poll before
    /// it would double.
    pub(crate) fn receive(
        &self,
        packet: &mut [u8],
        timeout: Option<Duration>,
    ) -> Result<Option<Received>> {
        let socket = self.socket.as_fd();
        let failed = |errno| Error::system("receiving a frame", errno);
        if timeout == Some(Duration::ZERO) {
            return match socket::receive(socket, packet, false) {
                Ok(received) => Ok(Some(received)),
                Err(Errno::AGAIN | Errno::INTR) => Ok(None),
                Err(errno) => Err(failed(errno)),
            };
        }
        // Whoever asks with the same time again finds it set.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut left = timeout.filter(|_| deadline.is_some());
        loop {
            self.wait_for(left)?;
            match socket::receive(socket, packet, true) {
                Ok(received) => return Ok(Some(received)),
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {
                    left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
                    if left == Some(Duration::ZERO) {
                        return Ok(None);
                    }
                }
                Err(errno) => return Err(failed(errno)),
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
        let _ = socket::send(self.as_fd(), &[IoSlice::new(&Request::Enough.encode())], &[]);
    }

    /// Hears and says nothing any more.
    pub(super) fn hang_up(&self) {
        let _ = shutdown(&self.socket, Shutdown::Both);
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The right to read a slot; given back when dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    connection: Arc<Connection>,
    head: FrameHead,
    unknown: AtomicBool,
    fence: OnceLock<Fence>,
}

impl Lease {
    pub(super) fn new(connection: &Arc<Connection>, head: FrameHead) -> Lease {
        let connection = Arc::clone(connection);
        Lease { connection, head, unknown: AtomicBool::new(false), fence: OnceLock::new() }
    }

    /// The memory could not be taken: it has to be sent again.
    pub(super) fn set_unknown(&self) {
        self.unknown.store(true, Ordering::Relaxed);
    }

    /// The slot is free when this is done.
    pub(crate) fn set_fence(&self, fence: Fence) {
        let _ = self.fence.set(fence);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let FrameHead { slot, sequence, .. } = self.head;
        let unknown = *self.unknown.get_mut();
        let fence = self.fence.get();
        let release = Request::Release { slot, sequence, unknown, fence: fence.is_some() };
        let descriptors: &[BorrowedFd<'_>] = match fence {
            Some(fence) => &[fence.fd()],
            None => &[],
        };
        // A producer that is gone needs nothing back, and one that is there has room for as many
        // releases as it gave out frames.
        let _ =
            socket::send(self.connection.as_fd(), &[IoSlice::new(&release.release())], descriptors);
    }
}
