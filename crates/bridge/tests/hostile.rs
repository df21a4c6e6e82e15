//! A peer that sends nonsense: it is counted and said, and what makes sense goes on.
#![cfg(target_os = "linux")]

use tenure_bridge::ImportState;
use tenure_bridge::packet::{Encoding, Head, Packet};
use tenure_tensor::{DType, PixelFormat, TensorDyn};
use zenoh::qos::CongestionControl;
use zenoh::{Config, Session, Wait};

#[path = "common/two.rs"]
mod two;

use two::{SOON, Two, until};

/// A session that is no bridge, in reach of one.
fn peer(two: &Two) -> Session {
    let mut config = Config::default();
    config.insert_json5("connect/endpoints", &format!("[{:?}]", two.address)).unwrap();
    config.insert_json5("listen/endpoints", "[]").unwrap();
    config.insert_json5("scouting/multicast/enabled", "false").unwrap();
    zenoh::open(config).wait().unwrap()
}

fn frame(tensor: &TensorDyn, sequence: u64) -> (Head, Vec<u8>) {
    let head = Head { incarnation: 1, sequence, ..Head::of(tensor).unwrap() };
    let body = vec![sequence as u8; head.bytes];
    (head, body)
}

#[test]
fn nonsense_is_counted_and_hurts_nobody() {
    let two = Two::new();
    let bridge = two.bridge_here().import("**").open().unwrap();
    let session = peer(&two);
    let id = session.zid();
    // Names that no stream can have, and one that can.
    let liveliness = session.liveliness();
    let bad = ["..\u{7}bad name", "../up", "a/../../etc/passwd", ".hidden", "\u{1b}[2J"];
    let bad = bad.map(|name| {
        liveliness.declare_token(format!("tenure/have/{id}/host/{name}")).wait().unwrap()
    });
    let _good = liveliness.declare_token(format!("tenure/have/{id}/host/words")).wait().unwrap();
    // Nothing is dropped on the way: every single one has to be refused.
    let frames = session
        .declare_publisher(format!("tenure/frame/{id}/words"))
        .congestion_control(CongestionControl::Block)
        .wait()
        .unwrap();
    until("the subscription", || frames.matching_status().wait().unwrap().matching());

    let tensor = TensorDyn::new(&[16, 16], DType::U8, None, None).unwrap();
    let picture = TensorDyn::image(16, 16, PixelFormat::Rgb, DType::U8, None, None, None).unwrap();
    let send = |packet: &[u8], body: &[u8]| {
        frames.put(body).attachment(packet).wait().unwrap();
    };
    let encode = |head: Head| Packet::Frame(Box::new(head)).encode();
    let (head, body) = frame(&tensor, 7);
    let whole = encode(head.clone());

    let shown = || bridge.report().imports.into_iter().find(|it| it.name == "words").unwrap();
    let mut expected = 0;
    let mut refused = |what: &str| {
        expected += 1;
        until(what, || shown().refused == expected);
        assert!(shown().problem.is_some());
    };
    frames.put(&body[..]).wait().unwrap();
    refused("a frame that nothing is said about");
    send(b"", &body);
    refused("a packet of no bytes");
    for end in [1, 8, 40, whole.len() - 1] {
        send(&whole[..end], &body);
        refused("a packet that was cut");
    }
    send(&whole, &body[1..]);
    refused("a body that was cut");
    send(&vec![0xff; 100_000], &body);
    refused("a packet that is too long");
    for encoding in [Encoding::Lz4, Encoding::Jpeg] {
        let lie = Head { encoding, ..frame(&picture, 7).0 };
        send(&encode(lie), &[0xff; 300]);
        refused("a body that is not what it is said to be");
    }
    let lie = Head { sequence: u64::MAX, ..head.clone() };
    send(&encode(lie), &body);
    refused("an impossible number");
    assert_eq!(shown().received, 0);

    // What makes sense is published, numbers and all.
    send(&whole, &body);
    until("a frame", || shown().received == 1);
    let mut subscriber =
        tenure_stream::Subscriber::builder("words").directory(two.here()).open().unwrap();
    let (head, body) = frame(&tensor, 9);
    send(&encode(head), &body);
    let came = subscriber.next(SOON).unwrap().unwrap();
    assert_eq!((came.sequence(), came.dropped()), (9, 1));
    // Numbers that go back are not believed.
    let (old, body) = frame(&tensor, 8);
    send(&encode(old), &body);
    let (head, body) = frame(&tensor, 10);
    send(&encode(head), &body);
    assert_eq!(subscriber.next(SOON).unwrap().unwrap().sequence(), 10);
    // Counted after it was published.
    until("the count", || shown().received == 3);
    assert_eq!(shown().state, ImportState::Live);
    // Names that cannot be are not repeated, and not shown either.
    let report = bridge.report();
    assert_eq!((report.imports.len(), report.remote.len()), (1, 1), "{report:?}");
    drop(bad);
}

#[test]
fn numbers_that_jump_are_counted_without_end() {
    let two = Two::new();
    let bridge = two.bridge_here().import("words").open().unwrap();
    let session = peer(&two);
    let id = session.zid();
    let token = format!("tenure/have/{id}/host/words");
    let _token = session.liveliness().declare_token(token).wait().unwrap();
    let frames = session
        .declare_publisher(format!("tenure/frame/{id}/words"))
        .congestion_control(CongestionControl::Block)
        .wait()
        .unwrap();
    until("the subscription", || frames.matching_status().wait().unwrap().matching());
    let tensor = TensorDyn::new(&[16], DType::U8, None, None).unwrap();
    let shown = || bridge.report().imports.remove(0);
    // Lives of a producer that each lose a quarter of all numbers.
    for (count, (life, sequence)) in
        (1..=6).flat_map(|life| [(life, 0), (life, u64::MAX >> 2)]).enumerate()
    {
        let (head, body) = frame(&tensor, sequence);
        let head = Head { incarnation: life, ..head };
        frames.put(body).attachment(Packet::Frame(Box::new(head)).encode()).wait().unwrap();
        until("a frame", || shown().received == count as u64 + 1);
    }
    assert_eq!(shown().lost, u64::MAX);
    assert_eq!(shown().state, ImportState::Live);
}

#[test]
fn names_that_are_gone_make_room() {
    let two = Two::new();
    let bridge = two.bridge_here().import("**").open().unwrap();
    let session = peer(&two);
    let id = session.zid();
    let declare = |name: String| {
        session.liveliness().declare_token(format!("tenure/have/{id}/host/{name}")).wait().unwrap()
    };
    let known = || bridge.report().imports.len();
    // As many as are repeated at once, and one more.
    let many: Vec<_> = (0..256).map(|at| declare(format!("made-up/{at}"))).collect();
    until("the names", || known() == 256);
    let _more = declare("one/more".to_owned());
    until("the other name", || bridge.report().remote.len() == 257);
    let repeats = |name: &str| bridge.report().imports.iter().any(|it| it.name == name);
    assert!(!repeats("one/more"));
    drop(many);
    until("room", || repeats("one/more"));
    until("the end of the names", || bridge.report().remote.len() == 1);
    let _real = declare("words".to_owned());
    until("more room", || repeats("words"));
    assert_eq!(known(), 256);
}
