//! Streams from one machine to another, over the loopback device: what arrives, what it says, and
//! what happens when somebody goes.
#![cfg(target_os = "linux")]

use std::time::{Duration, Instant};

use tenure_bridge::{Bridge, Compression, ExportState, ImportState};
use tenure_stream::{Error, Meta, Publisher, Spec, list_in};
use tenure_tensor::{Colour, DType, PixelFormat, Quantization};

#[path = "common/two.rs"]
mod two;

use two::{SOON, Two, join, one_through, publish, until, whole, words};

fn live(bridge: &Bridge, name: &str) -> bool {
    let imports = bridge.report().imports;
    imports.iter().any(|it| it.name == name && it.state == ImportState::Live)
}

#[test]
fn frames_are_what_they_were() {
    let quantization = Quantization::per_axis(vec![0.5, 0.25, 2.0], vec![1, 2, 3], 0).unwrap();
    let specs = [
        Spec::image(65, 47, PixelFormat::Nv12).unwrap().with_colour(Colour::HD),
        Spec::image_of(33, 7, PixelFormat::Rgb, DType::U8, Some(128)).unwrap(),
        Spec::image_of(30, 20, PixelFormat::PlanarRgb, DType::F32, None).unwrap(),
        Spec::tensor(DType::I8, &[3, 4, 5]).unwrap().with_quantization(quantization),
        Spec::tensor(DType::F16, &[]).unwrap(),
    ];
    for compression in [Compression::Plain, Compression::Lossless] {
        let two = Two::new();
        let here = two.bridge_here().export("**").compress(compression).open().unwrap();
        let there = two.bridge_there().import("**").under("far").open().unwrap();
        let mut publisher = Publisher::builder("all/kinds").directory(two.here()).open().unwrap();
        let mut subscriber = None;
        for (index, spec) in specs.iter().cycle().take(specs.len() * 3).enumerate() {
            let began = Instant::now();
            // Until one comes through: some are lost before the other side listens.
            let (frame, sent) = loop {
                assert!(began.elapsed() < SOON, "{:?} {:?}", here.report(), there.report());
                let slot = publisher.claim_as(spec).unwrap();
                let mut bytes = vec![0; slot.flat_bytes()];
                bytes.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at + index) as u8);
                let from = slot.clone();
                let mut head = tenure_bridge::packet::Head::of(&from).unwrap();
                head.encoding = tenure_bridge::packet::Encoding::Plain;
                tenure_bridge::unpack(&head, &bytes[..], &from).unwrap();
                drop(from);
                let look = (
                    slot.dtype(),
                    slot.shape().to_vec(),
                    slot.format(),
                    slot.colour(),
                    slot.quantization().cloned(),
                );
                let meta = Meta::new().timestamp(Duration::from_millis(40)).blob(b"mine");
                let sequence = slot.publish(meta).unwrap().sequence;
                let consumer = match &mut subscriber {
                    Some(consumer) => consumer,
                    none => {
                        let wait = Duration::from_millis(20);
                        match two.consumer("far/all/kinds").wait(wait).open() {
                            Ok(opened) => none.insert(opened),
                            Err(_) => continue,
                        }
                    }
                };
                // Those before it may still be on their way.
                let wait = Duration::from_millis(500);
                let mut next = consumer.next(wait).unwrap();
                while next.as_ref().is_some_and(|frame| frame.sequence() < sequence) {
                    next = consumer.next(wait).unwrap();
                }
                if let Some(frame) = next {
                    break (frame, (look, bytes));
                }
            };
            let (look, bytes) = sent;
            let came = (
                frame.dtype(),
                frame.shape().to_vec(),
                frame.format(),
                frame.colour(),
                frame.quantization().cloned(),
            );
            assert_eq!(came, look);
            let mut flat = vec![0; frame.flat_bytes()];
            frame.copy_to_flat(&mut flat).unwrap();
            assert_eq!(flat, bytes);
            assert_eq!(frame.blob(), b"mine");
            // One machine has one clock: off by no more than the shortest way.
            let off = frame.timestamp().unwrap().abs_diff(Duration::from_millis(40));
            assert!(off < Duration::from_secs(5), "{off:?}");
        }
        let origin = two.origin("far/all/kinds").unwrap();
        assert!(origin.from.ends_with(":all/kinds") && !origin.paused, "{origin:?}");
    }
}

