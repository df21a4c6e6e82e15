//! The other side of a stream played by hand, byte by byte.
#![allow(dead_code, reason = "every test program uses what it needs")]

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen,
    recvmsg, sendmsg, socket_with,
};

fn socket() -> OwnedFd {
    let flags = SocketFlags::CLOEXEC;
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap()
}

/// A socket that listens where a producer's would.
pub(crate) fn listener(directory: &Path, name: &str) -> OwnedFd {
    let listener = socket();
    let path = directory.join(format!("{name}.sock"));
    bind(&listener, &SocketAddrUnix::new(path).unwrap()).unwrap();
    listen(&listener, 8).unwrap();
    listener
}

pub(crate) fn accept(listener: &OwnedFd) -> OwnedFd {
    accept_with(listener, SocketFlags::CLOEXEC).unwrap()
}

/// A connection to a producer, without a word said.
pub(crate) fn connected(directory: &Path, name: &str) -> OwnedFd {
    let socket = socket();
    let path = directory.join(format!("{name}.sock"));
    connect(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
    socket
}

/// Sends a packet with descriptors, more than are allowed too. Says whether it could be sent.
pub(crate) fn send(socket: &OwnedFd, packet: &[u8], descriptors: &[BorrowedFd<'_>]) -> bool {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(64))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(descriptors)));
    }
    sendmsg(socket, &[IoSlice::new(packet)], &mut ancillary, SendFlags::NOSIGNAL).is_ok()
}

/// Receives a packet, letting its descriptors go; nothing if the other side is gone.
pub(crate) fn receive(socket: impl AsFd) -> Vec<u8> {
    let mut packet = vec![0; 64 << 10];
    loop {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut packet)];
        match recvmsg(&socket, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Ok(got) => {
                let bytes = got.bytes;
                packet.truncate(bytes);
                return packet;
            }
            Err(rustix::io::Errno::CONNRESET) => {}
            Err(errno) => panic!("{errno}"),
        }
    }
}

/// Numbers that look random and are the same every time.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    /// A packet with some bytes changed, cut or added.
    pub(crate) fn spoil(&mut self, packet: &[u8]) -> Vec<u8> {
        let mut spoilt = packet.to_vec();
        for _ in 0..self.roll(4) + 1 {
            match self.roll(4) {
                0 => spoilt.truncate(self.roll(spoilt.len() + 1)),
                1 => spoilt.extend((0..self.roll(40)).map(|byte| byte as u8)),
                _ if !spoilt.is_empty() => {
                    let at = self.roll(spoilt.len());
                    spoilt[at] = [0, 1, 127, 128, 255, self.roll(256) as u8][self.roll(6)];
                }
                _ => {}
            }
        }
        spoilt
    }
}
