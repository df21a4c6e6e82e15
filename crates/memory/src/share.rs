//! Descriptors and small messages between processes, over a Unix socket.
//!
//! A message is a fixed head (mark, version, length, number of descriptors), a body that this
//! module does not look into, and descriptors. Works on stream and sequenced-packet sockets; on a
//! stream, several messages may follow each other.

use std::io::{ErrorKind, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::Errno;
use rustix::net::sockopt::socket_type;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketType, recvmsg, sendmsg,
};
use smallvec::SmallVec;

use crate::error::MessageFault;
use crate::{Error, Result, TensorMemory};

mod peer;

pub use peer::{Peer, peer, peer_groups};

/// The version this build speaks.
pub const VERSION: u16 = 1;
/// The longest body.
pub const LONGEST_BODY: usize = 128 << 10;
/// The most descriptors with one message: one for each plane of an image.
pub const MOST_DESCRIPTORS: usize = 4;

const MARK: u32 = u32::from_le_bytes(*b"TNUR");
const HEAD: usize = 12;
/// How long the other side may pause in the middle of a message on a socket that does not block.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// A message as it arrived: nothing in `body` has been believed yet.
#[derive(Debug)]
pub struct Message {
    /// The body.
    pub body: Vec<u8>,
    /// The descriptors.
    pub descriptors: SmallVec<[OwnedFd; MOST_DESCRIPTORS]>,
}

