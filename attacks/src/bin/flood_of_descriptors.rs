//! A peer that puts descriptors on every byte of a message, to use up those of the receiver.
#![forbid(unsafe_code)]

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tenure::memory::{Error, MessageFault, share};
use tenure_attacks::{open_descriptors, refused};

fn main() {
    let (here, there) = UnixStream::pair().expect("a pair of sockets");
    let file = std::fs::File::open("/proc/self/exe").expect("this program");
    let body = 60;
    let mut message = b"TNUR\x01\0\x04\0".to_vec();
    message.extend(u32::to_le_bytes(body));
    message.resize(message.len() + body as usize, 0);
    for byte in &message {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let four = [file.as_fd(); 4];
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(&four)));
        let part = [IoSlice::new(std::slice::from_ref(byte))];
        sendmsg(&here, &part, &mut ancillary, SendFlags::empty()).expect("sent");
    }
    // Room for a message's descriptors, and not for a flood of them.
    let before = open_descriptors();
    let room = Some((before + 2 * share::MOST_DESCRIPTORS + 2) as u64);
    let limit = Rlimit { current: room, ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limit).expect("fewer are always allowed");
    refused!(
        share::receive(&there),
        Error::Message(it) if matches!(it.reason, MessageFault::Descriptors { found, .. } if found > 4)
    );
    assert_eq!(open_descriptors(), before, "descriptors of refused messages must be closed");
}
