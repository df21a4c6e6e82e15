//! Streams for GStreamer, with clients that speak its protocol by hand, well and badly. The real
//! element is tested by `tests/gstreamer/test`.
#![cfg(any(target_os = "linux", target_os = "android"))]

#[path = "common/stage.rs"]
mod stage;

use std::fs;
use std::io::{IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use stage::{SOON, Stage};
use tenure_memory::Fence;
use tenure_stream::gstreamer::{Error, Figures, Listener, ListenerBuilder};
use tenure_stream::{Meta, Publisher, Spec};
use tenure_tensor::{Colour, DType, PixelFormat, Tensor, TensorDyn, TensorMemory};

/// A listener at work.
struct Working {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Figures, Error>>>,
    path: PathBuf,
}

impl Working {
    fn start(stage: &Stage, builder: ListenerBuilder) -> Working {
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

    fn client(&self) -> Client {
        let socket = UnixStream::connect(&self.path).unwrap();
        socket.set_read_timeout(Some(SOON)).unwrap();
        Client { socket }
    }

    /// What it has done, when it is told to end or ends by itself.
    fn end(mut self) -> Result<Figures, Error> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }

    fn wait(mut self) -> Result<Figures, Error> {
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// What `unixfdsrc` does.
struct Client {
    socket: UnixStream,
}

/// What a client is told.
#[derive(Debug)]
enum Told {
    Caps(String),
    Buffer(Buffer),
    End,
    /// The connection is closed.
    Closed,
}

#[derive(Debug)]
struct Buffer {
    id: u64,
    time: u64,
    sequence: u64,
    metas: u16,
    /// Of each memory: where the buffer begins, and how many bytes of it there are.
    pieces: Vec<(usize, usize)>,
    meta: Vec<u8>,
    memories: Vec<OwnedFd>,
}

impl Buffer {
    /// All its bytes, as `unixfdsrc` puts them behind each other.
    fn bytes(&self) -> Vec<u8> {
        let pieces = self.memories.iter().zip(&self.pieces);
        pieces.flat_map(|(memory, &(offset, size))| read(memory, offset, size)).collect()
    }
}

fn read(memory: &OwnedFd, offset: usize, size: usize) -> Vec<u8> {
    let all = TensorDyn::from_fd(memory, &[offset + size], DType::U8, None).unwrap();
    assert!(!all.is_writable().unwrap(), "a pipeline could write to the stream");
    all.typed::<u8>().unwrap().map_read().unwrap().as_slice()[offset..].to_vec()
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
}

impl Client {
    fn next(&mut self) -> Told {
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

    fn buffer(&mut self) -> Buffer {
        match self.next() {
            Told::Buffer(buffer) => buffer,
            other => panic!("{other:?}"),
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        // It may have been cut off while it talks.
        let _ = self.socket.write_all(bytes);
    }

    fn release(&mut self, id: u64) {
        self.send(&command(1, &id.to_ne_bytes()));
    }

    /// Whether it is cut off, after what it was sent before.
    fn is_cut_off(&mut self) -> bool {
        loop {
            match self.next() {
                Told::Closed => return true,
                Told::End => return false,
                _ => {}
            }
        }
    }
}

fn command(kind: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_ne_bytes();
    [&kind.to_ne_bytes()[..], &length, payload].concat()
}

fn camera(stage: &Stage, spec: Spec) -> Publisher {
    stage.publisher("cam").spec(spec).open().unwrap()
}

fn grey() -> Spec {
    Spec::image(PixelFormat::Grey, 8, 4).unwrap()
}

/// Publishes a frame of this value.
fn publish(publisher: &mut Publisher, value: u8) {
    let slot = publisher.claim().unwrap();
    slot.typed::<u8>().unwrap().fill(value).unwrap();
    slot.publish(Meta::new()).unwrap();
}

/// Publishes until a pipeline has got a frame; gives what it was told.
fn first(publisher: &mut Publisher, client: &mut Client) -> (String, Buffer) {
    first_of(client, || publish(publisher, 1))
}

fn first_of(client: &mut Client, mut publish: impl FnMut()) -> (String, Buffer) {
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
trait Peek {
    fn peek_any(&self) -> Option<()>;
}

impl Peek for UnixStream {
    fn peek_any(&self) -> Option<()> {
        let mut byte = [0u8; 1];
        rustix::net::recv(self, &mut byte[..], RecvFlags::PEEK).ok().map(|_| ())
    }
}

/// Waits until the stream's consumer holds so many frames.
fn wait_held(publisher: &Publisher, held: usize) {
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

#[test]
fn a_pipeline_gets_caps_and_frames_without_a_copy() {
    let stage = Stage::new();
    let spec = Spec::image(PixelFormat::Nv12, 64, 32).unwrap().with_colour(Colour::HD);
    let mut publisher = camera(&stage, spec);
    let listener = Working::start(&stage, Listener::builder("cam").framerate(30, 1));
    let mut client = listener.client();
    let (caps, buffer) = first(&mut publisher, &mut client);
    assert_eq!(
        caps,
        "video/x-raw, format=(string)NV12, width=(int)64, height=(int)32, \
         framerate=(fraction)30/1, colorimetry=(string)2:3:0:0"
    );
    assert_eq!((&buffer.pieces[..], buffer.metas), (&[(0, 64 * 48)][..], 0));
    assert!(buffer.time > 0 && buffer.time < u64::MAX);
    assert_eq!(buffer.bytes(), [1; 64 * 48]);
    client.release(buffer.id);
    publish(&mut publisher, 7);
    let next = loop {
        let next = client.buffer();
        client.release(next.id);
        if next.bytes()[0] == 7 {
            break next;
        }
    };
    assert!(next.sequence > buffer.sequence && next.id != buffer.id);
    wait_held(&publisher, 0);
    // The end of the stream is the end of the pipeline.
    drop(publisher);
    assert!(matches!(client.next(), Told::End) && matches!(client.next(), Told::Closed));
    let path = listener.path.clone();
    let figures = listener.wait().unwrap();
    assert_eq!((figures.came, figures.put_out, figures.refused), (1, 0, 0));
    assert!(!path.exists());
}

/// Publishes a value until a pipeline gets it, which lets go of everything at once.
fn get(client: &mut Client, publisher: &mut Publisher, value: u8) -> Buffer {
    client.socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let deadline = Instant::now() + SOON;
    loop {
        assert!(Instant::now() < deadline, "{value} did not come");
        publish(publisher, value);
        while client.socket.peek_any().is_some() {
            let frame = client.buffer();
            let bytes = frame.bytes();
            assert!(bytes.iter().all(|byte| *byte == bytes[0]), "torn");
            client.release(frame.id);
            if bytes[0] == value {
                return frame;
            }
        }
    }
}

/// Lets a pipeline let go of all that comes, until only so many frames are held.
fn settle(client: &mut Client, publisher: &Publisher, held: usize) {
    client.socket.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    let deadline = Instant::now() + SOON;
    let count = || publisher.stats().consumers.iter().map(|one| one.held).sum::<usize>();
    while count() != held {
        assert!(Instant::now() < deadline, "{held} are not held, but {}", count());
        while client.socket.peek_any().is_some() {
            let frame = client.buffer();
            client.release(frame.id);
        }
    }
}

#[test]
fn a_pipeline_that_holds_everything_holds_up_nobody() {
    let stage = Stage::new();
    let mut publisher = camera(&stage, grey());
    let listener = Working::start(&stage, Listener::builder("cam").clients(2).frames_each(2));
    let (mut slow, mut quick) = (listener.client(), listener.client());
    let (_, one) = first(&mut publisher, &mut slow);
    let (_, other) = first(&mut publisher, &mut quick);
    quick.release(other.id);
    let mut last = other.sequence;
    for value in 2..60 {
        let frame = get(&mut quick, &mut publisher, value);
        assert!(frame.sequence > last);
        last = frame.sequence;
    }
    let two = slow.buffer();
    assert!(two.sequence > one.sequence);
    slow.socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    assert!(slow.socket.peek_any().is_none(), "a third frame came");
    settle(&mut quick, &publisher, 2);
    assert_eq!((one.bytes()[0], two.bytes()[0]), (1, two.bytes()[31]));
    // One that lets go gets others; one that is gone holds nothing.
    slow.socket.set_read_timeout(Some(SOON)).unwrap();
    slow.release(one.id);
    settle(&mut quick, &publisher, 1);
    publish(&mut publisher, 99);
    assert_eq!(slow.buffer().bytes(), [99; 32]);
    drop(slow);
    settle(&mut quick, &publisher, 0);
    let figures = listener.end().unwrap();
    assert!(figures.dropped > 0 && figures.put_out == 0, "{figures:?}");
}

#[test]
fn more_pipelines_than_credits_are_turned_away() {
    let stage = Stage::new();
    let publisher = stage.publisher("cam").spec(grey()).credits_each(4).open().unwrap();
    let path = stage.path().join("gst");
    let builder = Listener::builder("cam").directory(stage.path());
    let listener = builder.clone().open(&path).unwrap();
    assert_eq!(listener.most_clients(), 1);
    assert!(matches!(builder.open(&path), Err(Error::Taken(_))));
    drop(listener);
    let listener = Working::start(&stage, Listener::builder("cam"));
    let (_one, mut two) = (listener.client(), listener.client());
    assert!(two.is_cut_off());
    assert_eq!(listener.end().unwrap().refused, 1);
    drop(publisher);
}

/// What a hostile pipeline says, if it has a frame of this number.
type Message<'a> = &'a dyn Fn(u64) -> Vec<u8>;

#[test]
fn hostile_pipelines_are_cut_off_and_others_go_on() {
    let stage = Stage::new();
    let mut publisher = camera(&stage, grey());
    let listener = Working::start(&stage, Listener::builder("cam"));
    let mut good = listener.client();
    let (_, buffer) = first(&mut publisher, &mut good);
    good.release(buffer.id);
    let twice = |id: u64| [command(1, &id.to_ne_bytes()), command(1, &id.to_ne_bytes())].concat();
    let cases: [(&str, Message<'_>); 8] = [
        ("a number that was never given", &|_| command(1, &u64::MAX.to_ne_bytes())),
        ("the number of another pipeline", &|_| command(1, &buffer.id.to_ne_bytes())),
        ("the same twice", &twice),
        ("a release that is too short", &|_| command(1, &[0; 7])),
        ("a length without an end", &|_| [1u32.to_ne_bytes(), u32::MAX.to_ne_bytes()].concat()),
        ("a buffer", &|_| command(0, &[0; 72])),
        ("caps", &|_| command(2, b"video/x-raw\0")),
        ("a page of something new", &|_| command(77, &[0; 4097])),
    ];
    let count = cases.len() as u64;
    for (what, message) in cases {
        let mut bad = listener.client();
        let (_, buffer) = first(&mut publisher, &mut bad);
        bad.send(&message(buffer.id));
        assert!(bad.is_cut_off(), "{what}");
    }
    // Half a command is waited for, and what is not known yet is passed over.
    let mut patient = listener.client();
    let (_, held) = first(&mut publisher, &mut patient);
    patient.send(&command(9, b"of a later version"));
    let release = command(1, &held.id.to_ne_bytes());
    patient.send(&release[..9]);
    drain(&mut good, &mut publisher);
    patient.send(&release[9..]);
    // Frames that came meanwhile are the others that it holds.
    drop(patient);
    // One that only connects, and one that sends half a command and goes.
    drop(listener.client());
    listener.client().send(&release[..5]);
    drain(&mut good, &mut publisher);
    wait_held(&publisher, 0);
    let figures = listener.end().unwrap();
    assert_eq!((figures.put_out, figures.refused), (count, 0), "{figures:?}");
}

/// Publishes a frame that a pipeline has to get, and lets go of all that it has.
fn drain(client: &mut Client, publisher: &mut Publisher) {
    let mark = 200;
    let deadline = Instant::now() + SOON;
    client.socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    loop {
        assert!(Instant::now() < deadline, "the good pipeline got nothing");
        publish(publisher, mark);
        while client.socket.peek_any().is_some() {
            let buffer = client.buffer();
            client.release(buffer.id);
            if buffer.bytes()[0] == mark {
                client.socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
                while client.socket.peek_any().is_some() {
                    let buffer = client.buffer();
                    client.release(buffer.id);
                }
                client.socket.set_read_timeout(Some(SOON)).unwrap();
                return;
            }
        }
    }
}

#[test]
fn what_gstreamer_has_no_words_for_is_refused() {
    let image =
        |format, dtype, width, stride| Spec::image_of(format, dtype, width, 4, stride).unwrap();
    let cases = [
        (Spec::tensor(DType::F32, &[3, 4]).unwrap(), "are no images (f32 [3, 4])"),
        (image(PixelFormat::PlanarRgba, DType::U8, 8, None), "are planar-rgba of u8"),
        (image(PixelFormat::Rgb, DType::F32, 8, None), "are rgb of f32"),
        (
            image(PixelFormat::Rgb, DType::U8, 6, None),
            "plane 0 is at 0 with rows 18 bytes apart, not at 0 with 20",
        ),
        (
            image(PixelFormat::Nv12, DType::U8, 8, Some(64)),
            "plane 0 is at 0 with rows 64 bytes apart, not at 0 with 8",
        ),
    ];
    for (spec, words) in cases {
        let stage = Stage::new();
        let mut publisher = camera(&stage, spec);
        let listener = Working::start(&stage, Listener::builder("cam"));
        publisher.claim().unwrap().publish(Meta::new()).unwrap();
        let error = listener.wait().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn unusual_rows_come_with_a_meta_if_that_is_allowed() {
    let stage = Stage::new();
    let spec = Spec::image_of(PixelFormat::Nv12, DType::U8, 8, 4, Some(64)).unwrap();
    let mut publisher = camera(&stage, spec);
    let listener = Working::start(&stage, Listener::builder("cam").video_meta(true));
    let mut client = listener.client();
    let (_, buffer) = first_of(&mut client, || {
        publisher.claim().unwrap().publish(Meta::new()).unwrap();
    });
    // To the end of the last sample: six rows, the last one without its padding.
    assert_eq!((buffer.metas, &buffer.pieces[..]), (1, &[(0, 64 * 5 + 8)][..]));
    let words = |words: &[u32]| words.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<u8>>();
    let head = [&words(&[90, 12])[..], b"GstVideoMeta\0\0"].concat();
    let body = words(&[0, 23, 8, 4, 2, 0, 0, 64 * 4, 0, 64, 64, 0, 0, 0, 0, 0, 0]);
    assert_eq!(buffer.meta, [head, body].concat());
}

/// Planes in several memories, NV12 of 8x4.
fn in_two(places: [(usize, Option<usize>); 2]) -> TensorDyn {
    let memory = |value: u8| {
        let memory = Tensor::<u8>::new(&[8192], Some(TensorMemory::Shm), None).unwrap();
        memory.fill(value).unwrap();
        memory.buffer().clone()
    };
    let memories = [memory(1), memory(2)];
    TensorDyn::from_plane_buffers(&memories, &places, 8, 4, PixelFormat::Nv12, DType::U8).unwrap()
}

#[test]
fn planes_in_several_memories_travel_together() {
    let stage = Stage::new();
    let mut publisher = stage.publisher("cam").open().unwrap();
    let frame = in_two([(64, None), (0, None)]);
    let listener = Working::start(&stage, Listener::builder("cam"));
    let mut client = listener.client();
    let (caps, buffer) = first_of(&mut client, || {
        publisher.publish_tensor(&frame, Meta::new()).unwrap();
    });
    assert!(caps.contains("format=(string)NV12, width=(int)8, height=(int)4"), "{caps}");
    assert_eq!((&buffer.pieces[..], buffer.metas), (&[(64, 32), (0, 16)][..], 1));
    assert_eq!(buffer.bytes(), [[1; 32].as_slice(), &[2; 16]].concat());
    // Number, size and planes, each with its offset and stride.
    let words = |words: &[u32]| words.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<u8>>();
    assert_eq!(buffer.meta[22..62], words(&[0, 23, 8, 4, 2, 0, 0, 32, 0, 8]));
    client.release(buffer.id);
    drop(publisher);
    assert_eq!(listener.wait().unwrap().put_out, 0);
}

#[test]
fn unusual_rows_in_several_memories_need_a_meta() {
    for allowed in [false, true] {
        let stage = Stage::new();
        let mut publisher = stage.publisher("cam").open().unwrap();
        let frame = in_two([(0, None), (0, Some(64))]);
        let listener = Working::start(&stage, Listener::builder("cam").video_meta(allowed));
        if !allowed {
            publisher.publish_tensor(&frame, Meta::new()).unwrap();
            let error = listener.wait().unwrap_err().to_string();
            let words = "plane 1 is at 32 with rows 64 bytes apart, not at 32 with 8";
            assert!(error.contains(words), "{error}");
            continue;
        }
        let (_, buffer) = first_of(&mut listener.client(), || {
            publisher.publish_tensor(&frame, Meta::new()).unwrap();
        });
        assert_eq!((&buffer.pieces[..], buffer.metas), (&[(0, 32), (0, 64 + 8)][..], 1));
    }
}

#[test]
fn the_next_producer_is_followed_with_new_caps() {
    let stage = Stage::new();
    let mut publisher = camera(&stage, grey());
    let listener = Working::start(&stage, Listener::builder("cam").follow(true));
    let mut client = listener.client();
    let (caps, held) = first(&mut publisher, &mut client);
    assert!(caps.contains("GRAY8, width=(int)8"), "{caps}");
    drop(publisher);
    let mut publisher = camera(&stage, Spec::image(PixelFormat::Bgra, 16, 4).unwrap());
    let deadline = Instant::now() + SOON;
    client.socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let caps = loop {
        assert!(Instant::now() < deadline);
        publish(&mut publisher, 3);
        if client.socket.peek_any().is_some() {
            match client.next() {
                Told::Caps(caps) => break caps,
                Told::Buffer(buffer) => client.release(buffer.id),
                other => panic!("{other:?}"),
            }
        }
    };
    assert!(caps.contains("BGRA, width=(int)16"), "{caps}");
    client.socket.set_read_timeout(Some(SOON)).unwrap();
    assert_eq!(client.buffer().bytes(), [3; 16 * 4 * 4]);
    // What is held of the one that is gone stays as it was.
    assert_eq!(held.bytes(), [1; 32]);
    client.release(held.id);
    assert_eq!(listener.end().unwrap().put_out, 0);
}

#[test]
fn frames_that_a_device_still_writes_are_waited_for() {
    let stage = Stage::new();
    let mut publisher = camera(&stage, grey());
    let listener = Working::start(&stage, Listener::builder("cam"));
    let mut client = listener.client();
    let (_, buffer) = first(&mut publisher, &mut client);
    client.release(buffer.id);
    let later = |publisher: &mut Publisher, value: u8, fence: &Fence| {
        let slot = publisher.claim().unwrap();
        slot.typed::<u8>().unwrap().fill(value).unwrap();
        slot.publish(Meta::new().fence(fence)).unwrap();
    };
    let until = |client: &mut Client, value: u8, never: u8| loop {
        let buffer = client.buffer();
        client.release(buffer.id);
        let found = buffer.bytes()[0];
        assert_ne!(found, never, "it was not complete");
        if found == value {
            return;
        }
    };
    // One that fails is passed over.
    let (signal, fence) = Fence::pair().unwrap();
    later(&mut publisher, 50, &fence);
    publish(&mut publisher, 51);
    thread::sleep(Duration::from_millis(50));
    drop(signal);
    until(&mut client, 51, 50);
    let (signal, fence) = Fence::pair().unwrap();
    later(&mut publisher, 60, &fence);
    client.socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    assert!(client.socket.peek_any().is_none(), "it was not complete");
    client.socket.set_read_timeout(Some(SOON)).unwrap();
    signal.done();
    until(&mut client, 60, 50);
}

#[test]
fn sockets_that_are_left_behind_are_replaced_and_files_are_not() {
    let stage = Stage::new();
    let _publisher = camera(&stage, grey());
    let open = |path: &Path| Listener::builder("cam").directory(stage.path()).open(path);
    let path = stage.path().join("gst");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    drop(open(&path).unwrap());
    fs::write(&path, "something").unwrap();
    let error = open(&path).unwrap_err().to_string();
    assert!(error.contains("gst cannot be made: "), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "something");
    let error = Listener::builder("nobody").directory(stage.path()).open(&path).unwrap_err();
    assert!(error.to_string().contains("nobody publishes stream `nobody`"), "{error}");
}
