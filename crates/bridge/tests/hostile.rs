//! A peer that sends nonsense: it is counted and said, and what makes sense goes on.
#![cfg(target_os = "linux")]

use tenure_bridge::packet::{Encoding, Head, Packet};
use tenure_bridge::{Compression, ImportReport, ImportState, pack};
use tenure_stream::stat_in;
use tenure_tensor::{DType, DynTensor, PixelFormat, TensorDyn};
use zenoh::pubsub::Publisher;
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

/// A stream that a peer says it has, and where its frames go; nothing is dropped on the way.
fn offer(
    session: &Session,
    name: &str,
) -> (zenoh::liveliness::LivelinessToken, Publisher<'static>) {
    let id = session.zid();
    let token = format!("tenure/have/{id}/host/{name}");
    let token = session.liveliness().declare_token(token).wait().unwrap();
    let frames = session
        .declare_publisher(format!("tenure/frame/{id}/{name}"))
        .congestion_control(CongestionControl::Block)
        .wait()
        .unwrap();
    until("the subscription", || frames.matching_status().wait().unwrap().matching());
    (token, frames)
}

/// A frame of zeros that travels as next to nothing.
fn bomb(bytes: usize, sequence: u64) -> (Vec<u8>, Vec<u8>) {
    let zeros = TensorDyn::new(&[bytes], DType::U8, None, None).unwrap();
    let mut head = Head { incarnation: 1, sequence, ..Head::of(&zeros).unwrap() };
    let body = pack(&zeros, &mut head, Compression::Lossless).unwrap();
    assert!(body.len() < bytes / 200 && head.encoding == Encoding::Lz4);
    (Packet::Frame(Box::new(head)).encode(), body)
}

/// Threads of this process that publish what others send.
fn import_threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.trim() == "tenure-import").count()
}

#[test]
fn little_data_becomes_little_memory() {
    const LIMIT: u64 = 40 << 20;
    let two = Two::new();
    let bridge = two.bridge_here().import("**").memory(LIMIT).open().unwrap();
    let session = peer(&two);
    let names: Vec<String> = (0..6).map(|at| format!("bomb/{at}")).collect();
    let offers: Vec<_> = names.iter().map(|name| offer(&session, name)).collect();
    let taken = || {
        let bytes = |name: &String| stat_in(two.here(), name).map_or(0, |report| report.bytes());
        names.iter().map(bytes).sum::<usize>() as u64
    };
    let shown = |name: &String| bridge.report().imports.into_iter().find(|it| it.name == *name);
    for sequence in 0..8 {
        let (packet, body) = bomb(12 << 20, sequence);
        for (_, frames) in &offers {
            frames.put(&body[..]).attachment(&packet[..]).wait().unwrap();
            assert!(bridge.report().memory <= LIMIT, "{:?}", bridge.report());
            assert!(taken() <= LIMIT);
        }
    }
    let over = |name: &String| {
        let problem = shown(name).and_then(|it| it.problem).unwrap_or_default();
        problem.contains("would exceed the bridge's memory")
    };
    until("a stream that there is no memory for", || names.iter().any(over));
    // Some have it, and none has more than all may have together.
    until("a stream", || names.iter().any(|name| shown(name).is_some_and(|it| it.received > 0)));
    assert!(taken() <= LIMIT && bridge.report().memory_limit == LIMIT);
    // When the peer goes, the streams pause, and the memory is given back.
    drop(offers);
    session.close().wait().unwrap();
    until("the memory", || bridge.report().memory == 0 && taken() == 0);
}

#[test]
fn memory_is_earned_by_sending() {
    let two = Two::new();
    let bridge = two.bridge_here().import("**").memory(1 << 30).open().unwrap();
    let session = peer(&two);
    let (_token, frames) = offer(&session, "large");
    let shown = || bridge.report().imports.remove(0);
    let (packet, body) = bomb(64 << 20, 0);
    frames.put(&body[..]).attachment(&packet[..]).wait().unwrap();
    until("the refusal", || shown().refused == 1);
    let problem = shown().problem.unwrap();
    assert!(problem.contains("it has to send more before its frames are believed"), "{problem}");
    assert_eq!((shown().received, bridge.report().memory), (0, 0));
    // Whoever means it gets through.
    let mut sequence = 0;
    until("a frame", || {
        sequence += 1;
        let (packet, _) = bomb(64 << 20, sequence);
        frames.put(&body[..]).attachment(&packet[..]).wait().unwrap();
        shown().received > 0
    });
    assert!(sequence < 20, "{sequence}");
}

/// Names cost nothing: what has not been earned is lent once, to all streams together.
#[test]
fn little_data_under_many_names_becomes_little_memory() {
    const UNEARNED: u64 = 64 << 20;
    const EARNED: u64 = 64;
    let two = Two::new();
    let bridge = two.bridge_here().import("**").memory(4 << 30).open().unwrap();
    let (packet, body) = bomb(12 << 20, 0);
    // The second peer finds what the first one had.
    for peer_name in ["first", "second"] {
        let session = peer(&two);
        let names: Vec<String> = (0..64).map(|at| format!("{peer_name}/{at}")).collect();
        let offers: Vec<_> = names.iter().map(|name| offer(&session, name)).collect();
        for (_, frames) in &offers {
            frames.put(&body[..]).attachment(&packet[..]).wait().unwrap();
        }
        let answered = || {
            let of_peer = |it: &ImportReport| it.name.starts_with(peer_name);
            let all = bridge.report().imports.into_iter().filter(of_peer);
            all.fold((0, 0), |sum, it| (sum.0 + it.received, sum.1 + it.refused))
        };
        until("all answers", || answered().0 + answered().1 == 64);
        let (received, refused) = answered();
        let memory = bridge.report().memory;
        assert!(memory <= UNEARNED + EARNED * 64 * body.len() as u64, "{memory}");
        // Each lacks three quarters of its frame, whoever came first has them.
        let lacks = (12 << 20) - EARNED * body.len() as u64;
        assert_eq!((received, refused), (UNEARNED / lacks, 64 - UNEARNED / lacks));
        drop(offers);
        session.close().wait().unwrap();
        until("the memory", || bridge.report().memory == 0);
    }
}

