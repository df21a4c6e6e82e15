//! Streams for GStreamer, with clients that speak its protocol by hand, well and badly; what frames
//! look like to them is in `gstreamer_frames`. The real element is tested by `tests/gstreamer/test`.
#![cfg(any(target_os = "linux", target_os = "android"))]

#[path = "common/pipe.rs"]
mod pipe;
#[path = "common/stage.rs"]
mod stage;

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use pipe::{Buffer, Client, Peek, Told, Working, camera, command, first, grey, publish, wait_held};
use stage::{SOON, Stage};
use tenure_memory::Fence;
use tenure_stream::gstreamer::{Error, Listener};
use tenure_stream::{Meta, Publisher, Spec};
use tenure_tensor::{Colour, PixelFormat};

#[test]
fn a_pipeline_gets_caps_and_frames_without_a_copy() {
    let stage = Stage::new();
    let spec = Spec::image(64, 32, PixelFormat::Nv12).unwrap().with_colour(Colour::HD);
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
fn the_next_producer_is_followed_with_new_caps() {
    let stage = Stage::new();
    let mut publisher = camera(&stage, grey());
    let listener = Working::start(&stage, Listener::builder("cam").follow(true));
    let mut client = listener.client();
    let (caps, held) = first(&mut publisher, &mut client);
    assert!(caps.contains("GRAY8, width=(int)8"), "{caps}");
    drop(publisher);
    let mut publisher = camera(&stage, Spec::image(16, 4, PixelFormat::Bgra).unwrap());
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

/// Whoever took the path over meanwhile keeps it.
#[test]
fn a_socket_of_somebody_else_is_not_removed() {
    let stage = Stage::new();
    let _publisher = camera(&stage, grey());
    let path = stage.path().join("gst");
    let open = || Listener::builder("cam").directory(stage.path()).open(&path).unwrap();
    let first = open();
    fs::remove_file(&path).unwrap();
    let second = open();
    drop(first);
    assert!(std::os::unix::net::UnixStream::connect(&path).is_ok());
    drop(second);
    assert!(!path.exists());
}
