//! Processes that are forked off one that publishes or subscribes: what they inherit is not theirs.
#![cfg(all(target_os = "linux", not(miri)))]

use std::time::Duration;

use tenure_stream::{Error, Meta, list_in};

#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "../../memory/tests/common/fork.rs"]
mod fork;
#[path = "common/stage.rs"]
mod stage;

use stage::{SOON, Stage, next, publish, published, until, whole};

fn forked<T>(answer: Result<T, Error>) {
    assert!(matches!(answer.err(), Some(Error::Forked { .. })));
}

#[test]
fn a_copy_of_the_producer_ends_nothing() {
    child::alone("a_copy_of_the_producer_ends_nothing", || {
        for thread in [true, false] {
            let stage = Stage::new();
            let builder = stage.publisher("s").spec(stage::words_spec(64));
            let builder = if thread { builder } else { builder.without_thread() };
            let mut publisher = builder.open().unwrap();
            let joining = stage.subscriber("s");
            let joining = std::thread::spawn(move || joining.open().unwrap());
            until("it is there", || {
                publisher.serve().unwrap();
                publisher.consumers() == 1
            });
            let mut subscriber = joining.join().unwrap();
            publish(&mut publisher, 0).unwrap();
            let held = next(&mut subscriber);
            let claimed = publisher.claim().unwrap();
            let (mut publisher, mut claimed) = (Some(publisher), Some(claimed));
            let ended = fork::fork(|| {
                let mut inherited = publisher.take().unwrap();
                forked(inherited.claim());
                forked(inherited.publish_tensor(held.tensor(), Meta::new()));
                forked(inherited.serve());
                forked(claimed.take().unwrap().publish(Meta::new()));
                assert_eq!(inherited.consumers(), 0);
                assert!(inherited.stats().consumers.is_empty() && !inherited.evict(1));
                inherited.skip(7);
                drop(inherited);
                0
            });
            assert!(ended.success(), "{ended}");
            let (mut publisher, claimed) = (publisher.unwrap(), claimed.unwrap());
            claimed.typed::<u64>().unwrap().map().unwrap().as_mut_slice().fill(1);
            claimed.publish(Meta::new().blob(&1u64.to_le_bytes())).unwrap();
            assert_eq!(next(&mut subscriber).sequence(), 1);
            publish(&mut publisher, 2).unwrap();
            assert_eq!(next(&mut subscriber).sequence(), 2);
            whole(&held);
            assert!(list_in(stage.path()).unwrap()[0].alive);
            assert_eq!(publisher.stats().consumers.len(), 1);
        }
    });
}

#[test]
fn a_copy_of_a_consumer_gives_nothing_back() {
    child::alone("a_copy_of_a_consumer_gives_nothing_back", || {
        let stage = Stage::new();
        let mut publisher = stage.words("s", 64);
        let mut subscriber = stage.subscriber("s").credits(3).open().unwrap();
        publish(&mut publisher, 0).unwrap();
        let held = next(&mut subscriber);
        publish(&mut publisher, 1).unwrap();
        let (mut subscriber, mut held) = (Some(subscriber), Some(held));
        let ended = fork::fork(|| {
            let mut inherited = subscriber.take().unwrap();
            forked(inherited.next(SOON));
            forked(inherited.latest());
            forked(inherited.wait(SOON));
            drop(held.take());
            drop(inherited);
            0
        });
        assert!(ended.success(), "{ended}");
        let (mut subscriber, held) = (subscriber.unwrap(), held.unwrap());
        assert_eq!(published(&publisher), 2);
        assert_eq!(next(&mut subscriber).sequence(), 1);
        assert_eq!(published(&publisher), 1);
        for sequence in 2..20 {
            publish(&mut publisher, sequence).unwrap();
            drop(next(&mut subscriber));
        }
        whole(&held);
    });
}

#[test]
fn a_copy_of_a_consumer_can_subscribe_for_itself() {
    child::alone("a_copy_of_a_consumer_can_subscribe_for_itself", || {
        let stage = Stage::new();
        let mut publisher = stage.words("s", 64);
        let mut subscriber = stage.subscriber("s").open().unwrap();
        // So that there is something to inherit that it is polled by.
        assert!(!subscriber.wait(Duration::ZERO).unwrap());
        let before = std::os::fd::AsRawFd::as_raw_fd(&subscriber);
        let child = fork::start(|| {
            subscriber.reopen(SOON).unwrap();
            assert_ne!(std::os::fd::AsRawFd::as_raw_fd(&subscriber), before);
            assert!(subscriber.wait(SOON).unwrap());
            drop(next(&mut subscriber));
            0
        });
        until("both are there", || publisher.consumers() == 2);
        publish(&mut publisher, 0).unwrap();
        assert!(fork::wait(child).success());
        assert!(subscriber.wait(SOON).unwrap());
        drop(next(&mut subscriber));
        until("one is left", || publisher.consumers() == 1);
    });
}
