//! Sockets of streams: bound, connected, and one packet at a time.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::fs::fstat;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
    bind, connect, listen, recvmsg, sendmsg, socket_with,
};
use smallvec::SmallVec;
use tenure_memory::share::{Peer, peer_groups};

use crate::wire::{Fault, MOST_DESCRIPTORS};

/// Connections that wait to be accepted.
const BACKLOG: i32 = 64;

/// The descriptors that came with a packet.
pub(crate) type Descriptors = SmallVec<[OwnedFd; MOST_DESCRIPTORS]>;

fn make(flags: SocketFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | SocketFlags::CLOEXEC;
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

/// A socket that listens at `path`, where nothing may be.
pub(crate) fn listen_at(path: &Path) -> std::io::Result<OwnedFd> {
    let socket = make(SocketFlags::NONBLOCK)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// A socket connected to whoever listens at `path`; it blocks. `AGAIN` if so many wait there that
/// nobody was let in for so long.
pub(crate) fn connect_to(path: &Path, within: Duration) -> Result<OwnedFd, Errno> {
    let socket = make(SocketFlags::empty())?;
    set_socket_timeout(&socket, Timeout::Send, Some(within))?;
    let address = SocketAddrUnix::new(path)?;
    loop {
        match connect(&socket, &address) {
            Err(Errno::INTR) => {}
            answer => return answer.map(|()| socket),
        }
    }
}

/// Which socket a descriptor stands for; 0 if that cannot be told.
pub(crate) fn inode(socket: impl AsFd) -> u64 {
    #[allow(clippy::useless_conversion, reason = "the width differs between architectures")]
    fstat(socket).map_or(0, |found| u64::from(found.st_ino))
}

/// Closes a socket that a forked process inherited, if its descriptor still stands for it. The kernel
/// copies descriptors first and memory afterwards: what another thread accepted in between has a
/// number here that is free, or somebody else's.
pub(crate) fn close_inherited(socket: OwnedFd, expected: u64) {
    if inode(&socket) == expected {
        drop(socket);
    } else {
        std::mem::forget(socket);
    }
}

/// Whether a process is of this process's user, or belongs to its group.
pub(crate) fn is_familiar(socket: impl AsFd, peer: &Peer) -> bool {
    let group = rustix::process::getegid().as_raw();
    peer.uid == rustix::process::geteuid().as_raw()
        || peer.gid == group
        || peer_groups(socket).is_ok_and(|groups| groups.contains(&group))
}

/// Sends one packet, without waiting.
pub(crate) fn send(
    socket: BorrowedFd<'_>,
    parts: &[IoSlice<'_>],
    descriptors: &[BorrowedFd<'_>],
) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(Errno::TOOBIG);
    }
    loop {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        match sendmsg(socket, parts, &mut ancillary, flags) {
            Err(Errno::INTR) => {}
            answer => return answer.map(|_| ()),
        }
    }
}

/// A packet that arrived in the caller's buffer.
#[derive(Debug)]
pub(crate) struct Received {
    /// Bytes of the packet; none if the other side is gone.
    pub(crate) len: usize,
    pub(crate) descriptors: Descriptors,
    /// What is wrong with it before anybody has looked into it.
    pub(crate) fault: Option<Fault>,
}

/// Receives one packet. Waits for it as the socket is set, unless told not to.
pub(crate) fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    wait: bool,
) -> Result<Received, Errno> {
    // Room for one more than is allowed, so that too many are counted and closed, not cut off.
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS + 1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let limit = buffer.len();
    let flags = if wait { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
    let flags = flags | RecvFlags::CMSG_CLOEXEC;
    let got = loop {
        let mut parts = [IoSliceMut::new(buffer)];
        match recvmsg(socket, &mut parts, &mut ancillary, flags) {
            Ok(got) => break got,
            // Closed by a peer that had not read everything. The kernel says so once, and gives
            // what the peer sent before after that.
            Err(Errno::CONNRESET) => {}
            Err(errno) => return Err(errno),
        }
    };
    let mut descriptors = Descriptors::new();
    let mut found = 0;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(fds) = message {
            for fd in fds {
                found += 1;
                if found <= MOST_DESCRIPTORS {
                    descriptors.push(fd);
                }
            }
        }
    }
    let fault = if found > MOST_DESCRIPTORS {
        Some(Fault::Descriptors { found, expected: MOST_DESCRIPTORS })
    } else if got.flags.contains(ReturnFlags::CTRUNC) {
        // The kernel drops what this process has no room for in its table.
        Some(Fault::DescriptorsLost)
    } else if got.flags.contains(ReturnFlags::TRUNC) {
        let limit = limit as u64;
        Some(Fault::TooLarge { what: "packet", found: limit + 1, limit })
    } else {
        None
    };
    Ok(Received { len: got.bytes, descriptors, fault })
}
