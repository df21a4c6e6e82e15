//! One GStreamer pipeline that reads a stream.

use std::collections::HashMap;
use std::io::{IoSlice, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::wire::{Command, Incoming};
use crate::Frame;
use crate::wire::MOST_MEMORIES;

/// The most that is read of a client before others have their turn.
const MOUTHFUL: usize = 4096;

/// A pipeline, and the frames that it has not let go of.
#[derive(Debug)]
pub(super) struct Client {
    socket: UnixStream,
    /// Whose it is.
    pub(super) uid: u32,
    held: HashMap<u64, Arc<Frame>>,
    incoming: Incoming,
    /// Whether it knows what frames look like now.
    pub(super) informed: bool,
}

/// Why a client is one no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gone {
    /// It hung up.
    Left,
    /// It did not keep to the protocol, or does not read.
    PutOut,
}

impl Client {
    pub(super) fn new(socket: UnixStream, uid: u32) -> Client {
        Client { socket, uid, held: HashMap::new(), incoming: Incoming::default(), informed: false }
    }

    /// Nothing waits for it.
    pub(super) fn prepare(&mut self) -> std::io::Result<()> {
        self.socket.set_nonblocking(true)
    }

    /// Frames that it has.
    pub(super) fn held(&self) -> usize {
        self.held.len()
    }

    /// Hears what it lets go of. A frame that it does not have, it cannot let go of.
    pub(super) fn hear(&mut self) -> Result<(), Gone> {
        let mut bytes = [0; MOUTHFUL];
        match self.socket.read(&mut bytes) {
            Ok(0) => return Err(Gone::Left),
            Ok(count) => self.incoming.push(bytes.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return Err(Gone::Left),
        }
        while let Some(id) = self.incoming.release().map_err(|_| Gone::PutOut)? {
            self.held.remove(&id).ok_or(Gone::PutOut)?;
        }
        Ok(())
    }

    /// Tells it something. A client that has no room for a few hundred bytes does not read.
    pub(super) fn tell(&self, command: &Command) -> Result<(), Gone> {
        self.send(command, &[])
    }

    /// Gives it a frame.
    pub(super) fn give(
        &mut self,
        command: &Command,
        memories: &[BorrowedFd<'_>],
        id: u64,
        frame: &Arc<Frame>,
    ) -> Result<(), Gone> {
        self.send(command, memories)?;
        self.held.insert(id, Arc::clone(frame));
        Ok(())
    }

    fn send(&self, command: &Command, rights: &[BorrowedFd<'_>]) -> Result<(), Gone> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_MEMORIES))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !rights.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(rights)) {
            return Err(Gone::PutOut);
        }
        loop {
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            match sendmsg(&self.socket, &[IoSlice::new(command)], &mut ancillary, flags) {
                Err(Errno::INTR) => {}
                Ok(sent) if sent == command.len() => return Ok(()),
                Err(Errno::PIPE | Errno::CONNRESET) => return Err(Gone::Left),
                // Half a command cannot be finished later without waiting for the client.
                Ok(_) | Err(_) => return Err(Gone::PutOut),
            }
        }
    }
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