#[test]
fn what_is_lost_is_counted() {
    let two = Two::new();
    let here = two.bridge_here().export("words").open().unwrap();
    let there = two.bridge_there().import("words").open().unwrap();
    let mut publisher = words(two.here(), "words", 1 << 17);
    let mut subscriber = join(&two, "words", &mut publisher);
    let first = one_through(&mut publisher, &mut subscriber);
    let mut next = first.sequence() + 1;
    drop(first);
    // Faster than anything can follow; frames of 1 MiB would need gigabytes if they were queued.
    let (mut got, mut dropped) = (0, 0);
    let counted = || {
        let (here, there) = (here.report(), there.report());
        here.exports[0].missed > 0 && there.imports[0].lost > 0
    };
    let began = Instant::now();
    while got < 5 || dropped == 0 || !counted() {
        assert!(began.elapsed() < SOON, "{got} came, {dropped} dropped: {:?}", there.report());
        publish(&mut publisher);
        while let Some(frame) = subscriber.try_next().unwrap() {
            whole(&frame);
            assert_eq!(frame.sequence() - next, frame.dropped());
            (got, dropped, next) = (got + 1, dropped + frame.dropped(), frame.sequence() + 1);
        }
    }
    one_through(&mut publisher, &mut subscriber);
    let (here, there) = (here.report(), there.report());
    let (export, import) = (&here.exports[0], &there.imports[0]);
    assert_eq!((export.state, import.state), (ExportState::Sending, ImportState::Live));
    assert_eq!((import.refused, &import.problem), (0, &None));
}

#[test]
fn photographs_travel_small() {
    let two = Two::new();
    let jpeg = Compression::Jpeg { quality: 85 };
    let here = two.bridge_here().export("photo").compress(jpeg).open().unwrap();
    let _there = two.bridge_there().import("photo").open().unwrap();
    let spec = Spec::image(640, 480, PixelFormat::Nv12).unwrap();
    let mut publisher =
        Publisher::builder("photo").directory(two.here()).spec(spec).open().unwrap();
    let mut subscriber = None;
    let began = Instant::now();
    let frame = loop {
        assert!(began.elapsed() < SOON);
        let slot = publisher.claim().unwrap();
        slot.map().unwrap().as_mut_slice().fill(128);
        slot.publish(Meta::new()).unwrap();
        let wait = Duration::from_millis(20);
        if subscriber.is_none() {
            subscriber = two.consumer("photo").wait(wait).open().ok();
        }
        if let Some(subscriber) = &mut subscriber
            && let Some(frame) = subscriber.next(wait).unwrap()
        {
            break frame;
        }
    };
    assert_eq!((frame.format(), frame.width()), (Some(PixelFormat::Nv12), Some(640)));
    let mut flat = vec![0; frame.flat_bytes()];
    frame.copy_to_flat(&mut flat).unwrap();
    assert!(flat.iter().all(|byte| byte.abs_diff(128) <= 3));
    // Counted after it was sent.
    until("the count", || here.report().exports[0].sent > 0);
    let export = here.report().exports.remove(0);
    assert!(export.bytes < export.sent * 460_800 / 20, "{export:?}");
}

#[test]
fn nothing_goes_in_circles() {
    let two = Two::new();
    // Both export and import everything: what one brings must not go back, whatever it is called.
    let here = two.bridge_here().export("**").import("**").under("back").open().unwrap();
    let there = two.bridge_there().export("**").import("**").open().unwrap();
    let mut publisher = words(two.here(), "words", 100);
    let mut subscriber = join(&two, "words", &mut publisher);
    one_through(&mut publisher, &mut subscriber);
    let refused = |bridge: &Bridge| {
        let exports = bridge.report().exports;
        exports.iter().any(|it| it.name == "words" && it.state == ExportState::Refused)
    };
    until("the refusal", || refused(&there));
    // Another bridge of that machine, which knows nothing of the first.
    let third = Bridge::builder().directory(two.there()).connect(&two.address).export("**");
    let third = third.open().unwrap();
    until("the refusal of another bridge", || refused(&third));
    one_through(&mut publisher, &mut subscriber);
    let report = here.report();
    assert!(report.remote.is_empty() && report.imports.is_empty(), "{report:?}");
    let problem = there.report().exports.remove(0).problem.unwrap();
    assert!(problem.contains(":words") && problem.contains("not sent on"), "{problem}");
    let names: Vec<_> = list_in(two.here()).unwrap().into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["words"]);
}

