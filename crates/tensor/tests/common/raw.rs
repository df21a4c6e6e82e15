//! Messages written by hand, as somebody would who means no good.
#![allow(dead_code, reason = "every test program uses what it needs")]

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

/// The first bytes of a message.
pub(crate) fn head(mark: &[u8; 4], version: u16, descriptors: u16, len: u32) -> Vec<u8> {
    let mut head = mark.to_vec();
    head.extend(version.to_le_bytes());
    head.extend(descriptors.to_le_bytes());
    head.extend(len.to_le_bytes());
    head
}

/// A message with a true head.
pub(crate) fn message(body: &[u8], descriptors: usize) -> Vec<u8> {
    let mut message = head(b"TNUR", 1, descriptors as u16, body.len() as u32);
    message.extend(body);
    message
}

/// Sends bytes and descriptors as they are.
pub(crate) fn send(socket: impl AsFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) {
    let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(253))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(descriptors)));
    }
    let parts = [IoSlice::new(bytes)];
    let sent = loop {
        match sendmsg(&socket, &parts, &mut ancillary, SendFlags::NOSIGNAL) {
            // An ordinary user may have only so many on their way.
            Err(Errno::TOOMANYREFS) => std::thread::yield_now(),
            answer => break answer.unwrap(),
        }
    };
    assert_eq!(sent, bytes.len());
}
