//! Slots that are DMA-BUFs, in other processes.

use std::time::Duration;

use tenure_layout::{DType, Layout};
use tenure_stream::{Error, Guarded, Meta, Publisher};
use tenure_tensor::{Tensor, TensorMemory};

use crate::actor::Actor;
use crate::stage::{SOON, Stage, next, publish, role, subscriber_in, until, whole, words_spec};
use crate::{child, dma, published, sign, sources};

/// Numbers of a frame: 64 KiB.
const WORDS: usize = 8192;

/// What the other processes do; `false` in the test itself.
fn plays() -> bool {
    let Some(part) = child::part() else { return false };
    let (role, directory) = role(&part);
    let mut subscriber = subscriber_in(&directory, "s").wait(SOON).open().unwrap();
    match role.as_str() {
        "reader" => {
            let mut count = 0u64;
            loop {
                match subscriber.next(SOON) {
                    Ok(frame) => whole(&frame.unwrap()),
                    Err(Error::Ended { .. }) => break,
                    Err(error) => panic!("{error}"),
                }
                count += 1;
                sign(&directory, "reading");
            }
            assert!(count > 0);
        }
        "hoarder" => {
            let held: Vec<_> = (0..subscriber.credits()).map(|_| next(&mut subscriber)).collect();
            for frame in &held {
                assert_eq!(frame.memory(), TensorMemory::Dma);
                // A heap gives one descriptor, which whoever writes needs for writing.
                assert_eq!(frame.guarded(), Guarded::Open);
                assert!(frame.map().is_err(), "this side does not write all the same");
            }
            sign(&directory, "hoarding");
            loop {
                held.iter().for_each(whole);
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        // Three tensors, one after the other.
        "checker" => {
            for byte in 1..=3 {
                let frame = subscriber.next(SOON).unwrap().unwrap();
                assert_eq!((frame.memory(), frame.shape()), (TensorMemory::Dma, &[10_000][..]));
                let bytes = frame.typed::<u8>().unwrap();
                assert!(bytes.map_read().unwrap().as_slice().iter().all(|it| *it == byte));
                sign(&directory, &format!("seen {byte}"));
            }
        }
        other => panic!("{other} is no part"),
    }
    true
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn slots_come_back_from_whoever_dies() {
    if plays() {
        return;
    }
    const TEST: &str = "slots::slots_come_back_from_whoever_dies";
    let stage = Stage::new();
    let builder = stage.publisher("s").spec(words_spec(WORDS)).memory(TensorMemory::Dma);
    let mut publisher = builder.open().unwrap();
    let mut own = stage.subscriber("s").credits(1).open().unwrap();
    let [reader, hoarder] = ["reader", "hoarder"].map(|it| Actor::start(TEST, it, stage.path()));
    let mut sequence = 0;
    let mut go = |publisher: &mut Publisher| {
        publish(publisher, sequence).unwrap();
        sequence += 1;
    };
    for file in ["reading", "hoarding"] {
        until(file, || {
            go(&mut publisher);
            drop(next(&mut own));
            stage.path().join(file).exists()
        });
    }
    let report = stage.stat("s");
    assert_eq!((report.memory.as_str(), report.consumers.len()), ("dma", 3));
    let size = report.bytes();
    for _ in 0..30 {
        go(&mut publisher);
        // Mapped for reading in this process too, and not for writing.
        let frame = next(&mut own);
        assert!(frame.map().is_err());
    }
    hoarder.kill();
    until("the slots come back", || publisher.stats().consumers.len() == 2);
    assert!(publisher.stats().bytes() < size, "no memory is kept for whoever is gone");
    go(&mut publisher);
    let held = next(&mut own);
    assert!(publisher.stats().slots.iter().all(|slot| slot.generation <= 1), "nothing was retired");
    drop(publisher);
    reader.ends_well();
    whole(&held);
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn tensors_of_every_source_are_lent() {
    if plays() {
        return;
    }
    const TEST: &str = "slots::tensors_of_every_source_are_lent";
    let stage = Stage::new();
    let mut publisher = stage.publisher("s").open().unwrap();
    let checker = Actor::start(TEST, "checker", stage.path());
    until("it is there", || publisher.consumers() == 1);
    for (source, byte) in sources().into_iter().zip(1..) {
        let layout = Layout::contiguous(DType::U8, &[10_000]).unwrap();
        let tensor = Tensor::<u8>::from_buffer(dma(source, 10_000), layout).unwrap();
        tensor.map().unwrap().as_mut_slice().fill(byte);
        publisher.publish_tensor(&tensor, Meta::new()).unwrap();
        until("it is seen", || stage.path().join(format!("seen {byte}")).exists());
        until("it comes back", || tensor.map().is_ok());
        assert_eq!(published(&publisher), 0);
    }
    checker.ends_well();
}