/// JPEG is decoded through memory of its own, which is several times that of the frame.
#[test]
fn what_decoding_takes_is_counted() {
    let picture = TensorDyn::image(1024, 1024, PixelFormat::Nv12, DType::U8, None, None).unwrap();
    let mut head = Head { incarnation: 1, ..Head::of(&picture).unwrap() };
    let body = pack(&picture, &mut head, Compression::Jpeg { quality: 80 }).unwrap();
    assert_eq!((head.encoding, head.bytes), (Encoding::Jpeg, 3 << 19));
    let packet = Packet::Frame(Box::new(head)).encode();
    for (limit, fits) in [(8 << 20, false), (16 << 20, true)] {
        let two = Two::new();
        let bridge = two.bridge_here().import("**").memory(limit).open().unwrap();
        let session = peer(&two);
        let (_token, frames) = offer(&session, "picture");
        frames.put(&body[..]).attachment(&packet[..]).wait().unwrap();
        let shown = || bridge.report().imports.remove(0);
        until("an answer", || shown().received > 0 || shown().problem.is_some());
        let problem = shown().problem.unwrap_or_default();
        assert_eq!(shown().received > 0, fits, "{problem}");
        assert_eq!(problem.contains("would exceed the bridge's memory"), !fits, "{problem}");
    }
}

#[test]
fn streams_that_never_were_leave_no_threads() {
    let two = Two::new();
    let bridge = two.bridge_here().import("**").open().unwrap();
    let session = peer(&two);
    let id = session.zid();
    for round in 0..3 {
        let tokens: Vec<_> = (0..300)
            .map(|at| format!("tenure/have/{id}/host/never/{round}/{at}"))
            .map(|key| session.liveliness().declare_token(key).wait().unwrap())
            .collect();
        until("the names", || bridge.report().remote.len() == 300);
        drop(tokens);
        until("their end", || bridge.report().remote.is_empty());
    }
    until("the end of the threads", || import_threads() == 0);
    assert!(bridge.report().imports.is_empty(), "{:?}", bridge.report().imports.len());
}

/// Everything that can be said under the bridge's keys, and then something that makes sense.
#[test]
fn garbage_under_every_key_hurts_nobody() {
    let two = Two::new();
    let bridge = two.bridge_here().import("**").open().unwrap();
    let session = peer(&two);
    let (id, host) = (session.zid(), "h".repeat(64));
    let long = "x".repeat(4000);
    let keys = [
        "tenure/have".to_owned(),
        format!("tenure/have/{id}"),
        format!("tenure/have/{id}/{host}"),
        format!("tenure/have/{id}/{host}x/words"),
        format!("tenure/have/{id}/h/{long}"),
        format!("tenure/have/{long}/h/words"),
        format!("tenure/have/{id}/h/a/b/c/d/e/f/g"),
        format!("tenure/have/{}/h/words", bridge.id()),
        format!("tenure/frame/{id}"),
        format!("tenure/frame/{}/words", bridge.id()),
        "tenure/other/thing".to_owned(),
        "tenure".to_owned(),
    ];
    let tokens: Vec<_> =
        keys.iter().map(|key| session.liveliness().declare_token(key.clone()).wait()).collect();
    for key in &keys {
        for body in [&b""[..], b"garbage", &[0xff; 70_000]] {
            session.put(key.clone(), body).wait().unwrap();
            session.put(key.clone(), body).attachment(body).wait().unwrap();
            session.delete(key.clone()).wait().unwrap();
        }
    }
    // Good packets with some of their bytes changed, for a stream that is listened to.
    let (_token, frames) = offer(&session, "words");
    let tensor = TensorDyn::image(16, 16, PixelFormat::Nv12, DType::U8, None, None).unwrap();
    let mut dice = Dice(0x5eed);
    for sequence in 0..1500 {
        let (mut head, mut body) = frame(&tensor, sequence);
        head.encoding = [Encoding::Plain, Encoding::Lz4, Encoding::Jpeg][dice.roll(3)];
        let mut packet = Packet::Frame(Box::new(head)).encode();
        for _ in 0..dice.roll(4) {
            let at = dice.roll(packet.len());
            packet[at] = dice.roll(256) as u8;
        }
        if dice.roll(4) == 0 {
            packet.truncate(dice.roll(packet.len()));
            body.truncate(dice.roll(body.len()));
        }
        frames.put(body).attachment(packet).wait().unwrap();
    }
    // It goes on, as another life of the producer, whatever the last one was.
    let shown = || bridge.report().imports.into_iter().find(|it| it.name == "words").unwrap();
    let mut life = 1 << 40;
    until("a frame that makes sense", || {
        let before = shown().received;
        life += 1;
        let (head, body) = frame(&tensor, 0);
        let head = Head { incarnation: life, ..head };
        frames.put(body).attachment(Packet::Frame(Box::new(head)).encode()).wait().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        shown().received > before && shown().state == ImportState::Live
    });
    assert!(bridge.report().remote.iter().all(|it| it.bridge == id.to_string()));
    drop(tokens);
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides.max(1) as u64) as usize
    }
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
    let picture = TensorDyn::image(16, 16, PixelFormat::Rgb, DType::U8, None, None).unwrap();
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
    until("the end of the others", || known() == 2);
}
