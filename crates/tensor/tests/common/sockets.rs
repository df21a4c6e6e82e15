//! Connected sockets: in one process, and between two.
#![allow(dead_code, reason = "every test program uses what it needs")]

use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen,
    socket_with, socketpair,
};

/// The types of socket that tensors travel over.
pub(crate) const KINDS: [SocketType; 2] = [SocketType::STREAM, SocketType::SEQPACKET];

/// Both ends of a connection.
pub(crate) fn pair(kind: SocketType) -> (OwnedFd, OwnedFd) {
    socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).unwrap()
}

/// Waits for other processes under a name that goes with it.
pub(crate) struct Listener {
    socket: OwnedFd,
    path: tempfile::TempPath,
}

impl Listener {
    pub(crate) fn new(kind: SocketType) -> Listener {
        let path = tempfile::Builder::new().make(|path| {
            let socket = socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
            bind(&socket, &SocketAddrUnix::new(path)?)?;
            listen(&socket, 1)?;
            Ok(socket)
        });
        let (socket, path) = path.unwrap().into_parts();
        Listener { socket, path }
    }

    /// What the other process needs to know: see [`connected`].
    pub(crate) fn address(&self, kind: SocketType) -> String {
        let word = if kind == SocketType::STREAM { "stream" } else { "packet" };
        format!("{word}:{}", self.path.display())
    }

    pub(crate) fn accept(&self) -> OwnedFd {
        accept_with(&self.socket, SocketFlags::CLOEXEC).unwrap()
    }
}

/// Connects to the listener with this address.
pub(crate) fn connected(address: &str) -> OwnedFd {
    let (word, path) = address.split_once(':').unwrap();
    let kind = if word == "stream" { SocketType::STREAM } else { SocketType::SEQPACKET };
    let socket = socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).unwrap();
    connect(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
    socket
}
