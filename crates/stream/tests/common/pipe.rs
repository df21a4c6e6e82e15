//! Listeners for GStreamer at work, and pipelines that speak its protocol by hand.
#![allow(dead_code, reason = "every test program uses what it needs")]

use std::io::{IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use tenure_stream::gstreamer::{Error, Figures, ListenerBuilder};
use tenure_stream::{Meta, Publisher, Spec};
use tenure_tensor::{DType, DynTensor, PixelFormat, TensorDyn};

use crate::stage::{SOON, Stage};

/// A listener at work.
pub(crate) struct Working {
    pub(crate) over: Arc<AtomicBool>,
    pub(crate) thread: Option<JoinHandle<Result<Figures, Error>>>,
    pub(crate) path: PathBuf,
}

impl Working {
    pub(crate) fn start(stage: &Stage, builder: ListenerBuilder) -> Working {
        let path = stage.path().join("gst");
        let mut listener = builder.directory(stage.path()).open(&path).unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&over);
        let thread = thread::spawn(move || {
            while !asked.load(Ordering::Relaxed) && listener.step(Duration::from_millis(10))? {}
            Ok(listener.figures())
        });
        Working { over, thread: Some(thread), path }
    }

    pub(crate) fn client(&self) -> Client {
        let socket = UnixStream::connect(&self.path).unwrap();
        socket.set_read_timeout(Some(SOON)).unwrap();
        Client { socket }
    }

    /// What it has done, when it is told to end or ends by itself.
    pub(crate) fn end(mut self) -> Result<Figures, Error> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }

    pub(crate) fn wait(mut self) -> Result<Figures, Error> {
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// What `unixfdsrc` does.
pub(crate) struct Client {
    pub(crate) socket: UnixStream,
}

/// What a client is told.
#[derive(Debug)]
pub(crate) enum Told {
    Caps(String),
    Buffer(Buffer),
    End,
    /// The connection is closed.
    Closed,
}

#[derive(Debug)]
pub(crate) struct Buffer {
    pub(crate) id: u64,
    pub(crate) time: u64,
    pub(crate) sequence: u64,
    pub(crate) metas: u16,
    /// Of each memory: where the buffer begins, and how many bytes of it there are.
    pub(crate) pieces: Vec<(usize, usize)>,
    pub(crate) meta: Vec<u8>,
    pub(crate) memories: Vec<OwnedFd>,
}

impl Buffer {
    /// All its bytes, as `unixfdsrc` puts them behind each other.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let pieces = self.memories.iter().zip(&self.pieces);
        pieces.flat_map(|(memory, &(offset, size))| read(memory, offset, size)).collect()
    }
}

pub(crate) fn read(memory: &OwnedFd, offset: usize, size: usize) -> Vec<u8> {
    let all = TensorDyn::from_fd(memory, &[offset + size], DType::U8, None).unwrap();
    assert!(!all.is_writable().unwrap(), "a pipeline could write to the stream");
    all.typed::<u8>().unwrap().map_read().unwrap().as_slice()[offset..].to_vec()
}

pub(crate) fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
}

