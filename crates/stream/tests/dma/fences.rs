//! Fences of the kernel: nothing is read before it is written, nor written before it was read.

use std::time::Duration;

use tenure_layout::{DType, Layout};
use tenure_memory::{Access, Protection, import};
use tenure_stream::{Error, Meta};
use tenure_tensor::{Tensor, TensorMemory};

use crate::stage::{SOON, Stage, next, publish, until, words_spec};
use crate::vgem::Work;
use crate::{heap, published};

/// Long enough for a release to be heard, and much shorter than the kernel lets such fences be.
const MOMENT: Duration = Duration::from_millis(30);

/// A tensor that can be lent.
fn tensor() -> Tensor<u8> {
    let layout = Layout::contiguous(DType::U8, &[4096]).unwrap();
    Tensor::from_buffer(heap(4096), layout).unwrap()
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn a_frame_waits_for_the_device_that_writes_it() {
    let stage = Stage::new();
    let builder = stage.publisher("s").spec(words_spec(512)).memory(TensorMemory::Dma);
    let mut publisher = builder.open().unwrap();
    let mut subscriber = stage.subscriber("s").open().unwrap();
    let mut early = stage.subscriber("s").explicit_fences(true).open().unwrap();
    let slot = publisher.claim().unwrap();
    let work = Work::begin(slot.buffer(), true);
    let writing = slot.buffer().fence(Access::Read).unwrap();
    slot.publish(Meta::new().fence(&writing)).unwrap();
    drop(writing);
    assert!(subscriber.next(MOMENT).unwrap().is_none());
    let before = early.next(SOON).unwrap().unwrap();
    assert!(!before.fence().unwrap().is_done().unwrap());
    work.end();
    assert!(subscriber.next(SOON).unwrap().is_some());
    assert!(before.fence().unwrap().wait(Some(SOON)).unwrap());
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn a_slot_waits_for_the_device_that_reads_it() {
    let stage = Stage::new();
    let builder = stage.publisher("s").initial_spec(words_spec(512)).memory(TensorMemory::Dma);
    let mut publisher = builder.open().unwrap();
    let mut subscriber = stage.subscriber("s").credits(1).open().unwrap();
    publish(&mut publisher, 0).unwrap();
    let frame = next(&mut subscriber);
    let work = Work::begin(frame.buffer(), false);
    let reading = frame.buffer().fence(Access::Write).unwrap();
    frame.release_after(reading);
    std::thread::sleep(MOMENT);
    assert_eq!(published(&publisher), 1);
    assert_eq!(publish(&mut publisher, 1).unwrap().dropped, 1, "it counts as held");
    work.end();
    until("it comes back", || published(&publisher) == 0);
    assert_eq!(publish(&mut publisher, 2).unwrap().dropped, 0);
    // Whoever leaves does not end the device's work; the kernel sees to its end.
    let lent = tensor();
    publisher.publish_tensor(&lent, Meta::new()).unwrap();
    drop(next(&mut subscriber));
    publisher.publish_tensor(&lent, Meta::new()).unwrap();
    let frame = subscriber.next(SOON).unwrap().unwrap();
    let work = Work::begin(frame.buffer(), false);
    let reading = frame.buffer().fence(Access::Write).unwrap();
    frame.release_after(reading);
    drop(subscriber);
    until("it is gone", || publisher.consumers() == 0);
    std::thread::sleep(MOMENT);
    assert!(lent.map().is_err(), "a device reads it");
    work.end();
    until("it comes back", || lent.map().is_ok());
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn what_devices_read_is_not_written_though_nobody_said_so() {
    let stage = Stage::new();
    let builder = stage.publisher("s").spec(words_spec(512)).memory(TensorMemory::Dma);
    let mut publisher = builder.open().unwrap();
    let mut subscriber = stage.subscriber("s").credits(2).open().unwrap();
    let slots = publisher.stats().slots.len();
    let mut reading = vec![];
    // More than there are slots, and the publisher does not wait; but not without end.
    let refused = loop {
        let sequence = reading.len() as u64;
        match publish(&mut publisher, sequence) {
            Ok(receipt) => assert_eq!(receipt.consumers, 1),
            Err(error) => break error,
        }
        let frame = next(&mut subscriber);
        let work = Work::begin(frame.buffer(), false);
        reading.push((work, frame.buffer().clone_descriptor().unwrap()));
    };
    assert!(
        matches!(&refused, Error::DevicesBusy(it) if matches!(**it, tenure_stream::detail::DevicesBusy { resting: 4, .. })),
        "{refused}"
    );
    assert_eq!(reading.len(), slots.max(4) + 4);
    for (sequence, (work, fd)) in reading.drain(..).enumerate() {
        let memory = import(&fd, 4096, Protection::ReadOnly, None).unwrap();
        let bytes = memory.read().unwrap();
        let words = bytes.as_bytes().chunks_exact(8);
        assert!(words.into_iter().all(|word| word == (sequence as u64).to_ne_bytes()));
        drop(bytes);
        work.end();
    }
    let sequence = publisher.stats().published;
    for sequence in sequence..sequence + 10 {
        publish(&mut publisher, sequence).unwrap();
        drop(next(&mut subscriber));
    }
    assert!(publisher.stats().slots.len() <= 4);
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn what_was_lent_rests_until_devices_have_read_it() {
    for closed in [false, true] {
        let stage = Stage::new();
        let mut publisher = stage.publisher("s").open().unwrap();
        let mut subscriber = stage.subscriber("s").open().unwrap();
        let lent = tensor();
        publisher.publish_tensor(&lent, Meta::new()).unwrap();
        let frame = subscriber.next(SOON).unwrap().unwrap();
        let work = Work::begin(frame.buffer(), false);
        drop(frame);
        until("it is given back", || publisher.stats().consumers[0].held == 0);
        let publisher = (!closed).then_some(publisher);
        std::thread::sleep(MOMENT);
        assert!(lent.map().is_err(), "a device reads it");
        work.end();
        until("it comes back", || lent.map().is_ok());
        drop(publisher);
    }
}
