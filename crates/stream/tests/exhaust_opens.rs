//! Without a descriptor for the next thing, whichever that is: an error, nothing lost, and no busy
//! loop; and everything works again when there are some.
#![cfg(all(target_os = "linux", not(miri)))]

use std::fs;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tenure_stream::gstreamer::Listener;
use tenure_stream::{Error, Spec, Subscriber, list_in, stat_in};
use tenure_tensor::{DType, PixelFormat};

#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "../../memory/tests/common/limits.rs"]
mod limits;
#[path = "common/stage.rs"]
mod stage;

use stage::{SOON, Stage, next, publish, until};

/// More than anything here opens at one time.
const ENOUGH: usize = 24;

fn open_now() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Tries with nothing left, one descriptor, and so on, until it works; gives how many were needed.
/// What does not work leaves nothing open, and says why.
fn until_it_works<T>(what: &str, mut attempt: impl FnMut() -> Result<T, String>) -> (usize, T) {
    // Counted once: while an attempt ends, a producer may lack the descriptor that it keeps spare.
    let before = open_now();
    for free in 0..ENOUGH {
        let full = limits::Full::but(free);
        let answer = attempt();
        drop(full);
        match answer {
            Ok(made) => return (free, made),
            Err(words) => {
                let known = ["open files", "ulimit", "os error 24", "died", "no memory for"];
                assert!(known.iter().any(|known| words.contains(known)), "{what}, {free}: {words}");
            }
        }
        // A stream that has published keeps the memory of slots that it made for that.
        // The producer may also have closed what it had open for the attempt before.
        until(&format!("what {what} opened is closed"), || {
            open_now() <= before || what == "a frame"
        });
    }
    panic!("{what} does not work with {ENOUGH} descriptors");
}

#[test]
fn every_open_may_be_the_first_to_fail() {
    child::alone("every_open_may_be_the_first_to_fail", || {
        let stage = Stage::new();
        let (needed, mut publisher) = until_it_works("publishing", || {
            let spec = Spec::image_of(16, 16, PixelFormat::Grey, DType::U8, None).unwrap();
            let made = stage.publisher("s").spec(spec).open();
            // Nothing may be left in the directory either.
            if made.is_err() {
                let left = fs::read_dir(stage.path()).map(Iterator::count);
                assert!(left.is_err() || left.unwrap() <= 1);
            }
            made.map_err(|error| error.to_string())
        });
        assert!(needed > 3, "{needed}");
        // Slots that the publisher needs itself are made when the first consumer comes.
        drop(stage.subscriber("s").credits(1).open().unwrap());
        until("it is gone", || publisher.stats().consumers.is_empty());
        let (needed, mut subscriber) = until_it_works("subscribing", || {
            stage.subscriber("s").credits(1).open().map_err(|error| error.to_string())
        });
        assert!(needed > 1, "{needed}");
        until("only one is there", || publisher.stats().consumers.len() == 1);
        until_it_works("listing", || list_in(stage.path()).map_err(|error| error.to_string()));
        until_it_works("asking", || {
            stat_in(stage.path(), "s").map(drop).map_err(|error| error.to_string())
        });
        let (_, listener) = until_it_works("listening", || {
            let builder = Listener::builder("s").directory(stage.path());
            builder.open(stage.path().join("gst")).map_err(|error| error.to_string())
        });
        drop(listener);
        // Frames in memory that it has come without a descriptor; others are given back and come
        // again when there is one.
        let mut lost = 0;
        let (_, sequence) = until_it_works("a frame", || {
            let receipt = publisher.claim().and_then(|slot| slot.publish(Default::default()));
            let receipt = receipt.map_err(|error| error.to_string())?;
            lost += 1;
            match subscriber.next(SOON) {
                Ok(frame) => Ok((frame.unwrap().sequence(), receipt.sequence)),
                Err(error) => Err(error.to_string()),
            }
        });
        assert_eq!(sequence.0, sequence.1);
    });
}

#[test]
fn doors_without_descriptors_are_no_busy_loops() {
    child::alone("doors_without_descriptors_are_no_busy_loops", || {
        let stage = Stage::new();
        let mut publisher = stage.words("s", 64);
        let mut subscriber = stage.subscriber("s").open().unwrap();
        publish(&mut publisher, 0).unwrap();
        drop(next(&mut subscriber));
        let full = limits::Full::but(1);
        // Somebody knocks with the last one, and nobody has one to let him in.
        let knocking = rustix::net::socket_with(
            rustix::net::AddressFamily::UNIX,
            rustix::net::SocketType::SEQPACKET,
            rustix::net::SocketFlags::CLOEXEC,
            None,
        );
        let knocking = knocking.unwrap();
        let path = stage.path().join("s.sock");
        let address = rustix::net::SocketAddrUnix::new(path).unwrap();
        rustix::net::connect(&knocking, &address).unwrap();
        let used = || {
            let time = clock_gettime(ClockId::ProcessCPUTime);
            Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
        };
        let before = used();
        std::thread::sleep(Duration::from_millis(500));
        let spent = used() - before;
        assert!(spent < Duration::from_millis(250), "{spent:?} of 500 ms");
        // Those that are in get their frames meanwhile, or hear why not.
        publish(&mut publisher, 1).unwrap();
        let frame: Result<_, Error> = subscriber.next(SOON);
        let lost = |error: &Error| error.to_string().contains("ulimit");
        assert!(frame.as_ref().err().is_none_or(lost), "{frame:?}");
        drop(frame);
        drop((full, knocking));
        let mut others: Vec<Subscriber> = vec![];
        until("there is room again", || {
            others.extend(stage.subscriber("s").open());
            !others.is_empty()
        });
        publish(&mut publisher, 2).unwrap();
        assert_eq!(next(&mut others[0]).sequence(), 2);
    });
}