impl Client {
    pub(crate) fn next(&mut self) -> Told {
        let mut head = [0; 8];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut head)];
        let flags = RecvFlags::CMSG_CLOEXEC;
        match recvmsg(&self.socket, &mut parts, &mut ancillary, flags) {
            Ok(got) if got.bytes == 0 => return Told::Closed,
            Ok(got) => assert_eq!(got.bytes, 8),
            Err(rustix::io::Errno::CONNRESET) => return Told::Closed,
            Err(error) => panic!("nothing came: {error}"),
        }
        let mut memories: Vec<OwnedFd> = vec![];
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                memories.extend(fds);
            }
        }
        let kind = u32::from_ne_bytes(head[..4].try_into().unwrap());
        let mut payload = vec![0; u32::from_ne_bytes(head[4..].try_into().unwrap()) as usize];
        self.socket.read_exact(&mut payload).unwrap();
        match kind {
            0 => {
                let count = usize::from(payload[53]);
                assert_eq!((payload[52], memories.len()), (0, count));
                let numbers = |at: usize| word(&payload, at) as usize;
                let piece = |at: usize| (numbers(56 + 16 * at + 8), numbers(56 + 16 * at));
                Told::Buffer(Buffer {
                    id: word(&payload, 0),
                    time: word(&payload, 8),
                    sequence: word(&payload, 32),
                    metas: u16::from_ne_bytes(payload[54..56].try_into().unwrap()),
                    pieces: (0..count).map(piece).collect(),
                    meta: payload[56 + 16 * count..].to_vec(),
                    memories,
                })
            }
            2 => {
                assert_eq!(payload.pop(), Some(0));
                Told::Caps(String::from_utf8(payload).unwrap())
            }
            3 => Told::End,
            other => panic!("command {other}"),
        }
    }

    pub(crate) fn buffer(&mut self) -> Buffer {
        match self.next() {
            Told::Buffer(buffer) => buffer,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        // It may have been cut off while it talks.
        let _ = self.socket.write_all(bytes);
    }

    pub(crate) fn release(&mut self, id: u64) {
        self.send(&command(1, &id.to_ne_bytes()));
    }

    /// Whether it is cut off, after what it was sent before.
    pub(crate) fn is_cut_off(&mut self) -> bool {
        loop {
            match self.next() {
                Told::Closed => return true,
                Told::End => return false,
                _ => {}
            }
        }
    }
}

pub(crate) fn command(kind: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_ne_bytes();
    [&kind.to_ne_bytes()[..], &length, payload].concat()
}

pub(crate) fn camera(stage: &Stage, spec: Spec) -> Publisher {
    stage.publisher("cam").spec(spec).open().unwrap()
}

pub(crate) fn grey() -> Spec {
    Spec::image(8, 4, PixelFormat::Grey).unwrap()
}

/// Publishes a frame of this value.
pub(crate) fn publish(publisher: &mut Publisher, value: u8) {
    let slot = publisher.claim().unwrap();
    slot.typed::<u8>().unwrap().fill(value).unwrap();
    slot.publish(Meta::new()).unwrap();
}

/// Publishes until a pipeline has got a frame; gives what it was told.
pub(crate) fn first(publisher: &mut Publisher, client: &mut Client) -> (String, Buffer) {
    first_of(client, || publish(publisher, 1))
}

pub(crate) fn first_of(client: &mut Client, mut publish: impl FnMut()) -> (String, Buffer) {
    client.socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let deadline = Instant::now() + SOON;
    let mut caps = None;
    let buffer = loop {
        assert!(Instant::now() < deadline, "no frame came");
        if client.socket.peek_any().is_none() {
            publish();
            continue;
        }
        match client.next() {
            Told::Caps(told) => caps = Some(told),
            Told::Buffer(buffer) => break buffer,
            other => panic!("{other:?}"),
        }
    };
    client.socket.set_read_timeout(Some(SOON)).unwrap();
    (caps.expect("caps come first"), buffer)
}

/// Looks whether there is something to read, waiting as the socket is set.
pub(crate) trait Peek {
    fn peek_any(&self) -> Option<()>;
}

impl Peek for UnixStream {
    fn peek_any(&self) -> Option<()> {
        let mut byte = [0u8; 1];
        rustix::net::recv(self, &mut byte[..], RecvFlags::PEEK).ok().map(|_| ())
    }
}

/// Waits until the stream's consumer holds so many frames.
pub(crate) fn wait_held(publisher: &Publisher, held: usize) {
    let deadline = Instant::now() + SOON;
    loop {
        let stats = publisher.stats();
        if stats.consumers.iter().map(|one| one.held).sum::<usize>() == held {
            return;
        }
        assert!(Instant::now() < deadline, "{held} are not held: {stats:?}");
        thread::sleep(Duration::from_millis(2));
    }
}