#[test]
fn ends_and_beginnings_are_those_of_the_producer() {
    let two = Two::new();
    let _here = two.bridge_here().export("words").open().unwrap();
    let there = two.bridge_there().import("words").open().unwrap();
    let mut publisher = words(two.here(), "words", 100);
    let mut subscriber = join(&two, "words", &mut publisher);
    one_through(&mut publisher, &mut subscriber);
    drop(publisher);
    let ended = loop {
        match subscriber.next(SOON) {
            Ok(frame) => assert!(frame.is_some(), "it did not end"),
            Err(error) => break error,
        }
    };
    assert!(
        matches!(&ended, Error::Ended(it) if matches!(**it, tenure_stream::detail::Ended { dead: false, .. })),
        "{ended}"
    );
    until("the report", || there.report().imports[0].state == ImportState::Ended);
    // The next producer of the name counts from the beginning, there and here.
    let mut publisher = words(two.here(), "words", 100);
    let mut subscriber = join(&two, "words", &mut publisher);
    let frame = one_through(&mut publisher, &mut subscriber);
    assert!(frame.sequence() < publisher.stats().published);
    until("the report of it", || live(&there, "words"));
}

#[test]
fn a_bridge_that_comes_back_is_known_again() {
    let two = Two::new();
    let here = two.bridge_here().export("words").open().unwrap();
    let there = two.bridge_there().import("words").open().unwrap();
    let mut publisher = words(two.here(), "words", 100);
    let mut subscriber = join(&two, "words", &mut publisher);
    let before = one_through(&mut publisher, &mut subscriber);
    drop(here);
    until("the pause", || two.origin("words").is_some_and(|origin| origin.paused));
    until("the pause in the report", || there.report().imports[0].state == ImportState::Paused);
    assert!(there.report().remote.is_empty());
    publish(&mut publisher);
    let here = two.bridge_here().export("words").open().unwrap();
    // The same stream goes on: the consumer did nothing, and sees what it missed.
    let after = one_through(&mut publisher, &mut subscriber);
    assert_eq!(after.incarnation(), before.incarnation());
    assert!(after.dropped_in_all() > 0);
    until("the origin", || two.origin("words").is_some_and(|origin| !origin.paused));
    assert_eq!(there.report().remote[0].bridge, here.id());
}

#[test]
fn a_bridge_that_never_comes_back_is_given_up() {
    let two = Two::new();
    let here = two.bridge_here().export("words").open().unwrap();
    let there = two.bridge_there().import("words").give_up_after(Duration::from_secs(2));
    let there = there.open().unwrap();
    let mut publisher = words(two.here(), "words", 100);
    let mut subscriber = join(&two, "words", &mut publisher);
    one_through(&mut publisher, &mut subscriber);
    drop(here);
    until("the pause", || two.origin("words").is_none_or(|origin| origin.paused));
    let ended = loop {
        match subscriber.next(SOON) {
            Ok(frame) => assert!(frame.is_some(), "it did not end: {:?}", there.report()),
            Err(error) => break error,
        }
    };
    assert!(
        matches!(&ended, Error::Ended(it) if matches!(**it, tenure_stream::detail::Ended { dead: false, .. })),
        "{ended}"
    );
    until("the report", || there.report().imports[0].state == ImportState::Ended);
    let problem = there.report().imports[0].problem.clone().unwrap();
    assert!(problem.ends_with("words could not be reached for 2s"), "{problem}");

    // It begins anew when somebody has it again.
    let _here = two.bridge_here().export("words").open().unwrap();
    let mut subscriber = join(&two, "words", &mut publisher);
    one_through(&mut publisher, &mut subscriber);
    assert_eq!(there.report().imports[0].state, ImportState::Live);
}

