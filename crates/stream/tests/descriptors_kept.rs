//! A descriptor of a slot that was asked for before the frame was published.
#![cfg(target_os = "linux")]

use std::time::Duration;

use tenure_stream::{Meta, Publisher, Spec, Subscriber};
use tenure_tensor::{DType, Tensor};

/// The producer's own descriptor must not lead back to memory that consumers read.
#[test]
fn no_way_back_to_a_published_frame_for_writing() {
    let directory = tempfile::tempdir().unwrap();
    let spec = Spec::tensor(DType::U8, &[4096]).unwrap();
    let builder = Publisher::builder("kept").directory(directory.path()).spec(spec);
    let mut publisher = builder.open().unwrap();
    let builder = Subscriber::builder("kept").directory(directory.path());
    let mut subscriber = builder.open().unwrap();

    let slot = publisher.claim().unwrap();
    let fd = slot.clone_fd().unwrap();
    slot.typed::<u8>().unwrap().fill(1).unwrap();
    slot.publish(Meta::new()).unwrap();
    let frame = subscriber.next(Duration::from_secs(20)).unwrap().unwrap();

    for fd in [fd, frame.clone_fd().unwrap()] {
        let again = Tensor::<u8>::from_fd(&fd, &[4096], None).unwrap();
        assert!(!again.is_writable().unwrap(), "a published frame can be written");
        assert!(again.aliases(&frame));
        assert!(again.map().is_err());
    }
    assert_eq!(frame.typed::<u8>().unwrap().map_read().unwrap().as_slice(), [1; 4096]);

    // And nothing that was imported keeps the slot from being used again.
    drop(frame);
    for _ in 0..8 {
        publisher.claim().unwrap().publish(Meta::new()).unwrap();
        drop(subscriber.next(Duration::from_secs(20)).unwrap());
    }
}
