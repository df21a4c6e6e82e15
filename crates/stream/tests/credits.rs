//! How many frames consumers may hold: what they are granted, and what comes back.
#![cfg(all(target_os = "linux", not(miri)))]

use std::time::Duration;

use tenure_stream::{Frame, Subscriber};

#[path = "common/stage.rs"]
mod stage;

use stage::{Stage, next, publish, published, until, words_spec};

#[test]
fn credits_are_granted_while_there_are_some() {
    let stage = Stage::new();
    let publisher = stage.publisher("words").spec(words_spec(64)).credits(5).open().unwrap();
    let open = |credits| stage.subscriber("words").credits(credits).open().unwrap();
    let first = open(3);
    // Later ones leave something to others.
    let second = open(3);
    let third = open(3);
    assert_eq!([first.credits(), second.credits(), third.credits()], [3, 1, 1]);
    let refused = stage.subscriber("words").open().unwrap_err();
    assert!(refused.to_string().contains("all of its 5 credits"), "{refused}");
    assert_eq!(publisher.stats().slots.len(), 2 + 5);
    drop((first, second));
    until("they are gone", || publisher.stats().consumers.len() == 1);
    let fourth = open(9);
    assert_eq!(fourth.credits(), 4);
    drop((third, fourth));
    // What nobody needs any more is given back.
    until("memory comes back", || publisher.stats().bytes() <= 2 * 4096);
}

#[test]
fn sixty_four_that_ask_for_nothing_in_particular() {
    let stage = Stage::new();
    let mut publisher = stage.words("words", 64);
    // Some that ask for all they can get come first.
    let greedy: Vec<Subscriber> =
        (0..4).map(|_| stage.subscriber("words").credits(1000).open().unwrap()).collect();
    assert!(greedy.iter().all(|it| it.credits() == 16));
    drop(greedy);
    until("they are gone", || publisher.stats().consumers.is_empty());
    let mut all: Vec<Subscriber> =
        (0..64).map(|_| stage.subscriber("words").open().unwrap()).collect();
    assert!(all.iter().all(|it| it.credits() >= 1));
    for sequence in 0..5 {
        assert_eq!(publish(&mut publisher, sequence).unwrap().consumers, 64);
        for subscriber in &mut all {
            assert_eq!(next(subscriber).sequence(), sequence);
        }
    }
}

/// More frames are given back at once than the kernel keeps packets for a producer that is not
/// listening.
#[test]
fn of_many_credits_none_is_lost() {
    const MANY: u32 = 512;
    let stage = Stage::new();
    let builder = stage.publisher("words").spec(words_spec(1)).without_thread();
    let mut publisher = builder.credits(MANY as usize).credits_each(MANY as usize).open().unwrap();
    let joining = stage.subscriber("words").credits(MANY);
    let joining = std::thread::spawn(move || joining.open().unwrap());
    until("it is there", || {
        publisher.serve().unwrap();
        publisher.consumers() == 1
    });
    let mut subscriber = joining.join().unwrap();
    assert_eq!(subscriber.credits(), MANY as usize);
    let mut sequence = 0;
    for _ in 0..3 {
        let mut held: Vec<Frame> = vec![];
        while held.len() < MANY as usize {
            // Whoever has something left to say says it before it waits for more.
            if publish(&mut publisher, sequence).unwrap().consumers == 1 {
                held.push(next(&mut subscriber));
            } else {
                assert!(subscriber.next(Duration::from_millis(1)).unwrap().is_none());
            }
            sequence += 1;
        }
        assert_eq!(published(&publisher), MANY as usize);
        held.clear();
        until("all come back", || {
            assert!(subscriber.try_next().unwrap().is_none());
            published(&publisher) == 0
        });
    }
    let kept = {
        publish(&mut publisher, sequence).unwrap();
        next(&mut subscriber)
    };
    drop(subscriber);
    until("no more are wanted", || publisher.stats().granted == 1);
    drop(kept);
    until("it is gone", || publisher.stats().consumers.is_empty());
}
