//! Forked off at any moment, while other threads publish, subscribe, come and go: the copy drops what
//! it inherited, and neither panics, hangs nor disturbs the stream.
#![cfg(all(target_os = "linux", not(miri)))]
#![expect(unsafe_code, reason = "an alarm for copies that hang")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tenure_stream::gstreamer::Listener;
use tenure_stream::{Error, Frame, Meta, Spec};
use tenure_tensor::{DType, PixelFormat, Tensor, TensorMemory};

#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "../../memory/tests/common/fork.rs"]
mod fork;
#[path = "common/stage.rs"]
mod stage;

use stage::{SOON, Stage, publish, whole, words_spec};

const FORKS: usize = 60;

/// Kills a copy that hangs, however busy the machine is.
fn alarm() {
    // SAFETY: a plain system call; the signal's default ends this process.
    unsafe { libc::alarm(60) };
}

#[test]
fn copies_drop_what_they_inherited() {
    child::alone("copies_drop_what_they_inherited", || {
        let stage = Stage::new();
        let over = AtomicBool::new(false);
        let going = || !over.load(Ordering::SeqCst);
        thread::scope(|scope| {
            // Also if a check fails, so that the threads end.
            let _end = End(&over);
            // Others use the same things at the same time: locks are taken and given back.
            let mut publisher = stage.words("busy", 512);
            let mut subscriber = stage.subscriber("busy").credits(8).open().unwrap();
            let mut quiet = stage.publisher("quiet").spec(words_spec(64)).open().unwrap();
            let lent = Tensor::<u64>::new(&[64], Some(TensorMemory::Shm), None).unwrap();
            let (give, take) = std::sync::mpsc::sync_channel::<Frame>(3);
            scope.spawn(move || {
                for sequence in 0.. {
                    if !going() {
                        return;
                    }
                    publish(&mut publisher, sequence).unwrap();
                }
            });
            scope.spawn(move || {
                loop {
                    match subscriber.next(SOON) {
                        Ok(frame) => drop(give.try_send(frame.unwrap())),
                        // The publisher may be the first to end.
                        Err(Error::Ended { .. }) if !going() => return,
                        Err(error) => panic!("{error}"),
                    }
                }
            });
            let doors = scope.spawn(|| {
                while going() {
                    for name in ["busy", "quiet"] {
                        drop(stage.subscriber(name).credits(1).open());
                    }
                }
            });
            for _ in 0..FORKS {
                let held = take.recv_timeout(SOON).unwrap();
                let _ = quiet.publish_tensor(&lent, Meta::new()).unwrap();
                let mut slot = Some(quiet.claim().unwrap());
                let mut inherited = Some((held, &mut quiet));
                let ended = fork::fork(|| {
                    alarm();
                    let (held, quiet) = inherited.take().unwrap();
                    whole(&held);
                    assert!(matches!(quiet.claim(), Err(Error::Forked { .. })));
                    assert!(quiet.stats().consumers.is_empty());
                    drop(slot.take());
                    drop(held);
                    // All of it: what the other would drop in its own time.
                    // SAFETY: the copy ends without using it again.
                    drop(unsafe { std::ptr::read(quiet) });
                    0
                });
                assert!(ended.success(), "{ended}");
            }
            // The stream that was dropped in every copy is still there.
            let mut reader = stage.subscriber("quiet").open().unwrap();
            publish_words(&mut quiet);
            assert!(reader.next(SOON).unwrap().is_some());
            over.store(true, Ordering::SeqCst);
            doors.join().unwrap();
        });
    });
}

/// Ends the threads of a test.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn publish_words(publisher: &mut tenure_stream::Publisher) {
    publisher.claim().unwrap().publish(Meta::new()).unwrap();
}

#[test]
fn copies_of_listeners_and_subscribers_end_nothing() {
    child::alone("copies_of_listeners_and_subscribers_end_nothing", || {
        let stage = Stage::new();
        let grey = Spec::image_of(16, 16, PixelFormat::Grey, DType::U8, None).unwrap();
        let mut publisher = stage.publisher("cam").spec(grey).open().unwrap();
        let socket = stage.path().join("gst");
        let builder = Listener::builder("cam").directory(stage.path());
        let mut listener = Some(builder.open(&socket).unwrap());
        let mut subscriber = Some(stage.subscriber("cam").credits(4).open().unwrap());
        publish_words(&mut publisher);
        publish_words(&mut publisher);
        let mut held = subscriber.as_mut().unwrap().next(SOON).unwrap();
        for _ in 0..4 {
            let ended = fork::fork(|| {
                alarm();
                drop(held.take());
                drop(subscriber.take());
                drop(listener.take());
                0
            });
            assert!(ended.success(), "{ended}");
            assert!(socket.exists());
        }
        let (mut subscriber, mut listener) = (subscriber.unwrap(), listener.unwrap());
        assert!(held.is_some() && subscriber.next(SOON).unwrap().is_some());
        assert!(listener.step(Duration::ZERO).unwrap());
        assert_eq!(listener.figures().frames, 2);
        assert_eq!(publisher.consumers(), 2);
    });
}
