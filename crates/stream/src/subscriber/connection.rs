//! The connection to a producer: shared by a subscriber and the frames that it has given out.

use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{Shutdown, shutdown};
use tenure_memory::Fence;

use crate::patience::Patience;
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
        patience: &mut Patience,
    ) -> Result<Option<Received>> {
        let socket = self.socket.as_fd();
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
        Held { connection, slot, sequence, unknown: false, fence: None }
    }

    /// The memory could not be taken: it has to be sent again.
    pub(super) fn set_unknown(&mut self) {
        self.unknown = true;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Held { slot, sequence, unknown, ref fence, .. } = *self;
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

/// What a tensor over a slot keeps: the right to read it, while a frame has the tensor.
#[derive(Debug, Default)]
pub(crate) struct Lease {
    /// `None` between two frames, so that a tensor which waits does not keep the connection.
    held: Mutex<Option<Held>>,
}

impl Lease {
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