#[test]
fn two_bridges_of_one_stream_stand_in_for_each_other() {
    let (two, other) = (Two::new(), Two::new());
    let first = || two.bridge_here().export("words").open().unwrap();
    let second = || Bridge::builder().directory(two.here()).listen(&other.address).export("words");
    let there = two.bridge_there().connect(&other.address).import("words").open().unwrap();
    let both = || until("both bridges", || there.report().remote.len() == 2);
    let (one, another) = (first(), second().open().unwrap());
    let mut publisher = words(two.here(), "words", 100);
    let mut subscriber = join(&two, "words", &mut publisher);
    let incarnation = one_through(&mut publisher, &mut subscriber).incarnation();
    both();
    // It is one stream, and no frame of it comes twice.
    assert_eq!(there.report().imports.len(), 1);
    // Whichever of them brings the frames: it is one of the two that go.
    drop(one);
    assert_eq!(one_through(&mut publisher, &mut subscriber).incarnation(), incarnation);
    let _one = first();
    both();
    drop(another);
    assert_eq!(one_through(&mut publisher, &mut subscriber).incarnation(), incarnation);
    assert_eq!(there.report().imports[0].state, ImportState::Live);
}

#[test]
fn others_are_found_by_name() {
    let two = Two::new();
    let here = two.bridge_here().export("cam0/*").export("other").open().unwrap();
    let keep: Vec<_> =
        ["cam0/frame", "cam0/input", "cam1/frame"].map(|name| words(two.here(), name, 4)).into();
    let there = two.bridge_there().open().unwrap();
    let names =
        || -> Vec<String> { there.report().remote.into_iter().map(|remote| remote.name).collect() };
    until("the list", || names() == ["cam0/frame", "cam0/input"]);
    assert!(there.report().remote.iter().all(|remote| remote.bridge == here.id()));
    // Nobody wants them: no frame is touched.
    assert!(here.report().exports.iter().all(|it| it.state == ExportState::Idle && it.sent == 0));
    assert!(there.report().imports.is_empty());
    // Bridges of another prefix are strangers.
    let stranger = two.bridge_there().prefix("others").open().unwrap();
    drop(keep);
    until("the end of the list", || names().is_empty());
    assert!(stranger.report().remote.is_empty());
}

#[test]
fn a_name_that_is_taken_is_left_alone() {
    let two = Two::new();
    let _here = two.bridge_here().export("words").open().unwrap();
    let there = two.bridge_there().import("words").open().unwrap();
    let own = words(two.there(), "words", 4);
    let mut publisher = words(two.here(), "words", 100);
    until("the refusal", || {
        publish(&mut publisher);
        there.report().imports.first().is_some_and(|it| it.state == ImportState::Refused)
    });
    let problem = there.report().imports.remove(0).problem.unwrap();
    assert!(problem.contains("has a producer already"), "{problem}");
    // It is ours as soon as it is free.
    drop(own);
    let mut subscriber = join(&two, "words", &mut publisher);
    one_through(&mut publisher, &mut subscriber);
    until("the report of it", || live(&there, "words"));
}

#[test]
fn what_cannot_be_is_refused() {
    let open = |builder: tenure_bridge::BridgeBuilder| builder.open().unwrap_err().to_string();
    let words = open(Bridge::builder().export("cam#"));
    assert!(words.starts_with("`cam#` cannot name streams"), "{words}");
    let words = open(Bridge::builder().prefix("a/**"));
    assert!(words.contains("leave * and ** out"), "{words}");
    let words = open(Bridge::builder().under("../up"));
    assert!(words.starts_with("`../up` is no name for a stream"), "{words}");
    let words = open(Bridge::builder().listen("carrier-pigeon/0"));
    assert!(words.contains("failed"), "{words}");
    let two = Two::new();
    let _first = two.bridge_here().open().unwrap();
    let words = open(two.bridge_here());
    assert!(words.starts_with("opening the network failed"), "{words}");
}