/// Sends a body with descriptors. A socket that does not block refuses the message whole; once
/// part of it is on its way, the rest is waited for.
///
/// # Errors
/// If body or descriptors are too many, or the socket refuses.
pub fn send(socket: impl AsFd, body: &[u8], descriptors: &[BorrowedFd<'_>]) -> Result<()> {
    let too_long = body.len() > LONGEST_BODY;
    if too_long || descriptors.len() > MOST_DESCRIPTORS {
        let reason = if too_long {
            MessageFault::Length { said: body.len(), limit: LONGEST_BODY }
        } else {
            MessageFault::Descriptors { found: descriptors.len(), expected: MOST_DESCRIPTORS }
        };
        return Err(Error::from(crate::detail::Message { reason }));
    }
    let mut message = room(HEAD + body.len())?;
    message.extend_from_slice(&MARK.to_le_bytes());
    message.extend_from_slice(&VERSION.to_le_bytes());
    message.extend_from_slice(&(descriptors.len() as u16).to_le_bytes());
    message.extend_from_slice(&(body.len() as u32).to_le_bytes());
    message.extend_from_slice(body);

    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    let mut sent = 0;
    while sent < message.len() {
        let rest = [IoSlice::new(&message[sent..])];
        match sendmsg(&socket, &rest, &mut ancillary, SendFlags::NOSIGNAL) {
            Ok(bytes) => {
                sent += bytes;
                // The descriptors went with the first byte.
                ancillary.clear();
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if sent > 0 => wait_midway(socket.as_fd(), PollFlags::OUT)?,
            Err(Errno::PIPE | Errno::CONNRESET) => return Err(Error::Closed { midway: sent > 0 }),
            Err(errno) => return Err(Error::system("sending a message", errno)),
        }
    }
    Ok(())
}

/// Receives one message. Descriptors of a message that is refused are closed; one that is refused
/// for its descriptors is read to its end, so that the next one can follow.
///
/// # Errors
/// [`Error::Closed`] if the other side is gone, [`Error::Message`] if what came is not a message
/// of ours, and whatever the socket says.
pub fn receive(socket: impl AsFd) -> Result<Message> {
    let socket = socket.as_fd();
    let kind =
        socket_type(socket).map_err(|errno| Error::system("asking what the socket is", errno))?;
    let mut arrived = Arrived::default();
    if kind == SocketType::STREAM {
        let mut head = [0; HEAD];
        fill(socket, &mut head, &mut arrived, true)?;
        let (count, len) = read_head(&head)?;
        let mut body = zeros(len)?;
        fill(socket, &mut body, &mut arrived, false)?;
        return arrived.with(body, count);
    }
    let mut packet = zeros(HEAD + LONGEST_BODY)?;
    let (got, flags) = once(socket, &mut packet, &mut arrived)?;
    if got == 0 {
        return Err(Error::Closed { midway: false });
    }
    packet.truncate(got);
    let short = || {
        Error::from(crate::detail::Message {
            reason: MessageFault::NoHead { found: got, head: HEAD },
        })
    };
    let (head, body) = packet.split_first_chunk::<HEAD>().ok_or_else(short)?;
    let (count, len) = read_head(head)?;
    if body.len() != len || flags.contains(ReturnFlags::TRUNC) {
        let reason = MessageFault::Length { said: len, limit: body.len() };
        return Err(Error::from(crate::detail::Message { reason }));
    }
    packet.drain(..HEAD);
    arrived.with(packet, count)
}

/// An empty list with room for so many bytes; an error where there is no memory, as everywhere that
/// a peer says how much is needed.
fn room(bytes: usize) -> Result<Vec<u8>> {
    let mut list = Vec::new();
    list.try_reserve_exact(bytes).map_err(|_| {
        Error::from(crate::detail::OutOfMemory {
            memory: TensorMemory::Mem,
            bytes,
            available: None,
            source: None,
        })
    })?;
    Ok(list)
}

/// So many zeros, or an error.
fn zeros(bytes: usize) -> Result<Vec<u8>> {
    let mut list = room(bytes)?;
    list.resize(bytes, 0);
    Ok(list)
}

/// Number of descriptors and length of the body, if the head is one of ours.
fn read_head(head: &[u8; HEAD]) -> Result<(usize, usize)> {
    let [a, b, c, d, v0, v1, n0, n1, l0, l1, l2, l3] = *head;
    let refuse = |reason| Err(Error::from(crate::detail::Message { reason }));
    let (mark, version) = (u32::from_le_bytes([a, b, c, d]), u16::from_le_bytes([v0, v1]));
    if mark != MARK {
        return refuse(MessageFault::NotOurs { found: mark });
    }
    if version != VERSION {
        return refuse(MessageFault::Version { found: version, known: VERSION });
    }
    let len = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    if len > LONGEST_BODY {
        return refuse(MessageFault::Length { said: len, limit: LONGEST_BODY });
    }
    Ok((u16::from_le_bytes([n0, n1]) as usize, len))
}

/// The descriptors that came with a message.
#[derive(Default)]
struct Arrived {
    /// At most [`MOST_DESCRIPTORS`]: more are counted, and closed at once.
    descriptors: SmallVec<[OwnedFd; MOST_DESCRIPTORS]>,
    /// How many there were.
    count: usize,
    /// Whether the kernel had some that it could not give us.
    lost: bool,
}

impl Arrived {
    /// The whole message, if these are the descriptors that belong to it.
    fn with(self, body: Vec<u8>, expected: usize) -> Result<Message> {
        let found = self.count;
        let reason = if found > MOST_DESCRIPTORS {
            MessageFault::Descriptors { found, expected: expected.min(MOST_DESCRIPTORS) }
        } else if self.lost {
            // The kernel drops what this process has no room for in its table.
            MessageFault::DescriptorsLost
        } else if found != expected {
            MessageFault::Descriptors { found, expected }
        } else {
            return Ok(Message { body, descriptors: self.descriptors });
        };
        Err(Error::from(crate::detail::Message { reason }))
    }
}

/// Fills `bytes` from a stream.
fn fill(
    socket: BorrowedFd<'_>,
    bytes: &mut [u8],
    arrived: &mut Arrived,
    first: bool,
) -> Result<()> {
    let mut got = 0;
    while got < bytes.len() {
        let midway = !first || got > 0;
        let (more, _) = match once(socket, &mut bytes[got..], arrived) {
            Err(Error::System(system))
                if midway && system.cause.kind() == ErrorKind::WouldBlock =>
            {
                wait_midway(socket, PollFlags::IN)?;
                continue;
            }
            answer => answer?,
        };
        if more == 0 {
            return Err(Error::Closed { midway: !first || got > 0 });
        }
        got += more;
    }
    Ok(())
}

/// Waits for the other side in the middle of a message, where giving up would leave the next one
/// without its beginning. Not for long: the other side may never go on.
fn wait_midway(socket: BorrowedFd<'_>, flags: PollFlags) -> Result<()> {
    let stalled = Error::from(crate::detail::Message { reason: MessageFault::Stalled });
    let blocks = fcntl_getfl(socket).is_ok_and(|flags| !flags.contains(OFlags::NONBLOCK));
    if blocks {
        // Then it was the socket's own time limit that ended.
        return Err(stalled);
    }
    let mut asked = [PollFd::from_borrowed_fd(socket, flags)];
    match poll(&mut asked, Some(&PATIENCE)) {
        Ok(0) => Err(stalled),
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(Error::system("waiting for the other side", errno)),
    }
}

/// One `recvmsg`, with whatever descriptors came. No bytes if the other side is gone.
fn once(
    socket: BorrowedFd<'_>,
    bytes: &mut [u8],
    arrived: &mut Arrived,
) -> Result<(usize, ReturnFlags)> {
    // Room for more than is allowed, so that too many are counted and closed, not cut off.
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS + 1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let mut parts = [IoSliceMut::new(bytes)];
        match recvmsg(socket, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Ok(received) => break received,
            Err(Errno::INTR) => {}
            // Closed by a peer that had not read everything.
            Err(Errno::CONNRESET) => return Ok((0, ReturnFlags::empty())),
            Err(errno) => return Err(Error::system("receiving a message", errno)),
        }
    };
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(fds) = message {
            for fd in fds {
                arrived.count += 1;
                if arrived.count <= MOST_DESCRIPTORS {
                    arrived.descriptors.push(fd);
                }
            }
        }
    }
    arrived.lost |= received.flags.contains(ReturnFlags::CTRUNC);
    Ok((received.bytes, received.flags))
}
