//! Frames in programs on tokio, with nothing but the subscriber's descriptor.
#![cfg(all(target_os = "linux", not(miri)))]
#![expect(unsafe_code, reason = "tokio wants to be promised what a descriptor does")]

use std::time::Duration;

use tenure_memory::Fence;
use tenure_stream::{Error, Frame, Meta, Result, Subscriber};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

#[path = "common/stage.rs"]
mod stage;

use stage::{SOON, Stage, publish, whole};

/// The next frame. What is ready is taken until there is nothing more: tokio says it once.
async fn next(subscriber: &mut AsyncFd<Subscriber>) -> Result<Frame> {
    loop {
        let mut ready = subscriber.readable_mut().await.unwrap();
        match ready.get_inner_mut().try_next()? {
            Some(frame) => return Ok(frame),
            None => ready.clear_ready(),
        }
    }
}

#[test]
fn frames_are_awaited() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stage = Stage::new();
    let mut publisher = stage.words("words", 64);
    let subscriber = stage.subscriber("words").credits(4).open().unwrap();
    let publishing = std::thread::spawn(move || {
        for sequence in 0..30 {
            let (signal, fence) = Fence::pair().unwrap();
            match sequence % 3 {
                // A device writes it, and is done when it is awaited already.
                0 => drop(publisher.claim().unwrap().publish(Meta::new().fence(&fence)).unwrap()),
                _ => drop(publish(&mut publisher, sequence).unwrap()),
            }
            std::thread::sleep(Duration::from_millis(5));
            signal.done();
        }
    });
    runtime.block_on(async {
        tokio::time::timeout(SOON, async {
            // SAFETY: a subscriber's descriptor is open and the same one for as long as it lives.
            let watched =
                unsafe { AsyncFd::register_with_interest(subscriber, Interest::READABLE) };
            let mut subscriber = watched.unwrap();
            let mut seen = 0;
            loop {
                match next(&mut subscriber).await {
                    Ok(frame) if frame.sequence() % 3 != 0 => whole(&frame),
                    Ok(_) => {}
                    Err(Error::Ended { .. }) => break,
                    Err(error) => panic!("{error}"),
                }
                seen += 1;
            }
            let seen = seen + subscriber.get_ref().dropped();
            assert_eq!(seen, 30);
        })
        .await
        .expect("it ends");
    });
    publishing.join().unwrap();
}
